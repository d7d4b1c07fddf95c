"""Settings that no run can have: each is refused in a sentence, whichever kind it is of."""

from __future__ import annotations

from typing import Any

import pytest

from trainers.config import MAX_ARMS, Config
from trainers.errors import ParameterError
from trainers.kinds import check
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice

SIMCLR, FROZEN = Choice(name="simclr"), Choice(name="timm_frozen")
NO_CHECKPOINTING = "needs an encoder that can compute its activations again, as most timm"
NO_AUGMENTATION = r"images cannot be augmented; got the augmentation .* Choose none"
INCEPTION = Choice(name="timm", parameters={"model": "inception_v3", "pretrained": False})

REFUSED: tuple[tuple[type[Config], dict[str, Any], str], ...] = (
    (MetricLearningConfig, {"losses": ()}, f"one to {MAX_ARMS} losses; got 0"),
    (MetricLearningConfig, {"encoder": Choice(name="eye")}, "no encoder 'eye'"),
    (MetricLearningConfig, {"encoder": Choice(name="conv4", parameters={"width": 1})}, "width needs"),
    (MetricLearningConfig, {"sampler": "dice"}, "no sampler 'dice'"),
    (MetricLearningConfig, {"steps": -3}, "steps needs"),
    (MetricLearningConfig, {"minutes": float("inf")}, "minutes needs"),
    (MetricLearningConfig, {"learning_rate": 500.0}, "learning_rate needs"),
    (MetricLearningConfig, {"classes_per_batch": 2.5}, "whole number"),
    (MetricLearningConfig, {"seed": True}, "seed needs"),
    (MetricLearningConfig, {"memory": -1}, "memory needs a whole number from 0 to 262144; got -1"),
    (MetricLearningConfig, {"memory": 1e6}, "memory needs"),
    (MetricLearningConfig, {"memory_after": 0.5}, "memory_after needs a whole number"),
    (MetricLearningConfig, {"optimiser": "magic"}, "optimiser needs one of adamw, adam, sgd, lars, rmsprop"),
    (MetricLearningConfig, {"schedule": "magic"}, "schedule needs one of cosine, step, constant"),
    (MetricLearningConfig, {"momentum": 1.0}, "momentum needs a number from 0 to 0.9999"),
    (MetricLearningConfig, {"drops": (0.5, 1.5)}, "drops needs numbers from 0 to 1"),
    (MetricLearningConfig, {"warm_up": -1}, "warm_up needs a whole number from 0"),
    (MetricLearningConfig, {"clip_norm": 0.0}, r"clip_norm needs a number from 0\.001"),
    # chunks of a batch
    (MetricLearningConfig, {"classes_per_batch": 8, "chunk": 33}, "a batch has 32 images; got chunks of 33"),
    (ContrastiveConfig, {"methods": (SIMCLR,), "batch": 16, "chunk": 17}, "a batch has 16 images; got chunks of 17"),
    (FinetuningConfig, {"batch": 16, "chunk": 32}, "Choose at most 16, or leave it out"),
    (MetricLearningConfig, {"chunk": 1}, "A chunk needs two images or more"),
    (MetricLearningConfig, {"chunk": -1}, "chunk needs a whole number from 0"),
    (MetricLearningConfig, {"encoder": FROZEN, "chunk": 16}, "needs no chunks"),
    # activation checkpointing
    (MetricLearningConfig, {"checkpointing": True}, NO_CHECKPOINTING),
    (MetricLearningConfig, {"checkpointing": True, "encoder": FROZEN}, NO_CHECKPOINTING),
    (FinetuningConfig, {"checkpointing": True}, NO_CHECKPOINTING),
    (MetricLearningConfig, {"checkpointing": True, "encoder": INCEPTION}, "got timm model inception_v3"),
    # features that are computed once
    (MetricLearningConfig, {"encoder": FROZEN, "augmentation": Choice(name="moco_v2")}, NO_AUGMENTATION),
    (
        MetricLearningConfig,
        {"encoder": FROZEN, "augmentation": Choice(name="light", parameters={"strength": 2.0})},
        NO_AUGMENTATION,
    ),
)


@pytest.mark.parametrize(("kind", "changes", "words"), REFUSED)
def test_it_is_said(kind: type[Config], changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        check(kind(**changes))


@pytest.mark.parametrize("name", ["light", "none"])
def test_the_augmentation_that_frozen_features_are_given_by_default_is_none(name: str) -> None:
    check(MetricLearningConfig(encoder=FROZEN, augmentation=Choice(name=name)))
