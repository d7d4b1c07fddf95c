"""Training in slices of a few seconds: set-up does not count, and the weights are those of one go."""

from __future__ import annotations

import time
from pathlib import Path

import torch

from tests.tiny import tiny_config, trained
from trainers.runs import RunFolder
from trainers.runs.records import BETWEEN_SLICES
from trainers.worker import Worker


def test_no_seconds_set_up_and_take_no_step(tmp_path: Path, images: Path) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images))
    told: list[float] = []
    state = Worker(folder).run(0, told.append)
    kept = folder.read_checkpoint()
    assert (state.phase, state.step) == (BETWEEN_SLICES, 0) and kept is not None and kept[1]["step"] == 0
    assert len(told) == 1 and told[0] > 0


def test_the_clock_starts_when_it_is_ready(tmp_path: Path, images: Path) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, steps=4000))
    ready: list[float] = []
    state = Worker(folder).run(1.0, lambda _seconds: (time.sleep(1.2), ready.append(time.monotonic()))[0])
    assert state.phase == BETWEEN_SLICES == folder.state().phase and state.step > 0
    assert time.monotonic() - ready[0] < 3  # a step or a snapshot may be under way when the time is up


def test_slices_come_to_the_weights_of_one_go(tmp_path: Path, images: Path) -> None:
    config = tiny_config(images, steps=80, snapshot_steps=40)
    whole = trained(tmp_path / "whole", config).read_checkpoint()
    folder = RunFolder.create(tmp_path / "sliced", config)
    phases = []
    while not phases or phases[-1] == BETWEEN_SLICES:
        phases.append(Worker(RunFolder.open(folder.path.parent, folder.id)).run(0.4 if phases else 0).phase)
        assert len(phases) < 60
    sliced = folder.read_checkpoint()
    assert phases[-1] == "finished" and len(phases) > 2
    assert whole is not None and sliced is not None and whole[0].keys() == sliced[0].keys()
    assert all(torch.equal(whole[0][name], sliced[0][name]) for name in whole[0])


def test_a_paused_slice_gives_its_device_back(tmp_path: Path, images: Path) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(images, steps=4000))
    started = time.monotonic()
    state = Worker(folder).run(60, lambda _seconds: folder.send("pause"))
    assert state.phase == "stopped" and time.monotonic() - started < 50
