"""Diagnosis of contrastive training: from hand-made numbers, and of real runs that collapse or cannot learn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.browser.contrastive_run import trained
from trainers.errors import ParameterError
from trainers.kinds import KINDS, diagnoses
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.diagnosis import diagnosis
from trainers.parameters import Choice

MOCO = Choice(name="moco_v2", parameters={"queue": 1024})
STILL = Choice(name="moco_v2", parameters={"queue": 1024, "momentum": 0.0})
HOT = Choice(name="moco_v2", parameters={"queue": 1024, "temperature": 2.0})
CHANCE = math.log(1025)
FULL = {"loss": 3.0, "term/contrast": 3.0, "contrast_accuracy": 0.4, "queue_filled": 1.0, "key_variance": 0.9}
HEALTHY = {**FULL, "uniformity": -2.0, "effective_rank": 40.0, "queue_similarity/1 of 8": 0.8}
AGED = {"queue_similarity/8 of 8": 0.75}


def said(method: Choice, numbers: dict[str, float], batch: int = 64) -> str:
    return " | ".join(diagnosis(ContrastiveConfig(methods=(method,), batch=batch), 0, numbers))


@pytest.mark.parametrize(
    ("method", "changes", "words"),
    [
        (MOCO, AGED, ""),
        (MOCO, {"uniformity": -0.01}, "The embeddings have collapsed: all images"),
        (MOCO, {"uniformity": -0.05}, ""),
        (MOCO, {"effective_rank": 1.4}, "collapsed to a line (effective rank 1.4)"),
        (MOCO, {"term/contrast": CHANCE - 0.02}, "is at log(1,025) = 6.93"),
        (MOCO, {"term/contrast": CHANCE - 0.2}, ""),
        (MOCO, {"term/contrast": CHANCE - 0.02, "key_variance": 0.001}, "because the keys have collapsed"),
        (MOCO, {"key_variance": 0.001}, ""),
        (MOCO, {"term/contrast": CHANCE + 0.5}, "worse than guessing"),
        (MOCO, {"term/contrast": 6.5, "contrast_accuracy": 0.8}, "lower the temperature"),
        (MOCO, {"term/contrast": 0.001, "contrast_accuracy": 1.0}, "The task is solved"),
        (MOCO, {"term/contrast": 0.001, "contrast_accuracy": 0.9}, ""),
        (MOCO, {"queue_filled": 0.4, "term/contrast": 0.0, "contrast_accuracy": 1.0}, "filling (40%). The loss rises"),
        (MOCO, {"queue_similarity/8 of 8": 0.5}, "The oldest keys in the dictionary are stale"),
        (MOCO, {"term/contrast": CHANCE, "key_variance": 0.0002}, "Lower the learning rate."),
        (STILL, {"term/contrast": CHANCE, "key_variance": 0.0002}, "Raise the momentum, 0; 0.99 to 0.999 is usual."),
        (HOT, {"term/contrast": 6.8}, "The temperature, 2, is too high"),
        (HOT, {"term/contrast": 6.8}, f"would be {math.log(1 + 1024 * math.exp(-0.5)):.2f}"),
    ],
)
def test_numbers_of_a_queue(method: Choice, changes: dict[str, float], words: str) -> None:
    found = said(method, HEALTHY | changes)
    assert words in found and (found == "") == (words == "")
    assert " | " not in found  # one cause, one sentence


@pytest.mark.parametrize(
    ("name", "parameters", "candidates"),
    [
        ("moco_v1", {"queue": 500}, 501),
        ("memory_bank", {"negatives": 500}, 501),
        ("end_to_end", {}, 64),
        ("simclr", {}, 127),
        ("supcon", {"temperature": 0.14}, 127),
        ("supcon_queue", {"queue": 500, "temperature": 0.14}, 501),
    ],
)
def test_guessing_depends_on_the_method(name: str, parameters: dict[str, object], candidates: int) -> None:
    factor = 2.0 if "temperature" in parameters else 1.0  # over the base temperature, 0.07
    guess = {"loss": 1.0, "term/contrast": factor * math.log(candidates), "queue_filled": 1.0}
    assert f"log({candidates})" in said(Choice(name=name, parameters=parameters), guess)
    assert said(Choice(name=name, parameters=parameters), guess | {"term/contrast": 0.5 * guess["term/contrast"]}) == ""


def test_the_plateau_of_supcon_is_no_failure() -> None:
    """The published code stands there for hundreds of steps: 8.91 at a batch of 256, log(511) over 0.7."""
    plateau = {"loss": 8.91, "term/contrast": 8.91, "queue_filled": 1.0}
    found = said(Choice(name="supcon"), plateau, batch=256)
    assert "normal for hundreds of steps" in found and "learning rate" not in found
    unlabelled = {"loss": 6.24, "term/contrast": 6.24}
    assert "change the learning rate" in said(Choice(name="simclr"), unlabelled, batch=256)


def test_queries_without_a_positive() -> None:
    numbers = {"loss": 1.0, "term/contrast": 3.0}
    supcon = Choice(name="supcon")
    assert said(supcon, numbers | {"positives_share": 0.0}).startswith("No query has another image")
    assert said(supcon, numbers | {"positives_share": 0.02}).startswith("Only 2.0% of queries have another image")
    assert said(supcon, numbers | {"positives_share": 0.3}) == ""
    queue = Choice(name="supcon_queue", parameters={"queue": 512})
    assert "positive" not in said(queue, numbers | {"positives_share": 0.0, "queue_filled": 0.1})


def test_nothing_is_said_before_there_are_numbers_and_of_what_compares_nothing() -> None:
    assert said(MOCO, {}) == said(MOCO, {"uniformity": 0.0}) == ""
    assert "filling" in said(MOCO, {"loss": 0.1, "term/contrast": 0.1})  # before the first snapshot
    assert said(Choice(name="cross_entropy"), {"loss": math.log(127), "term/classifier": math.log(127)}) == ""
    assert said(Choice(name="of_tomorrow"), HEALTHY) == ""


def test_unknown_parameters_keep_no_run_from_being_viewed() -> None:
    odd = ContrastiveConfig(methods=(Choice(name="simclr", parameters={"shape": 3}),))
    with pytest.raises(ParameterError):
        diagnosis(odd, 0, {"loss": 1.0})
    assert KINDS["contrastive"].diagnoses(odd, {(0, "loss"): 1.0}) == [[]]
    assert KINDS["metric_learning"].diagnoses(KINDS["metric_learning"].config(), {}) == [[], []]


def test_a_healthy_run_and_one_too_hot(tmp_path: Path) -> None:
    too_hot = Choice(name="moco_v2", parameters={"queue": 64, "momentum": 0.9, "temperature": 2.0})
    folder = trained(tmp_path, Choice(name="simclr"), too_hot, steps=40, head_steps=2)
    cool, hot = diagnoses(folder.config, folder)
    assert cool == [] and hot[0].startswith("The temperature, 2, is too high")


@pytest.mark.parametrize(
    ("sentence", "settings", "told"),
    [
        ("Without augmentation", {"methods": ("simclr",), "augmentation": Choice(name="none")}, True),
        ("Without augmentation", {"methods": ("memory_bank",), "augmentation": Choice(name="none")}, True),
        ("Without augmentation", {"methods": ("simclr",), "augmentation": Choice(name="moco_v2")}, False),
        ("Without augmentation", {"methods": ("supcon",), "augmentation": Choice(name="none")}, False),
        ("Without augmentation", {"methods": ("cross_entropy",), "augmentation": Choice(name="none")}, False),
        ("begins anew", {"start": "A" * 26, "norm": "group"}, True),
        ("begins anew", {"start": "A" * 26}, False),
        ("begins anew", {"norm": "group"}, False),
    ],
)
def test_advice_before_a_run(sentence: str, settings: dict[str, Any], told: bool) -> None:
    """Views that are the same image where methods compare views, and normalisation that a start does not give."""
    methods = tuple(Choice(name=name) for name in settings.get("methods", ("simclr",)))
    found = KINDS["contrastive"].advice(ContrastiveConfig(**settings | {"methods": methods}))
    assert any(sentence in each for each in found) == told
