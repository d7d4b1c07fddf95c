"""Runs handed to Hugging Face Jobs by the look-alike of the Hub: what is asked for, what is refused, how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.hub import TOKEN, environment, start_hub
from tests.jobs.shell import ROOT, Answer, Shell, opened_shell
from tests.tiny import write_images
from trainers.runs import RunFolder, list_runs

TINY = ("--data", "drawn", "--losses", "contrastive", "--encoder", "conv4:width=8", "--image-size", "24",
        "--probe-size", "20", "--max-images", "200", "--steps", "20", "--minutes", "none",
        "--device", "cpu")  # fmt: skip
ASKED = ("--flavor", "cpu-basic", "--timeout", "2h", "--yes")


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    server = start_hub()
    yield server
    server.close()


@pytest.fixture
def hub(served: Any) -> Any:
    for kept in (served.repos, served.jobs, served.log, served.faults):
        kept.clear()
    return served


@pytest.fixture(scope="module")
def shell(served: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with opened_shell(environment(served.url, tmp_path_factory.mktemp("home"))) as process:
        yield process


def submitted(shell: Shell, runs: Path, *asked: str, what: tuple[str, ...] = ("train", *TINY), **env: str) -> Answer:
    return shell.run("submit", "--jobs", *(asked or ASKED), *what, "--runs", str(runs), **env)


def files_of(hub: Any, run: str) -> dict[str, bytes]:
    repo = hub.repos["datasets", f"tester/rankscope-{run.lower()}"]
    return repo.commits[repo.sha("main")]


def test_the_job_has_what_was_asked_for_and_the_token_is_a_secret_alone(hub: Any, shell: Shell, tmp_path: Path) -> None:
    asked = ("--flavor", "a10g-largex4", "--timeout", "90m", "--image", "me/rankscope:1", "--yes", "--json")
    done = submitted(shell, tmp_path, *asked, what=("train", *TINY, "--processes", "4"))
    assert done.status == 0, done.err
    for said in ("4 x A10G with 96 GB", "limit: 1 h 30 min, at $5.00 an hour", "cost: $7.50 at most"):
        assert said in done.err
    ((job, spec),) = hub.jobs.items()
    assert (spec["flavor"], spec["timeoutSeconds"], spec["dockerImage"]) == ("a10g-largex4", 5400, "me/rankscope:1")
    assert (
        spec["secrets"] == {"HF_TOKEN": TOKEN} and spec["environment"] == {} and "pip install" not in spec["command"][2]
    )
    values = json.loads(done.out)
    assert (values["job"], values["most_usd"]) == (job, pytest.approx(7.5, abs=0.001))
    folder = RunFolder.open(tmp_path, values["id"])
    assert folder.state().phase == "stopped" and "handed to Hugging Face Jobs" in folder.state().message
    assert hub.repos["datasets", values["repository"]].private
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    everything = [*written, *files_of(hub, folder.id).values(), done.out.encode(), done.err.encode()]
    public = json.dumps({name: value for name, value in spec.items() if name != "secrets"}).encode()
    assert not [text for text in (*everything, public) if TOKEN.encode() in text]


def test_the_job_is_looked_at_and_cancelled(hub: Any, shell: Shell, tmp_path: Path) -> None:
    assert submitted(shell, tmp_path).status == 0
    (run,) = list_runs(tmp_path)
    again = submitted(shell, tmp_path, what=("resume", run.id))
    assert again.status == 1 and "is with job job0, which is running" in again.err and len(hub.jobs) == 1
    hub.jobs["job0"]["durations"] = {"runningSecs": 1800}
    hub.jobs["job0"]["status"]["message"] = "all \x1b]0;well"
    seen = shell.run("job", run.id, "--lines", "2", "--runs", str(tmp_path))
    assert "job job0: running; all  ]0;well; cpu-basic, limit 2 h; ran 30 min, about $0.01" in seen.out, seen.err
    assert "line 1" in seen.out and "line 2" not in seen.out and "\x1b" not in seen.out
    ended = shell.run("job", run.id, "--cancel", "--json", "--runs", str(tmp_path))
    assert json.loads(ended.out)["stage"] == "CANCELED" == hub.jobs["job0"]["status"]["stage"]


def test_a_sweep_is_handed_over_whole(hub: Any, shell: Shell, tmp_path: Path) -> None:
    done = submitted(shell, tmp_path, what=("sweep", *TINY, "--seeds", "0", "1"))
    assert done.status == 0, done.err
    (plan,) = list_runs(tmp_path)
    assert plan.id in hub.jobs["job0"]["command"][2] and f"runs/{plan.id}/manifest.json" in files_of(hub, plan.id)
    assert "handed to Hugging Face Jobs" in plan.state().message


def test_a_repository_with_another_run_of_this_machine_is_refused(hub: Any, shell: Shell, tmp_path: Path) -> None:
    assert submitted(shell, tmp_path).status == 0
    (run,) = list_runs(tmp_path)
    other = RunFolder.create(tmp_path, run.config)
    files = files_of(hub, run.id)
    for name in [name for name in files if name.startswith(f"runs/{run.id}/")]:
        files[name.replace(run.id, other.id)] = files[name].replace(run.id.encode(), other.id.encode())
    before = {path: path.read_bytes() for path in other.path.rglob("*") if path.is_file()}
    done = shell.run("job", run.id, "--fetch", "--runs", str(tmp_path))
    assert done.status == 1 and f"holds run {other.id}, which is here and is no part of {run.id}" in done.err
    assert before == {path: path.read_bytes() for path in other.path.rglob("*") if path.is_file()}


class Odd(dict[str, Any]):
    """Jobs that the Hub calls by what is no id."""

    def __setitem__(self, key: str, job: Any) -> None:
        super().__setitem__(key, job | {"id": "job/../0"})


def test_an_answer_that_is_no_job_is_said_and_leaves_nothing(
    hub: Any, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "jobs", Odd())
    done = submitted(shell, tmp_path)
    assert done.status == 1 and "End it among your jobs on the Hub" in done.err and "Traceback" not in done.err
    assert len(hub.jobs) == 1 and list_runs(tmp_path) == [] and hub.repos == {}


START = "POST /api/jobs/tester$"
REFUSED = {
    "unknown token": (dict(match="GET /api/jobs/hardware", status=401), "The Hub does not know this token"),
    "no payment": (dict(match=START, status=402), "asks for payment before it starts jobs"),
    "no right": (dict(match=START, status=403), "Make a token that may start jobs"),
    "too often": (dict(match=START, status=429, headers={"Retry-After": "77"}), "asked too often from here. Try again"),
    "fault": (dict(match=START, status=503), "has a fault (its answer was 503)"),
    "not understood": (dict(match=START, status=400), "The job was refused or not answered by the Hub"),
    "no upload": (dict(match="POST .*/commit/", status=403), "This token may not write to"),
    "no list": (dict(match="GET /api/jobs/hardware", status=500), "has a fault (its answer was 500)"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_the_hub_refuses_is_a_sentence_and_leaves_nothing(
    why: str, hub: Any, shell: Shell, tmp_path: Path
) -> None:
    fault, said = REFUSED[why]
    hub.fault(**fault, times=-1)
    done = submitted(shell, tmp_path)
    assert done.status == 1 and said in done.err and "Traceback" not in done.err and TOKEN not in done.err, done.err
    assert list_runs(tmp_path) == [] and hub.jobs == {} and hub.repos == {}


def test_a_repository_that_cannot_be_deleted_is_named(hub: Any, shell: Shell, tmp_path: Path) -> None:
    hub.fault(match=START, status=402, times=-1)
    hub.fault(match="DELETE", status=403, times=-1)
    done = submitted(shell, tmp_path)
    ((_, name),) = hub.repos
    assert (
        done.status == 1 and f"No job was started. Delete {name!r} on the Hub" in done.err and not list_runs(tmp_path)
    )


@pytest.mark.parametrize(
    ("asked", "more", "said"),
    [
        (("--timeout", "2h", "--yes"), (), "A job needs --flavor"),
        (("--flavor", "cpu-basic", "--yes"), (), "A job needs --timeout"),
        (("--flavor", "cpu-basics", *ASKED[2:]), (), "no hardware called 'cpu-basics'. Did you mean 'cpu-basic'?"),
        (("--flavor", "cpu-gift", *ASKED[2:]), (), "no hardware called 'cpu-gift'"),  # its price is below zero
        (("--flavor", "cpu-basic", "--timeout", "soon"), (), "A time such as 90m or 2h"),
        (("--flavor", "cpu-basic", "--timeout", "60s"), (), "needs 10 minutes or more"),
        ((*ASKED, "--nodes", "2"), (), "--nodes is a flag of --slurm"),
        ((*ASKED, "--image", "a b"), (), "name of an image"),
        (ASKED, ("--device", "cuda"), "cpu-basic has no GPU"),
        (ASKED, ("--processes", "2"), "Each process needs a GPU, and cpu-basic has 0"),
        (ASKED, ("--chunk", "1"), "A chunk needs two images"),
        (ASKED, ("--start", "01M87H84758CGA5SZDCG5BNCGP"), "no other run to start from"),
        (ASKED[:-1], (), "Nobody can be asked here"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    asked: tuple[str, ...], more: tuple[str, ...], said: str, hub: Any, shell: Shell, tmp_path: Path
) -> None:
    done = submitted(shell, tmp_path, *asked, what=("train", *TINY, *more))
    assert done.status == 1 and said in done.err, done
    assert list_runs(tmp_path) == [] and hub.repos == {}


def test_images_of_this_machine_are_refused_and_the_environment_is_as_before(
    hub: Any, shell: Shell, tmp_path: Path
) -> None:
    images = write_images(tmp_path / "images", train=4, test=3, each=3)
    for _ in range(2):
        done = submitted(shell, tmp_path / "runs", what=("train", *TINY, "--data", str(images)))
        assert done.status == 1 and "A job cannot read files and folders of this machine" in done.err
    hidden = submitted(shell, tmp_path / "runs", HF_TOKEN="")
    assert hidden.status == 1 and "hf auth login" in hidden.err and hub.log == []


@pytest.mark.parametrize(("answer", "started"), [("y", 1), ("n", 0)])
def test_somebody_at_a_terminal_is_asked(answer: str, started: int, hub: Any, tmp_path: Path) -> None:
    typed, terminal = os.openpty()
    words = ["submit", "--jobs", *ASKED[:-1], "train", *TINY, "--runs", str(tmp_path / "runs")]
    os.write(typed, f"{answer}\n".encode())
    done = subprocess.run(
        [sys.executable, "-m", "trainers", *words], cwd=ROOT, env=environment(hub.url, tmp_path), stdin=terminal,
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    os.close(typed)
    os.close(terminal)
    assert "$0.02 at most" in done.stderr and "Start the job? [y/N]" in done.stderr
    assert (done.returncode, len(hub.jobs), len(list_runs(tmp_path / "runs"))) == (1 - started, started, started)
