"""Curves are functions of the step: windows of averaged steps, whatever the clock, the stops and the writing."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import pytest

from tests.tiny import opened, tiny_config, tiny_contrastive
from tests.training.reopened import numbers
from trainers.config import RunConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.training import scalars as windows
from trainers.training.loop import Loop
from trainers.training.scalars import ends_window


@pytest.mark.parametrize(
    ("planned", "steps", "most", "ends"),
    [
        (None, 10**6, 1000, (1, 2, 128, 130, 256, 260)),
        (6, 6, 6, (1, 2, 3, 4, 5, 6)),
        (500, 500, 500, (128, 129, 500)),
        (501, 501, 501, (128, 130, 256, 258)),
        (10_000, 10_000, 1000, (1, 128, 130, 4096, 4128)),
        (10**6, 10**6, 1200, (1, 128, 130, 262144, 264192)),
    ],
)
def test_windows_follow_from_the_steps(planned: int | None, steps: int, most: int, ends: tuple[int, ...]) -> None:
    found = [step for step in range(1, steps + 1) if ends_window(step, planned)]
    assert set(ends) <= set(found) and len(found) <= most
    lengths = [after - before for before, after in zip([0, *found], found, strict=False)]
    assert lengths == list(accumulate(lengths, max))  # they only grow


def labelled(images: Path, **changes: object) -> RunConfig:
    return tiny_config(images, "smooth_ap", "supcon_out", steps=14, snapshot_steps=5, **changes)


def staged(images: Path, **changes: object) -> RunConfig:
    return tiny_contrastive(images, Choice(name="supcon"), steps=9, head_steps=5, snapshot_steps=5, **changes)


@pytest.mark.parametrize("config", [labelled, staged])
@pytest.mark.parametrize("stopped", [(), (3,), (1, 2, 6, 10)])
def test_equal_runs_log_equal_curves(
    tmp_path: Path,
    images: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: Callable[..., RunConfig],
    stopped: tuple[int, ...],
) -> None:
    monkeypatch.setattr(windows, "_SINGLE", 1)  # windows of 1, 2 and 4 steps
    monkeypatch.setattr(windows, "_POINTS", 4)
    whole = trained(tmp_path / "whole", config(images))
    monkeypatch.setattr(windows, "WRITE_SECONDS", 0.0)
    parted = trained(tmp_path / "parted", config(images), stopped)
    assert numbers(whole.folder) == numbers(parted.folder)
    losses = [step for arm, step, key in numbers(whole.folder) if (arm, key) == (0, "loss")]
    assert losses == ([1, 2, 4, 8, 12, 14] if config is labelled else [1, 2, 4, 8, 9, 10, 11, 13, 14])


def trained(root: Path, config: RunConfig, stops: tuple[int, ...] = ()) -> Loop:
    """Train to the end; at each of ``stops`` a checkpoint is written, a step is lost and the folder is opened again."""
    run = opened(root, config)
    for stop in stops:
        run.advance(0)  # the first snapshot only
        while run.step < stop:
            run.take_step()
            run._pause_for(run._due(math.inf))
        run.checkpoint()
        run.take_step()
        run = type(run)(RunFolder.open(root, run.folder.id))
        assert run.step == stop
    assert not run.advance(600)
    run.finish()
    return run
