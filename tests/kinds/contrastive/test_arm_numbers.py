"""What an arm tells of its steps: the mean cosine of its projections, and its processor time."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import Tensor, nn

from tests.kinds.contrastive.test_batch import CLASSES, CPU, FEATURES, made, views
from tests.kinds.contrastive.test_run import SMALL, images, numbers, run
from tests.metrics import slow_representation as slow
from trainers.kinds.contrastive.arm import MethodArm
from trainers.kinds.contrastive.batches import Batch
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.measures import MEASURES
from trainers.kinds.contrastive.methods import METHODS
from trainers.parameters import Choice
from trainers.training.stage import Stage

__all__ = ["images"]  # a fixture


def arm_of(name: str, **parameters: object) -> MethodArm:
    arm = MethodArm(0, "", made(name, **parameters), nn.Linear(FEATURES, CLASSES), 7, CPU)
    arm.begin(Stage.of(ContrastiveConfig()))
    return arm


def step(arm: MethodArm, seconds: float = 0.0) -> dict[str, Tensor | float]:
    given = views(arm.method, count=10)
    return arm.step(
        Batch(
            view=given.images.__getitem__, labels=given.labels, rows=given.rows, step=0, seconds=lambda _view: seconds
        ),
        1.0,
    )


@pytest.mark.parametrize("name", METHODS)
def test_the_mean_cosine_is_that_of_the_first_views_projections(name: str) -> None:
    arm = arm_of(name)
    projected: list[Tensor] = []
    arm.method.net.register_forward_hook(lambda _net, _inputs, output: projected.append(output.detach()))
    found = step(arm)
    if name in ("cross_entropy", "max_margin"):  # they have no projection
        assert "projection_cosine" not in found
    else:
        assert float(found["projection_cosine"]) == pytest.approx(slow.mean_cosine(projected[0][:10]), abs=1e-5)


def test_it_is_a_curve_of_every_arm_with_a_projection(tmp_path: Path, images: Path) -> None:
    loop = run(tmp_path, images, Choice(name="supcon"), Choice(name="moco_v2", parameters=SMALL), head_steps=0)
    while loop.advance(60):
        pass
    loop.finish()
    known = numbers(loop)
    assert all(-1 / 7 <= known[arm, "projection_cosine"] <= 1 for arm in range(2))
    assert "projection_cosine" in MEASURES.later and MEASURES.describe("projection_cosine").measure.sentence


def test_each_arm_is_charged_for_the_views_that_it_takes() -> None:
    """They are made once for all arms, by the first that asks."""
    supcon, cross_entropy = arm_of("supcon"), arm_of("cross_entropy")
    for arm in (supcon, cross_entropy):
        step(arm, seconds=1000.0)
    assert 2000 <= supcon.processor_seconds < 2900 and 1000 <= cross_entropy.processor_seconds < 1900


def test_processor_time_goes_on_after_a_resume_and_is_told_at_the_end(tmp_path: Path, images: Path) -> None:
    cut = run(tmp_path, images, Choice(name="supcon"), Choice(name="cross_entropy"))
    cut.advance(0)
    cut.take_step()
    for arm in cut.arms:
        assert arm.processor_seconds > 0
        arm.processor_seconds += 500.0 * (arm.index + 1)
    spent = [arm.processor_seconds for arm in cut.arms]
    cut.checkpoint()
    again = type(cut)(cut.folder)
    assert [arm.processor_seconds for arm in again.arms] == spent
    while again.advance(60):
        pass
    again.finish()
    known = numbers(again)
    assert all(known[arm, "test/processor_seconds"] > spent[arm] for arm in range(2))
    assert "processor_seconds 5" in "\n".join(MEASURES.last_lines(again.folder.scalars(), ["a", "b"]).splitlines())


def test_a_checkpoint_from_before_it_was_measured_resumes(tmp_path: Path, images: Path) -> None:
    loop = run(tmp_path, images, Choice(name="supcon"))
    loop.advance(0)
    loop.take_step()
    loop.checkpoint()
    tensors, about = loop.folder.read_checkpoint() or ({}, {})
    about.pop("processor_seconds", None)
    loop.folder.write_checkpoint(tensors, about)
    assert type(loop)(loop.folder).arms[0].processor_seconds == 0.0
