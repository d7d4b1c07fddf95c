"""A run as a GPU trains it, on the CPU: steps are judged one late, and looks end in a thread beside the training."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
import torch

from tests.contracts.test_training import train_cut_and_resume
from tests.tiny import tiny_config
from tests.training.reopened import numbers
from trainers.config import RunConfig
from trainers.kinds.metric_learning.loop import LossArm, MetricLearningLoop
from trainers.runs import RunFolder
from trainers.training.arm import NonFiniteLossError
from trainers.training.evaluation import Finish, Finisher, ProbeResult

GPU = torch.device("cuda")


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU is treated as a device that works on while the host does."""
    monkeypatch.setattr("trainers.training.arm.depth_for", lambda _device: 1)
    monkeypatch.setattr("trainers.training.loop.Finisher", lambda _device: Finisher(GPU))


def new(root: Path, config: RunConfig) -> MetricLearningLoop:
    return MetricLearningLoop(RunFolder.create(root, config))


def weights(run: MetricLearningLoop) -> dict[str, torch.Tensor]:
    run.checkpoint()
    checkpoint = run.folder.read_checkpoint()
    assert checkpoint is not None
    return checkpoint[0]


def config(images: Path, **changes: object) -> RunConfig:
    return tiny_config(images, "roadmap", "supcon_out", **({"steps": 9, "snapshot_steps": 2} | changes))


def test_its_frames_and_numbers_are_those_of_a_run_that_waits(
    tmp_path: Path, images: Path, late: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = new(tmp_path, config(images, clip_norm=20.0))
    begun.advance(60)
    begun.finish()
    monkeypatch.setattr("trainers.training.loop.Finisher", lambda _device: Finisher(torch.device("cpu")))
    waiting = new(tmp_path, config(images, clip_norm=20.0))
    waiting.advance(60)
    waiting.finish()
    found, expected = numbers(begun.folder), numbers(waiting.folder)
    assert {step for _, step, key in found if key == "R_at_1"} == {0, 2, 4, 6, 8, 9}
    assert found == expected
    assert [(k, step) for k, step, _ in begun.folder.snapshots()] == list(enumerate((0, 2, 4, 6, 8, 9)))
    assert all(
        (mine == other).all()
        for k in range(6)
        for mine, other in zip(begun.folder.embeddings(k), waiting.folder.embeddings(k), strict=True)
    )


def test_training_goes_on_while_an_evaluation_ends(tmp_path: Path, images: Path, late: None) -> None:
    class Slow(MetricLearningLoop):
        def _evaluate(self, arm: LossArm) -> Finish:
            finish, looked_at = super()._evaluate(arm), self.step

            def ended() -> ProbeResult:
                if looked_at == 4:
                    went_on.append(went_past(4))
                return finish()

            return ended

    def went_past(step: int) -> bool:
        end = time.monotonic() + 60
        while run.step <= step and time.monotonic() < end:
            time.sleep(0.01)
        return run.step > step

    went_on: list[bool] = []
    run = Slow(RunFolder.create(tmp_path, config(images, steps=8, snapshot_steps=4)))
    run.advance(60)
    assert went_on == [True, True]  # one for each loss
    run.checkpoint()  # waits: a resumed run goes on from here, and must have the frames from before
    assert [step for _, step, _ in run.folder.snapshots()] == [0, 4, 8]


def test_resuming_is_exact(tmp_path: Path, images: Path, late: None) -> None:
    train_cut_and_resume(tmp_path, images, "roadmap", "supcon_out", snapshot_steps=2)


@pytest.mark.parametrize("found_by", ["the next step", "an evaluation", "a checkpoint"])
def test_a_bad_step_is_found_before_anything_of_it_is_written(
    tmp_path: Path, images: Path, late: None, found_by: str
) -> None:
    run = new(tmp_path, config(images, snapshot_steps=None))
    run.advance(0)
    run.take_step()
    kept = weights(run)
    with torch.no_grad():
        run.arms[1].encoder.head.weight.fill_(math.nan)
    run.take_step()  # nobody knows yet
    find = {"the next step": run.take_step, "an evaluation": run.snapshot, "a checkpoint": run.checkpoint}[found_by]
    words = r"SupCon.*\(loss nan, gradient nan\) in step 2\. .*training rows"
    with pytest.raises(NonFiniteLossError, match=words):
        find()
    with pytest.raises(NonFiniteLossError, match=words):
        run.checkpoint()
    good = run.folder.read_checkpoint()
    assert good is not None and good[1]["step"] == 1
    assert all(torch.equal(good[0][name], kept[name]) for name in kept)
    assert [step for _, step, _ in run.folder.snapshots()] == [0]
    assert all(math.isfinite(scalar.value) for scalar in run.folder.scalars())
