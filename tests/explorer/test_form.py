"""What the sidebar and the API ask for becomes a checked configuration, or a sentence."""

from __future__ import annotations

import pytest

from explorer.page.dataset_picker import data_choice
from explorer.page.kinds.metric_learning import LOSS_PICKER, configuration
from explorer.page.parameter_panel import stored_values
from trainers.config import MAX_ARMS
from trainers.errors import ParameterError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice

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
