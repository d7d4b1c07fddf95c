"""What a job is told to do: fetch the program at one commit, install what it needs, and train the run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from trainers.jobs.program import PROGRAM

IMAGE = "python:3.12"
"""Image of a job that installs what the program needs."""
END = "RANKSCOPE_JOB_END"
"""Environment variable: when the job's time is up, in seconds since the epoch; set by the script itself."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What the script of a job needs to know.

    Attributes:
        run: id of the run.
        repository: ``owner/name`` of the dataset repository with the run and the program.
        revision: commit of the repository at which the program is taken.
        seconds: limit of the job.
        every: least seconds between two copies of the run.
        installs: whether the image lacks what the program needs.
    """

    run: str
    repository: str
    revision: str
    seconds: int
    every: int
    installs: bool


def command(task: Task) -> list[str]:
    """Return the words of the job's command. None is a token: the Hub's client reads the secret HF_TOKEN.

    The trainer replaces bash, so that it is told when the job is ended.
    """
    install = "python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore"
    fetch = ["hf", "download", task.repository, PROGRAM, "--repo-type", "dataset", "--revision", task.revision]
    train = ["python", "-m", "trainers.jobs.remote", task.repository, task.run, "--every", str(task.every)]
    lines = [
        "set -euo pipefail",
        f'export {END}="${{{END}:-$(($(date +%s) + {task.seconds}))}}"',
        *([f"{install} huggingface_hub"] if task.installs else []),
        f"{shlex.join(fetch)} --local-dir job > /dev/null",
        f"tar -xzf job/{PROGRAM} -C job",
        "cd job",
        *([f"{install} -r requirements.txt"] if task.installs else []),
        f"exec {shlex.join(train)}",
    ]
    return ["bash", "-c", "\n".join(lines)]
