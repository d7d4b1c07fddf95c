"""Gradient clipping: off unless asked for, counted and said where it binds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch

from explorer.page.kinds.metric_learning import configuration
from tests.contracts.test_training import train_cut_and_resume
from tests.tiny import tiny_config
from trainers.cli.main import main
from trainers.errors import ParameterError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.runs import RunFolder, list_runs
from trainers.training.arm import ArmOptimizer


@pytest.mark.parametrize(
    ("limit", "left", "counts"), [(None, 300.0, (0, 0)), (10.0, 10.0, (1, 1)), (400.0, 300.0, (1, 0))]
)
def test_only_a_gradient_beyond_the_limit_is_shortened(
    limit: float | None, left: float, counts: tuple[int, int]
) -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0]))
    stepper = ArmOptimizer([{"params": [weight], "lr": 0.1, "weight_decay": 0.0}], clip_norm=limit)
    stepper.step((300 * weight).sum(), 1.0, lambda value, norm: f"{value} {norm}")
    assert weight.grad is not None and weight.grad.item() == pytest.approx(left, rel=1e-5)
    assert (stepper.clipping.steps, stepper.clipping.clipped) == counts


def test_a_run_is_not_clipped_unless_it_asks(tmp_path: Path, images: Path) -> None:
    assert MetricLearningConfig().clip_norm is None
    run = MetricLearningLoop(RunFolder.create(tmp_path, tiny_config(images, "csl", "supcon_out", steps=3)))
    run.advance(60)
    run.finish()
    assert not [s for s in run.folder.scalars() if s.key == "clipped_share"]
    assert "clipping" not in (run.folder.path / "log.txt").read_text()


def test_where_it_binds_is_counted_said_and_resumed(tmp_path: Path, images: Path) -> None:
    # here CSL's gradients are from 190 to 270 long, SupCon's from 50 to 80
    run = train_cut_and_resume(tmp_path, images, "csl", "supcon_out", snapshot_steps=2, clip_norm=130.0)
    assert [arm.clipping.steps for arm in run.arms] == [5, 5]
    assert [arm.clipping.clipped for arm in run.arms] == [5, 0]
    shares = {(s.arm, s.step): s.value for s in run.folder.scalars() if s.key == "clipped_share"}
    assert shares[0, 5] == 1 and shares[1, 5] == 0
    assert "gradient of CSL was longer than 130 in 5 of 5 steps" in (run.folder.path / "log.txt").read_text()


def test_it_is_asked_for_by_form_and_flag(tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = partial(configuration, ["supcon"])
    assert drawn().clip_norm is None
    for given, kept in ((None, None), (2.5, 2.5), (10, 10.0)):
        assert drawn(training={"clip_norm": given}).clip_norm == kept
    with pytest.raises(ParameterError, match=r"clip_norm needs a number from 0\.001"):
        drawn(training={"clip_norm": 0})
    small = "--steps 2 --classes-per-batch 4 --images-per-class 3 --encoder small_conv:width=8 --dim 16 --threads 1"
    words = ["train", "--data", str(images), *small.split(), "--losses", "csl", "--clip-norm", "0.01"]
    assert main([*words, "--runs", str(tmp_path)]) == 0
    assert "gradient clipped in 100.0% of steps" in capsys.readouterr().out
    assert list_runs(tmp_path)[0].config.clip_norm == 0.01
