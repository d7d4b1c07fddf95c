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
    """Have Gradio use a folder of this process, removed at its end, unless the environment names one.

    Raises:
        UserError: it cannot be written.
    """
    given = os.environ.get(_NAME)
    try:
        if given:
            Path(given).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=given).close()
            return
        folder = tempfile.mkdtemp(prefix="rankscope-")
    except OSError as error:
        raise UserError(
            f"Gradio needs a folder for temporary files ({brief(error)}). Name one that can be written in "
            f"{_NAME if given else 'TMPDIR'}."
        ) from error
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[_NAME] = folder
