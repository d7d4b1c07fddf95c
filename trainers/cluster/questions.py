"""Asks a cluster, by a process of its own: Ray stays out of this program."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from trainers.cluster.address import VARIABLE, address
from trainers.errors import UserError
from trainers.training.executor import program_environment

SECONDS = 120.0
"""Most that an answer takes, of which Ray needs several to be loaded and to join, and a minute on a busy machine."""


def slots() -> int:
    """Ask the cluster how many runs can train at once.

    Raises:
        UserError: it cannot be asked.
    """
    return int(_asked(address()))


def has_run(at: str, run_id: str) -> bool:
    """Ask the cluster at an address whether it trains a run, or keeps what has become of it.

    Raises:
        UserError: it cannot be asked.
    """
    return bool(_asked(at, run_id))


def _asked(at: str, *words: str) -> Any:
    command = [sys.executable, "-m", "trainers.cluster.answers", *words]
    told = {**program_environment(), VARIABLE: at}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=told, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        raise UserError(f"It gave no answer in {SECONDS:g} seconds.") from error
    if done.returncode:
        raise UserError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "The cluster gave no answer.")
    return json.loads(done.stdout.splitlines()[-1])
