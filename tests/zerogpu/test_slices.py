"""Runs in slices on a simulated ZeroGPU: real processes, forked, killed and counted as there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from gradio.context import LocalContext

import explorer.server.slices as slices_module
from explorer.server.lending import Lend, asked, train_slice
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.server.slices import Answer, SliceExecutor, Slices
from explorer.server.visitors import NOBODY, owner_of
from explorer.settings import Settings
from tests.tiny import tiny_config, trained, write_images
from tests.waiting import wait
from tests.zerogpu import spaces
from trainers.config import RunConfig
from trainers.devices.device import choose, gpus
from trainers.devices.space import lent
from trainers.errors import ParameterError
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder
from trainers.runs.folder import new_id
from trainers.runs.records import BETWEEN_SLICES
from trainers.runs.slice_cost import SliceCost, note_set_up, read_cost, write_cost
from trainers.worker import Worker

TOKEN = "a secret word"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images"))


class Space:
    """What a Space on ZeroGPU has beside its page, and the calls of a visitor with a quota."""

    def __init__(self, root: Path) -> None:
        settings = Settings(runs=root, public=True)
        self.executor = SliceExecutor()
        self.scheduler = Scheduler(settings, self.executor, gpus())
        self.runs = Runs(settings, self.scheduler)
        lend = spaces.GPU(train_slice, duration=asked)
        self.slices = Slices(settings, self.runs, self.executor, lend)
        self.root = root

    def beginning(self, prepared: Path) -> RunFolder:
        """A run of the visitor's that is set up and waits for its first slice."""
        folder = self.root / new_id()
        shutil.copytree(prepared, folder)
        self.executor.note_asked(made := self.folder(folder.name))
        return made

    def start(self, config: RunConfig | SweepConfig) -> RunFolder:
        return self.folder(self.runs.start(config, TOKEN))

    def folder(self, run_id: str) -> RunFolder:
        return RunFolder.open(self.root, run_id)

    def until(self, run_id: str, *phases: str) -> RunFolder:
        """Let the queue work until a run is in one of the phases."""
        folder = self.folder(run_id)
        wait(
            lambda: folder.db.state().phase in phases,
            words=lambda: str(folder.db.state()),
            meanwhile=self.scheduler.tick,
        )
        return folder

    def ask(self, run_id: str, token: str = TOKEN) -> Answer:
        return self.slices.go_on(run_id, token, NOBODY)


@pytest.fixture(scope="module")
def prepared(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a long run that is set up."""
    root = tmp_path_factory.mktemp("prepared")
    folder = RunFolder.create(root, config(images, steps=4000), owner=owner_of(TOKEN))
    Worker(folder).run(0, partial(note_set_up, folder.path))
    return folder.path


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Space]:
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setattr(slices_module, "SHORTEST", 0.6)
    monkeypatch.setattr(slices_module, "LONGEST", 0.6)
    spaces.used.clear()
    asking = LocalContext.request.set(SimpleNamespace(headers={"x-ip-token": "somebody"}))  # type: ignore[arg-type]
    made = Space(tmp_path / "runs")
    yield made
    made.scheduler.close()
    LocalContext.request.reset(asking)


def config(images: Path, **changes: object) -> RunConfig:
    return tiny_config(images, device="auto", minutes=5.0, **changes)


@pytest.mark.long
def test_slices_come_to_the_weights_of_one_go(space: Space, images: Path, tmp_path: Path) -> None:
    wanted = config(images, steps=80, snapshot_steps=40)
    run = space.start(wanted)
    folder = space.until(run.id, BETWEEN_SLICES)
    assert folder.db.state().step == 0 and read_cost(folder.path).set_up > 0
    count = 0
    while space.folder(run.id).db.state().phase == BETWEEN_SLICES:
        answer = space.ask(run.id)
        assert not answer.refused, answer
        count += 1
        assert count < 60
    sliced = space.until(run.id, "finished").read_checkpoint()
    whole = trained(tmp_path / "whole", replace(wanted, device="cpu")).read_checkpoint()
    assert count > 1 and whole is not None and sliced is not None
    assert all(torch.equal(whole[0][name], sliced[0][name]) for name in whole[0])
    assert 0 < read_cost(folder.path).lent < 1.5 * sum(spaces.used.values()) / spaces.FACTOR
    assert space.ask(run.id) == Answer(over=True)


def test_without_quota_nothing_is_lost(space: Space, prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = space.beginning(prepared)
    before = folder.db.state()
    monkeypatch.setenv("RANKSCOPE_TEST_QUOTA", "1")
    answer = space.ask(folder.id)
    assert answer.refused and "1s left" in answer.said and "Nothing is lost" in answer.said
    assert folder.db.state() == before and space.scheduler.is_busy(folder.id)
    # what is left is enough for a shorter slice
    needs = asked(str(folder.path), 0.6)
    monkeypatch.setattr(slices_module, "SHORTEST", 20.0)
    monkeypatch.setattr(slices_module, "LONGEST", 20.0)
    monkeypatch.setattr(slices_module, "LEAST", 0.5)
    monkeypatch.setenv("RANKSCOPE_TEST_QUOTA", str(spaces.FACTOR * (needs + 3)))
    assert space.ask(folder.id).wait and folder.db.state().step > 0


def test_a_killed_slice_goes_on_from_its_checkpoint(space: Space, prepared: Path) -> None:
    folder = space.beginning(prepared)
    space.slices.lend = spaces.GPU(partial(_longer, train_slice), duration=lambda *_: 2)
    assert space.ask(folder.id).wait
    state = folder.db.state()
    assert state.phase == BETWEEN_SLICES and "taken back" in state.message and not folder.is_alive()
    space.slices.lend = spaces.GPU(train_slice, duration=asked)
    for _ in range(slices_module.TRIES - 1):  # on a busy machine the first may end before its first step
        assert space.ask(folder.id).wait and folder.db.state().phase == BETWEEN_SLICES
        if folder.db.state().step > state.step:
            break
    space.slices.lend = spaces.GPU(train_slice, duration=lambda *_: 0.05)  # no time to set up
    answers = [space.ask(folder.id) for _ in range(slices_module.TRIES)]
    assert [answer.refused for answer in answers] == [False, False, True] and "CPU" in answers[-1].said
    assert folder.db.state().phase == "stopped" and folder.has_checkpoint


def _longer(train: Lend, folder: str, _seconds: float) -> float:
    """Train for longer than was asked for, and be killed."""
    return train(folder, 60.0)


def test_only_its_owner_asks_and_stops(space: Space, prepared: Path) -> None:
    folder = space.beginning(prepared)
    assert space.ask(folder.id, "another word") == Answer(over=True)
    assert space.ask("0" * 26) == Answer(over=True)
    assert space.runs.stop(folder.id, TOKEN) == "It is stopped."
    assert folder.db.state().phase == "stopped" and not space.scheduler.is_busy(folder.id)
    assert space.ask(folder.id) == Answer(over=True)
    space.runs.resume(folder.id, TOKEN)
    assert space.until(folder.id, BETWEEN_SLICES).has_checkpoint


@pytest.mark.long
def test_it_goes_on_on_the_cpu(space: Space, images: Path) -> None:
    folder = space.until(space.start(config(images, steps=30)).id, BETWEEN_SLICES)
    assert "CPU" in space.slices.on_cpu(folder.id, TOKEN, NOBODY)
    assert space.until(folder.id, "finished", "failed").db.state().phase == "finished"
    stayed = space.start(replace(config(images, steps=6), device="cpu"))
    assert space.until(stayed.id, "finished", BETWEEN_SLICES).db.state().phase == "finished"


def test_a_public_page_bounds_what_is_lent(space: Space, prepared: Path) -> None:
    folder = space.beginning(prepared)
    write_cost(folder.path, SliceCost(set_up=1.0, lent=60 * 20.0))
    assert space.ask(folder.id) == Answer(over=True)
    assert "20 minutes" in folder.db.state().message and folder.db.state().phase == "stopped"


@pytest.mark.long
def test_the_runs_of_a_plan_get_their_slices(space: Space, images: Path) -> None:
    plan = space.start(SweepConfig(run=config(images, steps=12), seeds=(0, 1)))

    def go_on() -> None:
        space.scheduler.tick()
        assert not space.ask(plan.id).refused

    wait(lambda: space.folder(plan.id).db.state().phase == "finished", meanwhile=go_on)


def test_a_gpu_that_is_not_lent_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device: "a card")
    assert gpus() == () and choose("auto")[0].type == "cpu"
    with pytest.raises(ParameterError, match="ZeroGPU"):
        choose("cuda")
    with lent():
        assert gpus() and choose("auto")[0].type == "cuda"
