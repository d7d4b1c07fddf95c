"""Runs commands in folders outside the checkout, each in a process of its own: what it uses is used nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.examples import ROOT, examples

NAME = "my_loss.py"
_SMALL = (
    "--data drawn --steps 3 --image-size 16 --max-images 240 --classes-per-batch 4 --images-per-class 3 --dim 8 "
    "--probe-size 24 --encoder conv4:width=8 --threads 1"
)
SMALL = _SMALL.split()


def write_example(place: Path) -> Path:
    """Write the loss of the documentation in a folder."""
    file = place / NAME
    file.write_text(examples()[NAME], encoding="utf-8")
    return file


def python(place: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a new process does in a folder, with the program on its path."""
    told = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, *command], cwd=place, env=told, capture_output=True, text=True, timeout=240, check=False
    )


def trainers(place: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a command does."""
    return python(place, "-m", "trainers", *words, **environment)
