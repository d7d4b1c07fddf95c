"""The models of a run as safetensors files, whole and without their heads."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from explorer.server.run import Run
from trainers.kinds import kind_of
from trainers.publishing.card import write_export
from trainers.retrieval.encoders import embeds
from trainers.runs.regular import is_there
from trainers.training.encoder_file import RunEncoders


def has_encoders(run: Run) -> bool:
    """Return whether a run's kind trains encoders; of a recording, whether its weights are there too."""
    return bool(run.config.encoder_prefix) and (not run.recorded or is_there(run.folder.path / "ckpt"))


def has_models(run: Run) -> bool:
    """Return whether a run's arms embed images; of a recording, whether its weights are there too."""
    return embeds(run.config) and (not run.recorded or is_there(run.folder.path / "ckpt"))


def write_encoders(run: Run, path: Path) -> None:
    """Write a zip with one file per arm, ``0_moco_v2.safetensors``, see :meth:`RunEncoders.write`.

    Raises:
        UserError: the run has no encoders, or no checkpoint yet.
    """
    encoders = RunEncoders(run.folder)
    _write(run, path, encoders.write)


def write_models(run: Run, path: Path) -> None:
    """Write a zip with the whole model of each arm, ``0_smooth_ap.safetensors``, and its card.

    Raises:
        UserError: the run has no checkpoint yet.
    """
    _write(run, path, lambda arm, file: write_export(run.folder, arm, file))


def _write(run: Run, path: Path, write: Callable[[int, Path], object]) -> None:
    """Write a zip with what ``write`` makes of each arm: the file that it is asked for, and others beside it."""
    with tempfile.TemporaryDirectory() as spare, zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for arm, about in enumerate(kind_of(run.config).arms(run.config)):
            name = re.sub(r"\W+", "_", about.name, flags=re.ASCII)[:40]  # a damaged run may name anything
            write(arm, Path(spare) / f"{arm}_{name}.safetensors")
            for file in sorted(Path(spare).iterdir(), reverse=True):
                archive.write(file, file.name)
                file.unlink()
