"""The folder of Gradio's temporary files."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from trainers.errors import UserError, brief

_NAME = "GRADIO_TEMP_DIR"
"""Where Gradio is told of it; read when it is imported."""


def have_scratch() -> None:
    """Have Gradio use a folder of this user's: on a shared machine the usual one may be somebody else's.

    Raises:
        UserError: there is nowhere to write.
    """
    named = os.environ.get(_NAME)
    try:
        folder = Path(named) if named else Path(tempfile.gettempdir()) / "gradio"
        if not _usable(folder, own=not named):
            if named:
                raise UserError(
                    f"The folder {named} that {_NAME} names cannot be written. Name one of your own, or unset {_NAME}."
                )
            folder = Path(tempfile.mkdtemp(prefix="rankscope-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
    except OSError as error:
        raise UserError(
            f"There is no folder for temporary files: {brief(error)} Name one that can be written in TMPDIR."
        ) from error
    os.environ[_NAME] = str(folder)


def _usable(folder: Path, own: bool) -> bool:
    """Return whether folders can be made in one now; ``own``: and it is nobody else's to change."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if own and hasattr(os, "geteuid") and {folder.lstat().st_uid, folder.stat().st_uid} != {os.geteuid()}:
            return False
        Path(tempfile.mkdtemp(dir=folder)).rmdir()
        return True
    except OSError:  # of a folder above it, or a file of this name
        return False
