"""What the arms of a run vary, from their parameters alone."""

from __future__ import annotations

import pytest

from trainers.kinds import KINDS, kind_of
from trainers.kinds.arm_view import Ablation, ablation
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice


def of_methods(name: str, *parameters: dict[str, object]) -> Ablation | None:
    config = ContrastiveConfig(methods=tuple(Choice(name=name, parameters=each) for each in parameters))
    return ablation(KINDS["contrastive"].arms(config))


@pytest.mark.parametrize(
    ("name", "parameter", "given", "title", "scale", "values", "places"),
    [
        ("moco_v1", "queue", (256, 1024, 4096), "Queue", "log", ("256", "1,024", "4,096"), (0, 0.5, 1)),
        ("moco_v1", "momentum", (0.0, 0.5, 1.0), "Momentum", "linear", ("0", "0.5", "1"), (0, 0.5, 1)),
        # too close for their marks
        ("moco_v1", "momentum", (0.99, 0.0, 0.9), "Momentum", "even", ("0.99", "0", "0.9"), (1, 0, 0.5)),
        ("moco_v1", "shuffle", (True, False), "Shuffle", "even", ("yes", "no"), (0, 1)),
        ("supcon", "base_temperature", (None, ...), "Base temperature", "even", ("none", "0.07"), (0, 1)),
        ("moco_v2", "temperature", (..., 0.5), "Temperature", "log", ("0.2", "0.5"), (0, 1)),
    ],
)
def test_the_axis_of_the_parameter_that_differs(
    name: str, parameter: str, given: tuple, title: str, scale: str, values: tuple[str, ...], places: tuple[float, ...]
) -> None:
    """A default that is not written counts."""
    found = of_methods(name, *({} if value is ... else {parameter: value} for value in given))
    assert found is not None and found.help
    assert (found.title, found.scale, found.values) == (title, scale, values)
    assert found.places == pytest.approx(places)


@pytest.mark.parametrize(
    "methods",
    [
        (Choice(name="moco_v1"), Choice(name="moco_v2")),
        (Choice(name="moco_v1"), Choice(name="moco_v1", parameters={"queue": 64, "momentum": 0.5})),
        (Choice(name="simclr"),),
        (Choice(name="simclr"), Choice(name="simclr")),
        (Choice(name="moco_v2"), Choice(name="moco_v2", parameters={"temperature": 0.2})),  # the default
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
