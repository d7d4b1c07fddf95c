"""What the sidebar and the API ask for becomes a checked configuration, or a sentence."""

from __future__ import annotations

import pytest

from explorer.page.form import Form, Images, losses_of
from explorer.page.parameter_panel import stored_values
from trainers.config import LossChoice, RunConfig
from trainers.errors import ParameterError

DRAWN = Images(source="drawn")


def test_the_untouched_page_asks_for_the_default_run():
    config = RunConfig()
    form = Form(images=DRAWN, losses=[loss.name for loss in config.losses])
    assert form.config() == config


def test_losses_keep_their_order_and_their_own_parameters():
    form = Form(
        images=DRAWN,
        losses=["supcon", "smooth_ap", "supcon"],
        loss_parameters=[{"temperature": 0.2}, {}, {"temperature": 0.1}],
    )
    first, second, third = form.config().losses
    assert (first.name, second, third.name) == ("supcon", LossChoice(name="smooth_ap"), "supcon")
    assert first.parameters != third.parameters


def test_empty_slots_are_left_out():
    names, held = losses_of(["supcon", None, "", None], ['{"supcon": {"temperature": 0.2}}', "{}", "{}", "{}"])
    assert (names, held) == (["supcon"], [{"temperature": 0.2}])


@pytest.mark.parametrize("text", [None, "", "{", "[1]", '"x"', "null", '{"supcon": 3}'])
def test_a_text_that_is_not_ours_holds_nothing(text):
    assert stored_values(text, "supcon") == {}


def test_label_columns_as_typed_and_as_chosen():
    assert Images(source="x", label_columns="fine, coarse,").choice().label_columns == ("fine", "coarse")
    assert Images(source="x", label_columns=["fine"]).choice().label_columns == ("fine",)
    assert Images(source=" x ", label_columns=[], train_split=None).choice().label_columns is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"losses": []}, "A run needs a loss"),
        ({"losses": ["nope"]}, "There is no loss 'nope'; choose from"),
        ({"losses": ["supcon"] * 5}, "one to 4 losses; 5 came"),
        ({"loss_parameters": [{}, {}]}, "2 sets of loss parameters came for 1 losses"),
        ({"loss_parameters": [{"temperature": 50}]}, "temperature needs"),
        ({"loss_parameters": [{"heat": 1}]}, "has no parameter 'heat'"),
        ({"encoder": "huge"}, "There is no encoder 'huge'"),
        ({"sampler": "fair"}, "There is no sampler 'fair'"),
        ({"training": {"minutes": None}}, "needs a budget"),
        ({"training": {"minutes": -1}}, "minutes needs a number from"),
        ({"training": {"learning_rate": "fast"}}, "learning_rate needs"),
        ({"training": {"classes_per_batch": 1}}, "classes_per_batch needs a whole number from 2"),
        ({"images": Images(source="  ")}, "A run needs images"),
        ({"images": Images(source="drawn", max_images=3)}, "Most images read per split"),
    ],
)
def test_what_is_wrong_is_named(changes: dict, sentence: str):
    form = Form(**{"images": DRAWN, "losses": ["supcon"], **changes})
    with pytest.raises(ParameterError, match=sentence):
        form.config()


def test_the_memory_reaches_the_configuration():
    config = Form(images=DRAWN, losses=["supcon"], training={"memory": 512, "memory_after": 20}).config()
    assert (config.memory, config.memory_after) == (512, 20)
    with pytest.raises(ParameterError, match="memory needs a whole number from 0 to 262144; got 300000"):
        Form(images=DRAWN, losses=["supcon"], training={"memory": 300_000}).config()
