"""Hard conditions in the form of metric learning: what is chosen, what comes back, and what a run's lines say of it."""

from __future__ import annotations

import pytest

from explorer.page.kinds.metric_learning import config_of, defaults, held, restored
from trainers.config import Conditions, DataChoice
from trainers.errors import ParameterError
from trainers.kinds import KINDS
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig

HARD = Conditions(label_noise=0.4, noise_kind="across", withheld_classes=0.25, withheld_images=0.5)
CONFIG = MetricLearningConfig(data=DataChoice(conditions=HARD))


def test_conditions_are_set_shown_and_kept() -> None:
    values = held(CONFIG)
    assert config_of(values) == CONFIG and config_of(restored(values)) == CONFIG
    assert set(values) == set(defaults()) and config_of(defaults()).data.conditions == Conditions()


def test_conditions_that_cannot_be_are_refused_and_not_restored() -> None:
    for wrong in ({"label_noise": 1.5}, {"noise_kind": "loud"}, {"withheld_classes": 1.0}, {"withheld_images": "half"}):
        with pytest.raises(ParameterError, match=next(iter(wrong)).replace("_", ".")):
            config_of(defaults() | wrong)
        assert restored(wrong) == defaults()


def test_the_lines_of_a_run_name_its_conditions() -> None:
    kind = KINDS["metric_learning"]
    title = "Drawn world, 25 % of classes withheld, 50 % of images withheld, 40 % label noise (across)"
    assert kind.data_title(CONFIG) == title
    assert kind.summary(CONFIG, title).startswith(f"{title}, ")
    data = DataChoice(conditions=Conditions(label_noise=0.2))
    assert KINDS["contrastive"].data_title(ContrastiveConfig(data=data)) == "Drawn world, 20 % label noise"
