"""Runs whose batches are encoded in chunks: estimated and advised."""

from __future__ import annotations

import dataclasses

import pytest

from trainers.config import Config
from trainers.kinds import check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.diagnosis import advice
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice

SIMCLR, MOCO = (Choice(name=name) for name in ("simclr", "moco_v2"))


@pytest.mark.parametrize("config", [MetricLearningConfig(), ContrastiveConfig(), FinetuningConfig()])
def test_chunks_are_off_unless_asked_for_and_need_less_memory(config: Config) -> None:
    kind = kind_of(config)
    assert config.single.chunk is None and any("chunk" in section.names for section in kind.sections)
    off, chunked = (dataclasses.replace(config, chunk=size) for size in (0, 16))
    check(off)
    check(chunked)
    whole = kind.footprint(config)
    assert kind.footprint(off) == whole
    assert kind.footprint(chunked).activations < 0.5 * whole.activations


def test_what_chunks_do_to_batch_statistics_is_said() -> None:
    def said(**changes: object) -> str:
        return " ".join(advice(ContrastiveConfig(**{"batch": 64, **changes})))  # type: ignore[arg-type]

    assert "statistics of 4 chunks tell" in said(methods=(SIMCLR,), chunk=32)
    assert "statistics" not in said(methods=(SIMCLR,), chunk=32, norm="group")
    assert "not divided by the 3 chunks" in said(methods=(MOCO,), chunk=30)
    assert "chunks" not in said(methods=(MOCO,), chunk=32)
