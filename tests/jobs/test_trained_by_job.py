"""The command of a job, run by bash in an empty folder: it trains, is cut, goes on, and its run comes back."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.jobs.hub import environment, start_hub
from tests.jobs.shell import Shell, opened_shell
from tests.waiting import wait
from trainers.jobs.remote import LEAVE_SECONDS
from trainers.jobs.script import END
from trainers.runs import RunFolder, list_runs

TINY = ("--data", "drawn", "--losses", "contrastive", "--encoder", "conv4:width=8", "--image-size", "24",
        "--probe-size", "20", "--max-images", "200", "--minutes", "none", "--snapshot-steps", "20",
        "--device", "cpu", "--threads", "1")  # fmt: skip
ASKED = ("--flavor", "cpu-basic", "--timeout", "10m", "--copy-every", "1s", "--yes")
pytestmark = pytest.mark.long


@pytest.fixture
def hub() -> Iterator[Any]:
    server = start_hub()
    yield server
    server.close()


@pytest.fixture
def shell(hub: Any, tmp_path: Path) -> Iterator[Shell]:
    with opened_shell(environment(hub.url, tmp_path / "home")) as process:
        yield process


@contextlib.contextmanager
def job(hub: Any, number: int, place: Path, seconds: float = 600) -> Iterator[subprocess.Popen[bytes]]:
    """A machine with what was asked for: its command, its secrets, an empty folder; its limit is so far away.

    What the program needs is installed here already, and pip may ask nobody.
    """
    spec = hub.jobs[f"job{number}"]
    place.mkdir(parents=True)
    told = environment(hub.url, place / "home", "") | spec["secrets"] | spec["environment"]
    told |= {"HOME": str(place), "PIP_NO_INDEX": "1", END: str(time.time() + seconds)}
    told.pop("PYTHONPATH", None)
    with (place / "log.txt").open("wb") as log:
        process = subprocess.Popen(spec["command"], cwd=place, env=told, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            spec["status"] = {"stage": "COMPLETED" if process.returncode == 0 else "ERROR", "message": None}


def said(place: Path) -> str:
    return (place / "log.txt").read_text()


def numbers(folder: RunFolder) -> dict[tuple[int, int, str], float]:
    """What a run wrote of its arms, but seconds and means of the loss: of how many steps those are depends on time."""
    left_out = ("loss", "second", "time", "per_s", "memory")
    scalars = [scalar for scalar in folder.scalars() if not any(word in scalar.key for word in left_out)]
    return {(scalar.arm, scalar.step, scalar.key): scalar.value for scalar in scalars}


def check_same(here: RunFolder, there: RunFolder) -> None:
    assert numbers(here) == numbers(there) and len(numbers(here)) > 20
    assert [row[:2] for row in here.snapshots()] == [row[:2] for row in there.snapshots()]
    for kind in ("test_queries.safetensors", "emb"):
        paths = sorted((here.path / kind).glob("*")) or [here.path / kind]
        same = [path.read_bytes() == (there.path / path.relative_to(here.path)).read_bytes() for path in paths]
        assert same and all(same), kind
    tensors = [folder.read_checkpoint()[0] for folder in (here, there)]
    assert tensors[0].keys() == tensors[1].keys() and tensors[0]
    assert all(np.array_equal(value, tensors[1][name]) for name, value in tensors[0].items())


def trained_there_and_here(hub: Any, shell: Shell, place: Path, *words: str, step: int) -> str:
    """Have a job train what the words say, fetch it into ``runs``, and train it in ``local``; returns its id."""
    assert shell.run("submit", "--jobs", *ASKED, *words, "--runs", str(place / "runs")).status == 0
    (run,) = list_runs(place / "runs")
    with job(hub, 0, place / "machine") as process:
        assert process.wait(250) == 0, said(place / "machine")
    done = shell.run("job", run.id, "--fetch", "--runs", str(place / "runs"))
    assert f"finished, step {step}" in done.out, done.err
    assert shell.run(*words, "--runs", str(place / "local")).status == 0
    return run.id


def test_a_job_trains_to_the_end_and_its_run_comes_back_to_the_bit(hub: Any, shell: Shell, tmp_path: Path) -> None:
    run = trained_there_and_here(hub, shell, tmp_path, "train", *TINY, "--steps", "40", step=40)
    (local,) = list_runs(tmp_path / "local")
    check_same(RunFolder.open(tmp_path / "runs", run), local)
    again = shell.run("submit", "--jobs", *ASKED, "resume", run, "--runs", str(tmp_path / "runs"))
    assert again.status == 1 and "is finished; there is nothing to resume" in again.err and len(hub.jobs) == 1


def test_a_sweep_is_trained_by_a_job_and_comes_back_whole(hub: Any, shell: Shell, tmp_path: Path) -> None:
    words = ("sweep", *TINY, "--steps", "20", "--seeds", "0", "1")
    plan = trained_there_and_here(hub, shell, tmp_path, *words, step=2)
    there, here = (
        {run.config.single.seed: run for run in list_runs(tmp_path / name) if run.part_of} for name in ("runs", "local")
    )
    assert there.keys() == here.keys() == {0, 1}
    for seed, run in there.items():
        assert run.part_of == plan
        check_same(run, here[seed])


def paused(place: Path, run: str, least: int) -> RunFolder:
    """The run on the machine of a job, stopped after so many steps, so that it is not at its end too early."""
    root = place / "job" / "runs"
    wait(lambda: (root / run / "config.json").exists() and RunFolder.open(root, run).state().step > least, 240)
    folder = RunFolder.open(root, run)
    folder.send("pause")
    wait(lambda: folder.state().phase == "paused")
    return folder


@pytest.mark.timeout(900)
def test_a_job_that_is_cut_goes_on_with_the_next_one(hub: Any, shell: Shell, tmp_path: Path) -> None:
    """First it is told to end, then its time is up; what comes of three jobs is what comes of none."""
    words, runs = ("train", *TINY, "--steps", "120"), ("--runs", str(tmp_path / "runs"))
    asked = ("submit", "--jobs", *ASKED, "--image", "me/rankscope:1")
    assert shell.run(*asked, *words, *runs).status == 0
    (run,) = list_runs(tmp_path / "runs")
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    began = time.monotonic()
    with job(hub, 0, one) as process:
        there = paused(one, run.id, least=20)
        needed = time.monotonic() - began
        wait(lambda: "Copied to" in said(one))
        seen = shell.run("job", run.id, "--fetch", *runs)
        assert seen.status == 0 and (tmp_path / "runs" / run.id / "probe.safetensors").is_file(), seen.err
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0, said(one)
    cut = there.state().step
    assert there.state().phase == "interrupted" and f"interrupted, step {cut}." in said(one)
    shutil.rmtree(one / "job")
    assert shell.run(*asked, "resume", run.id, *runs).status == 0
    assert RunFolder.open(tmp_path / "runs", run.id).state().step == cut, "fetched before it is handed over again"
    limit = LEAVE_SECONDS + 2 * needed + 10  # late enough that it has trained by then, however busy this machine is
    with job(hub, 1, two, seconds=limit) as process:
        there = paused(two, run.id, least=cut + 5)
        assert process.wait(limit) == 0, said(two)
    assert "time is almost up" in said(two) and there.state().phase == "interrupted"
    assert shell.run(*asked, "resume", run.id, *runs).status == 0
    with job(hub, 2, three) as process:
        assert process.wait(250) == 0, said(three)
    done = shell.run("job", run.id, "--fetch", *runs)
    assert "finished, step 120" in done.out, done.err
    assert shell.run(*words, "--runs", str(tmp_path / "local")).status == 0
    check_same(RunFolder.open(tmp_path / "runs", run.id), list_runs(tmp_path / "local")[0])
