"""What the forms and the API ask for becomes a checked configuration of a run or of several, or a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.page.form import Form
from explorer.page.form import plans as page
from explorer.page.form.kind_page import KindPage
from explorer.page.kinds import PAGES
from explorer.page.kinds.metric_learning import configuration
from explorer.server.run import Run
from explorer.server.titles import run_title, summary, work
from explorer.settings import Limits
from explorer.tabs.live.view import about
from tests.explorer.bench import Bench
from tests.synthetic import make_run
from trainers.config import MAX_ARMS, Conditions, DataChoice, RunConfig, StartConfig
from trainers.errors import ParameterError, RunError, UserError
from trainers.hierarchy import Hierarchy
from trainers.kinds import KINDS, arm_titles, check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.metrics.names import MOST
from trainers.parameters import Choice, specs
from trainers.plans.axes import axes, offered
from trainers.plans.config import FairComparisonConfig, SweepConfig
from trainers.recipes.catalogue import RECIPES
from trainers.runs import RunFolder
from trainers.runs.records import Attribute, Probe


def form_of(name: str, *, public: bool = False) -> Form:
    return Form(kind=KINDS[name], page=PAGES.get(name) or KindPage(name=name), public=public)


FORMS = {name: form_of(name) for name in KINDS}
LEARNING, PRETRAINING = FORMS["metric_learning"], FORMS["contrastive"]
HARD = Conditions(label_noise=0.4, noise_kind="across", withheld_classes=0.25, withheld_images=0.5)
CONFIG = MetricLearningConfig(data=DataChoice(conditions=HARD))
CONFIGS = [
    *(form.kind.config() for form in (LEARNING, PRETRAINING)),
    *(
        form.kind.configured({}, {"preset": preset.name})
        for form in (LEARNING, PRETRAINING)
        for preset in form.kind.presets()
    ),
    CONFIG,
    ContrastiveConfig(data=DataChoice(held_out="images", conditions=HARD, label_columns=("fine", "coarse"))),
    MetricLearningConfig(losses=(Choice(name="supcon", parameters={"temperature": 0.2}),), minutes=None, steps=40),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_a_form_shows_a_configuration_and_makes_it_again(config: RunConfig) -> None:
    form = FORMS[config.kind]
    values = json.loads(json.dumps(form.values(config)))  # as it comes back from a browser
    assert list(values) == form.names
    assert form.config(values).to_json() == config.to_json()


@pytest.mark.parametrize("name", list(KINDS))
def test_a_public_form_has_no_setting_that_reaches_beyond_its_run(name: str) -> None:
    private = {spec.name for spec in specs(KINDS[name].config) if spec.rule.private}
    assert private == {"compiled", "processes", "track"} | (
        {"start", "weights"} if issubclass(KINDS[name].config, StartConfig) else set()
    )
    assert not private & set(form_of(name, public=True).names)
    offered = {one for one in private if KINDS[name].offers(one)}
    assert offered - {"processes"} == private & set(FORMS[name].names)  # that one where there are several GPUs
    if "start" in private:
        with pytest.raises(ParameterError, match="has no setting 'start' here"):
            form_of(name, public=True).config({"start": "0" * 26})


@pytest.mark.parametrize("name", ["device", "threads", "data.revision", "data.seed", "data.conditions.folds", "x"])
def test_what_has_no_field_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=f"Metric learning has no setting '{name}' here; it has data.source"):
        LEARNING.config({name: 1})


WRONG: dict[str, list[tuple[dict[str, Any], str]]] = {
    "metric_learning": [
        ({"losses": []}, f"one to {MAX_ARMS} losses; got 0"),
        ({"losses": [{"name": "nope"}]}, "There is no loss 'nope'; choose from"),
        ({"losses": [{"name": "supcon", "parameters": {"heat": 1}}]}, "has no parameter 'heat'"),
        ({"encoder": None}, "Encoder needs a name and parameters"),
        ({"learning_rate": ""}, "Fill in Learning rate: a number from 1e-07 to 100"),
        ({"data.source": " "}, "Choose images first."),
        ({"data.source": "drawn:bias=2"}, "bias needs a number"),
        ({"minutes": None, "steps": ""}, "needs a budget"),
    ],
    "contrastive": [
        ({"methods": [{"name": "simclr"}] * (MAX_ARMS + 1)}, f"one to {MAX_ARMS} methods; got {MAX_ARMS + 1}"),
        ({"head_augmentation": {"name": "huge"}}, "There is no (head )?augmentation 'huge'"),
        ({"encoder": {"name": "timm_frozen"}}, "Choose an encoder that is trained whole"),
        ({"drops": [0.5, "late"]}, "drops needs"),
        ({"metrics": [f"R_at_{k}" for k in range(2, MOST + 3)]}, f"at most {MOST} metrics beside its own"),
    ],
}


@pytest.mark.parametrize(
    ("name", "changes", "sentence"), [(name, *case) for name, cases in WRONG.items() for case in cases]
)
def test_what_is_wrong_is_named(name: str, changes: dict[str, Any], sentence: str) -> None:
    form = FORMS[name]
    with pytest.raises(UserError, match=sentence):
        form.config(form.values(form.kind.config()) | changes)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([LEARNING, PRETRAINING]), st.data())
def test_whatever_is_sent_is_a_configuration_or_a_sentence(form: Form, data: st.DataObject) -> None:
    values = data.draw(st.dictionaries(st.sampled_from([*form.names, "more"]), JSON, max_size=6))
    try:
        check(form.config(values))
    except UserError as error:
        assert str(error)


# ----------------------------------------------------------------------- the API


def test_losses_keep_their_order_and_their_own_parameters_and_the_rest_is_the_default_or_as_asked() -> None:
    config = MetricLearningConfig()
    assert configuration([loss.name for loss in config.losses]) == config
    parameters = [{"temperature": 0.2}, {}, {"temperature": 0.1}]
    further = {"conditions": {"folds": 3, "fold": 2}, "training": {"memory": 512}}
    made = configuration(["supcon", "smooth_ap", "supcon"], loss_parameters=parameters, **further)
    assert isinstance(made, MetricLearningConfig)
    assert made.data.conditions == Conditions(folds=3, fold=2) and made.memory == 512
    assert [loss.name for loss in made.losses] == ["supcon", "smooth_ap", "supcon"]
    assert [dict(loss.parameters) for loss in made.losses] == parameters


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"losses": ["supcon"] * (MAX_ARMS + 1)}, f"one to {MAX_ARMS} losses; got {MAX_ARMS + 1}"),
        ({"loss_parameters": [{}, {}]}, "Got 2 sets of loss parameters for 1 losses"),
        ({"encoder": "huge"}, "There is no encoder 'huge'"),
        ({"training": {"device": "cuda:7"}}, "has no setting 'device' here"),
        ({"conditions": {"source": "x"}}, "has no setting 'data.conditions.source' here"),
    ],
)
def test_what_a_program_asks_wrongly_is_named(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        configuration(**{"losses": ["supcon"], **changes})


# ----------------------------------------------------------------------- presets


def test_a_preset_keeps_images_and_budget_unless_it_has_its_own() -> None:
    presets = {preset["name"]: preset["values"] for preset in PRETRAINING.json()["presets"]}
    values = presets["stages"]
    assert not {"data.source", "data.image_size", "minutes", "steps", "epochs"} & set(values)
    assert [method["name"] for method in values["methods"]][2] == "cross_entropy"
    assert values["augmentation"] == {"name": "moco_v2", "parameters": {"blur": 0.0}}
    paper = presets["paper_moco_v1"]
    assert (paper["data.image_size"], paper["epochs"], paper["minutes"]) == (224, 200, None)
    assert paper["data.source"] == "ILSVRC/imagenet-1k"
    assert LEARNING.json()["presets"] == [] and LEARNING.kind.presets(), "on the command line alone"


def test_recipes_whose_every_setting_has_a_field_are_presets_too() -> None:
    presets = {preset["name"]: preset for preset in PRETRAINING.json()["presets"]}
    offered = {name for name in presets if name in RECIPES}
    wanted = {name for name, recipe in RECIPES.items() if recipe.kind == "contrastive"}
    assert offered == wanted - {"imagenet_moco"}, "which is the preset paper_moco_v1"
    for name in offered:
        assert PRETRAINING.config(presets[name]["values"]) == RECIPES[name].config().run
    assert not {preset["name"] for preset in LEARNING.json()["presets"]} & set(RECIPES), "no field for the optimiser"
    public = form_of("contrastive", public=True)
    assert not {preset["name"] for preset in public.json()["presets"]} & set(RECIPES)


def test_an_encoder_brings_its_learning_rate() -> None:
    fields = {field["name"]: field for section in LEARNING.json()["sections"] for field in section["fields"]}
    assert fields["encoder"]["sets"]["timm"] == {"learning_rate": 1e-4}
    assert fields["losses"]["control"] == "entries" and fields["data.source"]["control"] == "images"


# ------------------------------------------------------------------- other places


def test_the_page_gets_the_background_of_each_point(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=30, frames=1)
    old = folder.probe()
    assert old is not None and old.attributes == () and about(Run(folder))["attributes"] == []
    values = old.labels[:, -1] % 2
    tree = Hierarchy(levels=old.hierarchy.levels, names=old.hierarchy.names)
    known = {"labels": old.labels, "rows": old.rows, "hierarchy": tree, "data_title": "made"}
    colour = Attribute(name="background", names=("dark", "light"), values=values)
    folder.write_probe(Probe(**known, attributes=(colour,)), ())
    (shown,) = about(Run(folder))["attributes"]
    colours = shown.pop("colours")
    assert shown == {"name": "background", "names": ["dark", "light"], "values": values.tolist()}
    assert {mode: set(of) for mode, of in colours.items()} == {"light": {0, 1}, "dark": {0, 1}}


@pytest.mark.parametrize(
    ("losses", "titles"),
    [
        ([("smooth_ap", {}), ("smooth_ap", {})], ["Smooth-AP #1", "Smooth-AP #2"]),
        ([("smooth_ap", {"tau": 0.1}), ("happier", {})], ["Smooth-AP", "HAPPIER"]),
        ([("smooth_ap", {}), ("smooth_ap", {"tau": 0.2})], ["Smooth-AP (tau 0.01)", "Smooth-AP (tau 0.2)"]),
        ([("contextual", {"k": k, "eps": 0.1}) for k in (4, 8)], ["Contextual (k 4)", "Contextual (k 8)"]),
        ([("of_another_version", {})], ["of_another_version"]),
    ],
)
def test_titles_of_arms_differ(losses: list, titles: list[str]) -> None:
    assert arm_titles(MetricLearningConfig(losses=choices(losses))) == titles


@pytest.mark.parametrize(
    ("losses", "data", "title"),
    [
        ([("smooth_ap", {}), ("happier", {})], "drawn", "Smooth-AP vs HAPPIER on Drawn world"),
        ([("smooth_ap", {}), ("smooth_ap", {"tau": 0.2})], "owner/name", "Smooth-AP: tau 0.01 vs 0.2 on name"),
        ([("supcon", {})], "/home/somebody/my photos/", "SupCon on my photos"),
    ],
)
def test_a_run_has_a_title_before_its_images_are_read(tmp_path: Path, losses: list, data: str, title: str) -> None:
    config = MetricLearningConfig(losses=choices(losses), data=DataChoice(source=data), steps=500, minutes=0.5)
    run = Run(RunFolder.create(tmp_path, config))
    assert run_title(run) == title
    assert summary(run).endswith(", Conv-4, 32 classes x 4 images, 500 steps or 0.5 min, seed 0")


def choices(losses: list[tuple[str, dict[str, Any]]]) -> tuple[Choice, ...]:
    return tuple(Choice(name=name, parameters=parameters) for name, parameters in losses)


# ------------------------------------------------------------------------ plans of runs


def planned(*rows: tuple[str, str], form: str = "metric_learning", plan: str = "sweep", **own: Any) -> Any:
    """The plan of the untouched form with some fields changed; settings of the run are in ``run``."""
    return page.planned(FORMS[form], own.pop("run", {}), plan, own, rows)


def test_a_sweep_is_made_of_what_is_typed_and_shown_again() -> None:
    assert planned() == SweepConfig() and planned(plan="") == MetricLearningConfig()
    seeds = [2_000_000_000, 7]
    made = planned(("happier.alpha", "1, 5"), ("", ""), ("sampler", " m_per_class; two_super_classes "), seeds=seeds)
    assert made.seeds == tuple(seeds) and len(kind_of(made).plan(made, {})) == 4
    assert made.vary == {"happier.alpha": [1, 5], "sampler": ["m_per_class", "two_super_classes"]}
    shown = page.plan_values(made)
    assert (shown["plan"], shown["own"]) == ("sweep", {"seeds": seeds})
    assert planned(*shown["vary"], **shown["own"]) == made
    assert page.plan_values(made.run) == {"plan": "", "own": {"seeds": [0, 1, 2]}, "vary": []}


@pytest.mark.parametrize(
    ("rows", "own", "sentence"),
    [
        ([], {"seeds": "a"}, "given by their number, 1 to 20 .*; got 'a'"),
        ([], {"seeds": [1, 1]}, "each once"),
        ([], {"seeds": [0.5]}, "seeds needs whole numbers"),
        ([("dim", "")], {}, "needs the values of dim"),
        ([("", "1, 2")], {}, "needs what takes the values '1, 2'"),
        ([("dim", "1, 32")], {}, "dim needs a whole number from 2"),
        ([("nope", "1")], {}, "there is no 'nope'"),
        ([("dim", "8"), ("dim", "16")], {}, "got 'dim' twice"),
        ([], {"plan": "nope"}, "There is no plan 'nope'"),
        ([], {"plan": "fair_comparison", "trials": 101}, "trials needs a whole number"),
    ],
)
def test_what_is_wrong_with_a_plan_is_a_sentence(rows: Any, own: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        planned(*rows, **own)


def test_a_fair_comparison_is_made_of_the_run_and_shown_again() -> None:
    noisy = {"data.conditions.label_noise": 0.2, "dim": 32}
    made = planned(("classes_per_batch", "8, 16"), plan="fair_comparison", run=noisy, seeds=[3, 4], trials=5, folds=3)
    assert isinstance(made, FairComparisonConfig) and isinstance(made.run, MetricLearningConfig)
    assert (made.trials, made.folds, made.seeds, made.run.dim) == (5, 3, (3, 4), 32)
    assert made.run.data == DataChoice(conditions=Conditions(label_noise=0.2, folds=3))
    assert page.plan_values(made)["own"] == {"seeds": [3, 4], "trials": 5, "folds": 3}
    names = [plan["name"] for plan in page.plans_json(FORMS["metric_learning"])]
    assert names == ["sweep", "fair_comparison"] and set(names) == set(page.WORDS)
    assert [plan["name"] for plan in page.plans_json(FORMS["contrastive"])] == names


@pytest.mark.parametrize("kind", ["metric_learning", "contrastive"])
@pytest.mark.parametrize("most", [Limits().runs, 30, None])
def test_what_is_offered_may_be_started(most: int | None, kind: str) -> None:
    form = FORMS[kind]
    for plan in page.plans_json(form, most):
        own = {field["name"]: field["default"] for field in plan["fields"]}
        made = page.planned(form, form.values(form.kind.config()), plan["name"], own, [])
        count = kind_of(made).sizes(made)["runs"]
        assert count <= (most or count) and len(made.seeds) >= 2


def test_methods_of_pretraining_can_be_varied() -> None:
    made = planned(("moco_v2.momentum", "0.9, 0.99"), form="contrastive")
    assert made == SweepConfig(run=KINDS["contrastive"].config(), vary={"moco_v2.momentum": [0.9, 0.99]})
    menu = dict(page.axes_of(FORMS["contrastive"], {"methods": [{"name": "supcon"}, {"name": "nope"}, 3]}))
    assert "supcon.temperature" in menu and not any(name.startswith("moco") for name in menu)


def test_everything_offered_can_be_varied() -> None:
    run = KINDS["metric_learning"].config(losses=(Choice(name="happier"), Choice(name="triplet")))
    names = offered(run)
    assert next(iter(names)).startswith("happier.") and "dim" in names and "source" not in names and "seed" not in names
    for name in names:
        with pytest.raises(ParameterError, match="needs a value; got none"):
            axes({name: []}, run)  # known: the values are what is missing
    assert not any("nope" in name for name in offered(run.changed(losses=(Choice(name="nope"),))))


def test_work_is_counted(bench: Callable[..., Bench]) -> None:
    runs = bench(max_parallel=2).runs
    assert runs.work(planned(run={"minutes": 10})) == (3, 15.0)
    assert work(*runs.work(planned(run={"minutes": 60}))) == "3 runs, about 1 h 30 min in all."
    counted = planned(run={"minutes": None, "steps": 100})
    assert runs.work(counted) == (3, None) and "not known" in work(3, None)


def test_a_public_page_bounds_the_runs(bench: Callable[..., Bench]) -> None:
    runs = bench(public=True, limits=Limits(runs=4)).runs
    runs.check(planned())
    with pytest.raises(RunError, match="a comparison may have 4 runs at most; got 6"):
        runs.check(planned(("dim", "32, 64")))


def test_settings_of_a_run_are_offered_with_a_budget_that_a_public_page_accepts(bench: Callable[..., Bench]) -> None:
    public = bench(public=True, limits=Limits(minutes=7)).runs
    recorded = planned(run={"minutes": None, "steps": 300})
    within = public.affordable(recorded)
    assert (within.run.minutes, within.run.steps, within.seeds) == (7, 300, recorded.seeds)
    assert public.affordable(planned(run={"minutes": 60})).run.minutes == 7
    assert public.affordable(planned(run={"minutes": 2})) == planned(run={"minutes": 2})
    assert bench().runs.affordable(recorded) == recorded
