"""What the arms of a run vary, from their parameters alone."""

from __future__ import annotations

import pytest

from trainers.kinds import KINDS, kind_of
from trainers.kinds.ablation import Ablation, ablation
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice


def of_methods(name: str, *parameters: dict[str, object]) -> Ablation | None:
    config = ContrastiveConfig(methods=tuple(Choice(name=name, parameters=each) for each in parameters))
    return ablation(KINDS["contrastive"].arms(config))


def test_a_queue_has_a_logarithmic_axis() -> None:
    found = of_methods("moco_v1", *({"queue": size} for size in (256, 1024, 4096)))
    assert found is not None and (found.title, found.scale) == ("Queue", "log")
    assert found.values == ("256", "1,024", "4,096") and found.places == pytest.approx((0, 0.5, 1))
    assert found.help


def test_a_default_that_is_not_written_counts() -> None:
    found = of_methods("moco_v2", {}, {"temperature": 0.5})
    assert found is not None and found.values == ("0.2", "0.5")
    assert of_methods("moco_v2", {}, {"temperature": 0.2}) is None


def test_values_too_close_for_their_marks_are_spaced_evenly() -> None:
    found = of_methods("moco_v1", *({"momentum": value} for value in (0.99, 0.0, 0.9, 0.999)))
    assert found is not None and found.scale == "even"
    assert found.places == pytest.approx((2 / 3, 0, 1 / 3, 1))
    wide = of_methods("moco_v1", *({"momentum": value} for value in (0.0, 0.5, 1.0)))
    assert wide is not None and (wide.scale, wide.places) == ("linear", (0, 0.5, 1))


def test_words_and_switches_keep_their_order() -> None:
    switched = of_methods("moco_v1", {"shuffle": True}, {"shuffle": False})
    assert switched is not None and (switched.values, switched.places) == (("yes", "no"), (0, 1))
    optional = of_methods("supcon", {"base_temperature": None}, {})
    assert optional is not None and optional.values == ("none", "0.07")


@pytest.mark.parametrize(
    "methods",
    [
        (Choice(name="moco_v1"), Choice(name="moco_v2")),
        (Choice(name="moco_v1"), Choice(name="moco_v1", parameters={"queue": 64, "momentum": 0.5})),
        (Choice(name="simclr"),),
        (Choice(name="simclr"), Choice(name="simclr")),
    ],
)
def test_no_axis_where_more_or_less_than_one_parameter_differs(methods: tuple[Choice, ...]) -> None:
    assert ablation(KINDS["contrastive"].arms(ContrastiveConfig(methods=methods))) is None


def test_losses_and_recipes_too() -> None:
    losses = tuple(Choice(name="supcon", parameters={"temperature": value}) for value in (0.05, 0.5))
    arms = ablation(KINDS["metric_learning"].arms(MetricLearningConfig(losses=losses)))
    assert arms is not None and (arms.title, arms.scale) == ("Temperature", "log")
    kind = KINDS["finetuning"]
    arms = ablation(kind.arms(kind.configured({}, {"preset": "figure4"})))
    assert arms is not None and (arms.title, arms.values[0]) == ("Ratio", "0.02")


def test_values_of_a_damaged_or_newer_configuration() -> None:
    assert of_methods("simclr", {"temperature": [1]}, {"temperature": "hot"}) is not None
    assert of_methods("of_tomorrow", {"shape": 1}, {"shape": 2}) is None


def test_the_title_of_an_arm_without_a_value_has_that_of_the_run() -> None:
    config = ContrastiveConfig(methods=(Choice(name="simclr", parameters={"batch": 64}), Choice(name="simclr")))
    assert [arm.title for arm in kind_of(config).arms(config)] == ["SimCLR (batch 64)", "SimCLR (batch 256)"]
