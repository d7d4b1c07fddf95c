"""What is noted of a dataset of the Hub of which a part was read, so that the part is found without a network."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from trainers.data import cache, settings
from trainers.data.labelled.opening import OpenedDataset
from trainers.data.labelled.table import Splits
from trainers.errors import DataError
from trainers.progress import Progress
from trainers.runs.files import write_bytes

_COMMIT = 40  # digits of a commit; a shorter revision is the name of a branch or a tag


def _about(name: str, subset: str | None) -> Path | None:
    root = settings.cache_folder()
    return None if root is None else root / "hub" / f"{cache.content_key((name, subset))}.json"


def note(opened: OpenedDataset, name: str, subset: str | None) -> None:
    """Note what a dataset of which a part was read is called, for times without a network."""
    path = _about(name, subset)
    if path is not None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, json.dumps([opened.key, opened.title, opened.licence, opened.revision]).encode())


def noted(name: str, subset: str | None, revision: str | None) -> OpenedDataset | None:
    """Return a dataset of which a part was read before; its decoded images may be here, its files are not read again.

    None: it was not read here, or at another commit.
    """
    path = _about(name, subset)
    try:
        key, title, licence, sha = map(str, json.loads(path.read_bytes() if path is not None else "[]"))
    except (OSError, ValueError, TypeError):
        return None
    if revision is not None and len(revision) == _COMMIT and sha != revision:
        return None

    def read(_progress: Progress) -> Splits:
        raise DataError(
            f"The Hub cannot be reached, and of {name!r} other images are on this machine than these settings ask for. "
            "Try again when there is a network, or take the settings that it was read with."
        )

    return OpenedDataset(key=key, title=title, licence=licence, revision=sha, read=read)
