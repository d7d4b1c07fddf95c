"""Removes a run folder in any condition."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

from trainers.errors import RunError
from trainers.runs.damage import absent
from trainers.runs.database import can_write

ATTEMPTS = 3


def remove(path: Path) -> None:
    """Remove what has the name ``path``: a folder with all that is in it; of a link the link alone, never its target.

    Raises:
        RunError: it is not there, lies in a read-only place, or something in it cannot be removed.
    """
    try:
        mode = path.lstat().st_mode
        if not can_write(path.parent):
            raise RunError(f"The run {path.name} is in a read-only folder and cannot be deleted there.")
        if stat.S_ISDIR(mode):
            _open_up(path)
            _empty(path)
        else:
            path.unlink()
    except FileNotFoundError as error:
        raise absent(path.name) from error
    except OSError as error:
        raise RunError(f"The run {path.name} cannot be deleted: {error.strerror}. Delete it by hand.") from error


def _empty(path: Path) -> None:
    for _ in range(ATTEMPTS):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:  # a database that was closed meanwhile takes the files beside it with it
            if not path.exists():
                return
        else:
            return
    shutil.rmtree(path)


def _open_up(path: Path) -> None:
    """Make folders accessible to their owner, since others cannot be emptied."""
    with contextlib.suppress(OSError):
        path.chmod(0o700)
    for folder, names, _ in os.walk(path):
        for name in (os.path.join(folder, inner) for inner in names):  # noqa: PTH118  (names may be no text)
            if not os.path.islink(name) and not os.access(name, os.R_OK | os.W_OK | os.X_OK):  # noqa: PTH114
                with contextlib.suppress(OSError):
                    os.chmod(name, 0o700)  # noqa: PTH101
