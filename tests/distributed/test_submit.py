"""Scripts for Slurm: what they ask for, and what they do when bash runs them with a stand-in for srun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed.processes import ROOT, free_port
from tests.distributed.test_group import workers
from tests.tiny import write_images
from tests.waiting import wait
from trainers.cli.main import main
from trainers.distributed.slurm import Allocation, script
from trainers.runs import RunFolder, list_runs

SRUN = """#!/bin/bash
# two tasks on this machine, with what Slurm tells them
shift
export SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NODELIST=here SLURM_STEP_ID=0
trap 'kill -TERM $first $second' TERM
SLURM_PROCID=0 SLURM_LOCALID=0 "$@" & first=$!
SLURM_PROCID=1 SLURM_LOCALID=1 "$@" & second=$!
wait $first; wait $first; wait $second
"""
TINY = ("--losses", "contrastive", "--encoder", "conv4:width=8", "--image-size", "24", "--probe-size", "20")
BATCH = ("--classes-per-batch", "4", "--images-per-class", "4", "--device", "cpu")


def written(tmp_path: Path, *more: str, verb: str = "train", asked: tuple[str, ...] = ("--gpus", "2")) -> int:
    images = tmp_path / "images"
    told = [verb, "--data", str(images), *TINY, *BATCH, *more, "--runs", str(tmp_path / "runs")]
    return main(["submit", "--slurm", *asked, "--out", str(tmp_path / "job.sh"), *told])


def lines(tmp_path: Path) -> list[str]:
    return (tmp_path / "job.sh").read_text().splitlines()


def test_a_script_asks_for_what_was_asked_for(tmp_path: Path) -> None:
    write_images(tmp_path / "images")
    asked = ("--nodes", "2", "--gpus", "4", "--time", "1-12:00:00", "--partition", "gpu,big")
    assert written(tmp_path, asked=asked) == 0
    (folder,) = list_runs(tmp_path / "runs")
    assert folder.state().phase == "stopped" and "handed to Slurm" in folder.state().message
    for line in ("nodes=2", "ntasks-per-node=4", "gpus-per-node=4", "time=1-12:00:00", "partition=gpu,big"):
        assert f"#SBATCH --{line}" in lines(tmp_path)
    assert "#SBATCH --requeue" in lines(tmp_path) and f"resume {folder.id}" in (tmp_path / "job.sh").read_text()


def test_a_sweep_is_one_task_on_one_machine(tmp_path: Path) -> None:
    write_images(tmp_path / "images")
    assert written(tmp_path, verb="sweep") == 0
    assert "#SBATCH --ntasks-per-node=1" in lines(tmp_path) and "#SBATCH --gpus-per-node=2" in lines(tmp_path)


@pytest.mark.parametrize(
    ("asked", "verb", "more", "said"),
    [
        (("--time", "soon"), "train", (), "A time as HOURS:MINUTES:SECONDS"),
        (("--partition", "a b"), "train", (), "name of a partition"),
        (("--gpus", "0"), "train", (), "one GPU or more"),
        (("--gpus", "3"), "train", (), "got 16 images and 3 processes"),
        (("--nodes", "2"), "sweep", (), "Sweep is not shared by several processes"),
        (("--gpus", "2"), "train", ("--processes", "2"), "Leave --processes out"),
    ],
)
def test_what_cannot_be_is_refused_before_a_run_is_made(
    tmp_path: Path,
    asked: tuple[str, ...],
    verb: str,
    more: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert written(tmp_path, *more, verb=verb, asked=asked) == 1
    assert said in capsys.readouterr().err and list_runs(tmp_path / "runs") == []


@pytest.mark.parametrize(
    ("runs", "out", "said"),
    [
        ("runs", "nowhere/job.sh", "job.sh cannot be written: No such file or directory."),
        ("runs", ".", "cannot be written: Is a directory."),
        ('a"b', "job.sh", "without quotation marks"),
        ("a\nrm -r b", "job.sh", "line breaks"),
    ],
)
def test_what_cannot_be_written_leaves_no_run(
    tmp_path: Path, runs: str, out: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_images(tmp_path / "images")
    told = ["train", "--data", str(tmp_path / "images"), *TINY, *BATCH, "--runs", str(tmp_path / runs)]
    assert main(["submit", "--slurm", "--out", str(tmp_path / out), *told]) == 1
    assert said in capsys.readouterr().err and list_runs(tmp_path / runs) == []


def test_a_percent_sign_of_the_folder_is_one_for_sbatch(tmp_path: Path) -> None:
    assert f'"{tmp_path}/50%%j/RUN/slurm-%j.txt"' in script(tmp_path / "50%j" / "RUN", Allocation(), 1)


def cluster(tmp_path: Path) -> dict[str, str]:
    """The environment of a job, with commands of Slurm that note what they are told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", f'#!/bin/bash\necho "$@" >> {tmp_path}/scontrol.txt\n')):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    told = {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "2", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    return {**os.environ, **told, "PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.mark.long
def test_bash_trains_it_with_two_tasks_and_queues_it_again(tmp_path: Path) -> None:
    write_images(tmp_path / "images")
    assert written(tmp_path, "--steps", "100000") == 0
    (folder,) = list_runs(tmp_path / "runs")
    environment, job = cluster(tmp_path), ["bash", str(tmp_path / "job.sh")]
    for number, (end, phase) in enumerate((("time", "interrupted"), ("stop", "stopped")), start=1):
        before = folder.state().step
        with subprocess.Popen(job, cwd=ROOT, env=environment, start_new_session=True) as process:
            wait(lambda least=before: folder.state().phase == "running" and folder.state().step > least + 3)
            if end == "time":  # srun is told, and not the script
                os.kill(int(subprocess.check_output(["pgrep", "-P", str(process.pid)]).split()[0]), signal.SIGTERM)
            else:
                folder.send("stop")
            assert process.wait(60) == 0, number
        assert folder.state().phase == phase and not workers(folder)
        assert (tmp_path / "scontrol.txt").read_text() == "requeue 77\n"
    assert "2 train this run together" in (RunFolder.open(tmp_path / "runs", folder.id).path / "log.txt").read_text()
