"""Hard conditions in the forms of two kinds of run: what is chosen, what comes back, and what a run's lines say."""

from __future__ import annotations

from types import ModuleType

import pytest

from explorer.page.kinds import contrastive, metric_learning
from trainers.config import Conditions, DataChoice, RunConfig
from trainers.errors import ParameterError
from trainers.kinds import KINDS
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig

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
