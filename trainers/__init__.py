"""Headless metric learning: data, encoders, losses, metrics, the training loop and the run folder."""

import os
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"
"""Files that ship with the program."""
HOME = Path(__file__).resolve().parents[1 + __name__.count(".")]
"""Where Python finds this program."""
PAGE = f"{__name__.removesuffix('trainers')}app"
"""Name of the module that serves the page, a program of its own: nothing here imports it."""


def search_path() -> str:
    """Return the PYTHONPATH with which a child process finds this program, wherever it was started."""
    return os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH", "")]))
