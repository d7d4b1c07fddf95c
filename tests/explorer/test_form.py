"""What the forms and the API ask for becomes a checked configuration, or a sentence."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from explorer.page.dataset_picker import DatasetPicker, data_choice
from explorer.page.kinds import contrastive, metric_learning
from explorer.page.kinds import metric_learning as page
from explorer.page.kinds.metric_learning import LOSS_PICKER, configuration
from explorer.page.parameter_panel import stored_values
from explorer.tabs.live.view import _points
from tests.synthetic import make_run
from trainers.config import MAX_ARMS, Conditions, DataChoice, RunConfig, read_config
from trainers.errors import ParameterError
from trainers.hierarchy import Hierarchy
from trainers.kinds import KINDS, check
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs.records import Attribute, Probe

DRAWN = data_choice("drawn")


def test_the_untouched_page_asks_for_the_default_run():
    config = MetricLearningConfig()
    assert configuration(DRAWN, [loss.name for loss in config.losses]) == config


def test_losses_keep_their_order_and_their_own_parameters():
    parameters = [{"temperature": 0.2}, {}, {"temperature": 0.1}]
    first, second, third = configuration(DRAWN, ["supcon", "smooth_ap", "supcon"], parameters).losses
    assert (first.name, second, third.name) == ("supcon", Choice(name="smooth_ap"), "supcon")
    assert first.parameters != third.parameters


def test_empty_slots_are_left_out():
    values = dict(zip(LOSS_PICKER.names, ["supcon", None, "", *[None] * (MAX_ARMS - 3)], strict=True))
    values |= dict.fromkeys(LOSS_PICKER.texts, "{}")
    values["loss_0_parameters"] = '{"supcon": {"temperature": 0.2}}'
    assert LOSS_PICKER.chosen(values) == [("supcon", {"temperature": 0.2})]


@pytest.mark.parametrize("text", [None, "", "{", "[1]", '"x"', "null", '{"supcon": 3}'])
def test_a_text_that_is_not_ours_holds_nothing(text):
    assert stored_values(text, "supcon") == {}


def test_label_columns_as_typed_and_as_chosen():
    assert data_choice("x", label_columns="fine, coarse,").label_columns == ("fine", "coarse")
    assert data_choice("x", label_columns=["fine"]).label_columns == ("fine",)
    assert data_choice(" x ", label_columns=[], train_split=None).label_columns is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"losses": []}, "A run needs a loss"),
        ({"losses": ["nope"]}, "There is no loss 'nope'; choose from"),
        ({"losses": ["supcon"] * (MAX_ARMS + 1)}, f"one to {MAX_ARMS} losses; got {MAX_ARMS + 1}"),
        ({"loss_parameters": [{}, {}]}, "Got 2 sets of loss parameters for 1 losses"),
        ({"loss_parameters": [{"temperature": 50}]}, "temperature needs"),
        ({"loss_parameters": [{"heat": 1}]}, "has no parameter 'heat'"),
        ({"encoder": "huge"}, "There is no encoder 'huge'"),
        ({"training": {"sampler": "fair"}}, "There is no sampler 'fair'"),
        ({"training": {"minutes": None}}, "needs a budget"),
        ({"training": {"minutes": -1}}, "minutes needs a number above 0"),
        ({"training": {"learning_rate": "fast"}}, "learning_rate needs"),
        ({"training": {"classes_per_batch": 1}}, "classes_per_batch needs a whole number from 2"),
    ],
)
def test_what_is_wrong_is_named(changes: dict, sentence: str):
    with pytest.raises(ParameterError, match=sentence):
        configuration(**{"data": DRAWN, "losses": ["supcon"], **changes})


def test_what_is_wrong_with_the_images_is_named():
    with pytest.raises(ParameterError, match="A run needs images"):
        data_choice("  ")
    with pytest.raises(ParameterError, match="Most images read per split needs 100 to 1000000; got 3"):
        data_choice("drawn", max_images=3)


def test_the_memory_reaches_the_configuration():
    config = configuration(DRAWN, ["supcon"], training={"memory": 512, "memory_after": 20})
    assert (config.memory, config.memory_after) == (512, 20)
    with pytest.raises(ParameterError, match="memory needs a whole number from 0 to 262144; got 300000"):
        configuration(DRAWN, ["supcon"], training={"memory": 300_000})


# ----------------------------------------------------------------- hard conditions


HARD = Conditions(label_noise=0.4, noise_kind="across", withheld_classes=0.25, withheld_images=0.5)
CONFIG = MetricLearningConfig(data=DataChoice(conditions=HARD))
IMAGES_HELD_OUT = ContrastiveConfig(data=DataChoice(held_out="images", conditions=HARD))
FORMS = pytest.mark.parametrize(
    ("form", "config"),
    [(metric_learning, CONFIG), (contrastive, IMAGES_HELD_OUT)],
    ids=["metric learning", "contrastive"],
)


@FORMS
def test_conditions_are_set_shown_and_kept(form: ModuleType, config: RunConfig) -> None:
    values, defaults = form.held(config), form.held(type(config)())
    assert form.config_of(values) == config and form.config_of(form.restored(values)) == config
    assert list(values) == list(defaults) and form.config_of(defaults) == type(config)()


@FORMS
def test_conditions_that_cannot_be_are_refused_and_not_restored(form: ModuleType, config: RunConfig) -> None:
    defaults = form.held(type(config)())
    for wrong in ({"label_noise": 1.5}, {"noise_kind": "loud"}, {"withheld_classes": 1.0}, {"withheld_images": "half"}):
        with pytest.raises(ParameterError, match=next(iter(wrong)).replace("_", ".")):
            form.config_of(defaults | wrong)
        assert form.restored(wrong) == defaults


def test_the_lines_of_a_run_name_its_conditions() -> None:
    kind = KINDS["metric_learning"]
    title = "Drawn world, 25 % of classes withheld, 50 % of images withheld, 40 % label noise (across)"
    assert kind.data_title(CONFIG) == title
    assert kind.summary(CONFIG, title).startswith(f"{title}, ")
    data = DataChoice(conditions=Conditions(label_noise=0.2))
    assert KINDS["contrastive"].data_title(ContrastiveConfig(data=data)) == "Drawn world, 20 % label noise"


# --------------------------------------------------------- parameters of a dataset


def test_the_slider_and_the_source_are_one_setting() -> None:
    picker = DatasetPicker()
    tied = DataChoice(source="drawn:bias=0.9")
    held = picker.held(tied)
    assert held["source"] == "drawn" and held["drawn_bias"] == 0.9
    assert picker.chosen(held) == tied
    assert picker.chosen(picker.defaults()) == DataChoice()
    assert picker.chosen(picker.defaults() | {"source": "a/b", "drawn_bias": 0.9}).source == "a/b"
    assert picker.chosen(picker.defaults() | {"source": "drawn:bias=0.5"}).source == "drawn:bias=0.5"
    for wrong in ({"drawn_bias": 2.0}, {"source": "drawn:bias=2"}, {"source": "drawn:shade=1"}):
        with pytest.raises(ParameterError):
            picker.chosen(picker.defaults() | wrong)


def test_what_a_browser_kept_is_checked() -> None:
    picker = DatasetPicker()
    assert picker.restored({"drawn_bias": 0.5})["drawn_bias"] == 0.5
    assert "drawn_bias" not in picker.restored({"drawn_bias": "much"}) | picker.restored({"drawn_bias": 7})
    assert "source" not in picker.restored({"source": "drawn:bias=7"})


def test_a_preset_sets_its_bias_again_after_another_one() -> None:
    from explorer.page.forms import filled

    kind = KINDS["metric_learning"]

    class Form:
        held = staticmethod(page.held)
        looks_at = DatasetPicker().fields

    values = {preset.name: filled(kind, Form(), preset.name) for preset in kind.presets()}  # type: ignore[arg-type]
    assert {name: one["drawn_bias"] for name, one in values.items()} == {
        "background_0": 0.0,
        "background_05": 0.5,
        "background_09": 0.9,
    }
    for preset in kind.presets():
        check(kind.configured({}, {"preset": preset.name}))


def test_a_configuration_with_a_bias_is_written_and_read() -> None:
    config = MetricLearningConfig(data=DataChoice(source="drawn:bias=0.9"))
    assert read_config(config.to_json()) == config
    assert KINDS["metric_learning"].data_title(config) == "Drawn world, backgrounds tied to classes 0.9"


def test_the_page_gets_the_background_of_each_point(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=30, frames=1)
    old = folder.probe()
    assert old is not None and old.attributes == () and _points(old)["attributes"] == []
    values = old.labels[:, -1] % 2
    tree = Hierarchy(levels=old.hierarchy.levels, names=old.hierarchy.names)
    about = {"labels": old.labels, "rows": old.rows, "hierarchy": tree, "data_title": "made"}
    colour = Attribute(name="background", names=("dark", "light"), values=values)
    folder.write_probe(Probe(**about, attributes=(colour,)), ())
    kept = folder.probe()
    assert kept is not None
    (about_points,) = _points(kept)["attributes"]
    colours = about_points.pop("colours")
    assert about_points == {"name": "background", "names": ["dark", "light"], "values": values.tolist()}
    assert {mode: set(of) for mode, of in colours.items()} == {"light": {0, 1}, "dark": {0, 1}}
