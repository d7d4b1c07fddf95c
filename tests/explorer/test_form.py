"""What the forms and the API ask for becomes a checked configuration, or a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.page.form import Form
from explorer.page.form.kind_page import KindPage
from explorer.page.kinds import PAGES
from explorer.page.kinds.metric_learning import configuration
from explorer.server.run import Run
from explorer.tabs.live.view import about
from tests.synthetic import make_run
from trainers.config import MAX_ARMS, Conditions, DataChoice, RunConfig, StartConfig
from trainers.errors import ParameterError, UserError
from trainers.hierarchy import Hierarchy
from trainers.kinds import KINDS, check
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.metrics.names import MOST
from trainers.parameters import Choice, specs
from trainers.recipes.catalogue import RECIPES
from trainers.runs.identity import read_config
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
    assert private == {"compiled", "processes"} | ({"start"} if issubclass(KINDS[name].config, StartConfig) else set())
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
        ({"losses": "supcon"}, "Loss needs a name and parameters"),
        ({"losses": [{"name": "supcon", "parameters": {"heat": 1}}]}, "has no parameter 'heat'"),
        ({"encoder": None}, "Encoder needs a name and parameters"),
        ({"sampler": "fair"}, "There is no sampler 'fair'"),
        ({"learning_rate": "fast"}, "learning_rate needs a number from 1e-07 to 100; got 'fast'"),
        ({"learning_rate": ""}, "Learning rate needs a number from 1e-07 to 100; got nothing"),
        ({"data.source": " "}, "Images needs text; got nothing"),
        ({"data.source": "drawn:bias=2"}, "bias needs a number"),
        ({"data.conditions.label_noise": 1.5}, "label_noise needs"),
        ({"data.conditions.noise_kind": "loud"}, "loud"),
        ({"minutes": None, "steps": ""}, "needs a budget"),
        ({"memory": 300_000}, "memory needs a whole number from 0 to 262144; got 300000"),
    ],
    "contrastive": [
        ({"methods": [{"name": "simclr"}] * (MAX_ARMS + 1)}, f"one to {MAX_ARMS} methods; got {MAX_ARMS + 1}"),
        ({"methods": [{"name": "moco_v2", "parameters": {"momentum": 2}}]}, "momentum needs a number from 0 to 1"),
        ({"augmentation": {"name": "huge"}}, "There is no augmentation 'huge'"),
        ({"head_augmentation": {"name": "huge"}}, "There is no (head )?augmentation 'huge'"),
        ({"encoder": {"name": "timm_frozen"}}, "Choose an encoder that is trained whole"),
        ({"batch": 1}, "batch needs a whole number from 2 to 8192; got 1"),
        ({"drops": [0.5, "late"]}, "drops needs"),
        ({"data.image_size": "big"}, "image_size needs a whole number"),
        ({"metrics": ["R@0"]}, "no metric 'R@0'"),
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


def test_the_untouched_function_asks_for_the_default_run() -> None:
    config = MetricLearningConfig()
    assert configuration([loss.name for loss in config.losses]) == config


def test_losses_keep_their_order_and_their_own_parameters() -> None:
    parameters = [{"temperature": 0.2}, {}, {"temperature": 0.1}]
    made = configuration(["supcon", "smooth_ap", "supcon"], loss_parameters=parameters)
    assert isinstance(made, MetricLearningConfig)
    assert [loss.name for loss in made.losses] == ["supcon", "smooth_ap", "supcon"]
    assert [dict(loss.parameters) for loss in made.losses] == parameters


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"losses": []}, "A run needs a loss"),
        ({"losses": ["supcon"] * (MAX_ARMS + 1)}, f"one to {MAX_ARMS} losses; got {MAX_ARMS + 1}"),
        ({"loss_parameters": [{}, {}]}, "Got 2 sets of loss parameters for 1 losses"),
        ({"loss_parameters": [{"temperature": 50}]}, "temperature needs"),
        ({"encoder": "huge"}, "There is no encoder 'huge'"),
        ({"training": {"device": "cuda:7"}}, "has no setting 'device' here"),
        ({"conditions": {"source": "x"}}, "has no setting 'data.conditions.source' here"),
    ],
)
def test_what_a_program_asks_wrongly_is_named(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        configuration(**{"losses": ["supcon"], **changes})


def test_a_program_may_ask_for_a_fold() -> None:
    made = configuration(["supcon"], conditions={"folds": 3, "fold": 2}, training={"memory": 512})
    assert isinstance(made, MetricLearningConfig)
    assert made.data.conditions == Conditions(folds=3, fold=2) and made.memory == 512


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
    assert offered == {name for name, recipe in RECIPES.items() if recipe.kind == "contrastive"} - {"imagenet_moco"}, (
        "imagenet_moco is the preset paper_moco_v1"
    )
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


def test_the_lines_of_a_run_name_its_conditions() -> None:
    kind = KINDS["metric_learning"]
    title = "Drawn world, 25 % of classes withheld, 50 % of images withheld, 40 % label noise (across)"
    assert kind.data_title(CONFIG) == title
    assert kind.summary(CONFIG, title).startswith(f"{title}, ")
    data = DataChoice(conditions=Conditions(label_noise=0.2))
    assert KINDS["contrastive"].data_title(ContrastiveConfig(data=data)) == "Drawn world, 20 % label noise"


def test_a_configuration_with_a_bias_is_written_and_read() -> None:
    config = MetricLearningConfig(data=DataChoice(source="drawn:bias=0.9"))
    assert read_config(config.to_json()) == config
    assert KINDS["metric_learning"].data_title(config) == "Drawn world, backgrounds tied to classes 0.9"


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
