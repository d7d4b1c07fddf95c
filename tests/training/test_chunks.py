"""Runs whose batches are encoded in chunks: refused, estimated, advised, resumed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.contracts.test_training import train_cut_and_resume
from trainers.config import Config
from trainers.errors import ParameterError
from trainers.kinds import check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.diagnosis import advice
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice

SIMCLR, MOCO = (Choice(name=name) for name in ("simclr", "moco_v2"))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (MetricLearningConfig(classes_per_batch=8, chunk=33), "a batch has 32 images; got chunks of 33"),
        (ContrastiveConfig(methods=(SIMCLR,), batch=16, chunk=17), "a batch has 16 images; got chunks of 17"),
        (FinetuningConfig(batch=16, chunk=32), "Choose at most 16, or leave it out"),
        (MetricLearningConfig(chunk=1), "A chunk needs two images or more"),
        (MetricLearningConfig(chunk=-1), "chunk needs a whole number from 0"),
        (MetricLearningConfig(encoder=Choice(name="timm_frozen"), chunk=16), "needs no chunks"),
    ],
)
def test_chunks_that_a_batch_does_not_make_are_refused(config: Config, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        check(config)


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


def test_a_run_in_chunks_resumes_to_the_same_bits(tmp_path: Path, images: Path) -> None:
    train_cut_and_resume(tmp_path, images, "contextual", chunk=5)
