"""The encoders of a run as safetensors files."""

from __future__ import annotations

import re
import tempfile
import zipfile
from pathlib import Path

from explorer.server.run import Run
from trainers.kinds import kind_of
from trainers.runs.regular import is_there
from trainers.training.encoder_file import RunEncoders


def has_encoders(run: Run) -> bool:
    """Return whether a run's kind trains encoders; of a recording, whether its weights are there too."""
    return bool(run.config.encoder_prefix) and (not run.recorded or is_there(run.folder.path / "ckpt"))


def write_encoders(run: Run, path: Path) -> None:
    """Write a zip with one file per arm, ``0_moco_v2.safetensors``, see :meth:`RunEncoders.write`.

    Raises:
        UserError: the run has no encoders, or no checkpoint yet.
    """
    encoders = RunEncoders(run.folder)
    with tempfile.TemporaryDirectory() as spare, zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for arm, about in enumerate(kind_of(run.config).arms(run.config)):
            name = re.sub(r"\W+", "_", about.name, flags=re.ASCII)[:40]  # a damaged run may name anything
            file = Path(spare) / f"{arm}_{name}.safetensors"
            encoders.write(arm, file)
            archive.write(file, file.name)
            file.unlink()
