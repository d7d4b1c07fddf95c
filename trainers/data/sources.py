"""The meaning of a source: a folder or zip file, images dropped on the page, or a Hub dataset.

Images that somebody dropped on the page: kept below the disk cache, and named ``dropped/ID/NAME`` in settings.

The id is drawn at random, so that only who was told it can name them. They are used as a folder or a zip file is.

The meaning of a source: a folder or zip file of this machine, images dropped on the page, or a Hub dataset.

Nothing is opened before that.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from trainers import ASSETS
from trainers.data import access, settings
from trainers.errors import DataError

SHIPPED = {"groceries": ASSETS / "groceries" / "groceries.zip"}
"""Datasets that come with the program, by name: everybody may open them."""
PREFIX = "dropped"
_NAMED = re.compile(rf"{PREFIX}/([0-9a-f]{{32}})/([^/\\\0]{{1,200}})")


def home() -> Path | None:
    """Return the folder that holds them; None: nothing is kept on disk."""
    cache = settings.cache_folder()
    return None if cache is None else cache / PREFIX


def path_of(source: str) -> Path | None:
    """Return the folder or zip file that a source names, if it names dropped images, and note that it is used.

    Raises:
        DataError: they are no longer there.
    """
    named, folder = _NAMED.fullmatch(source.strip()), home()
    if named is None or named[2] in (".", ".."):
        return None
    path = None if folder is None else folder / named[1] / named[2]
    if path is None or path.is_symlink() or not path.exists():
        raise DataError(f"The images {named[2]!r} that were dropped here are no longer kept. Drop them again.")
    with suppress(OSError):
        os.utime(path.parent)
    return path


_HUB_ID = re.compile(r"[A-Za-z0-9][\w.\-]{0,95}(/[A-Za-z0-9][\w.\-]{0,95})?")
_HUB_PREFIX = re.compile(r"^(https?://(www\.)?(huggingface\.co|hf\.co)/datasets/|hf://datasets/|datasets/)")
_REVISION = re.compile(r"[A-Za-z0-9][\w./\-]{0,199}")


def resolve(source: str) -> Path | str:
    """Return the folder or zip file that a source names, as a path, or its Hub id, as text.

    Raises:
        DataError: a folder that does not exist or may not be opened here, or text that is neither.
    """
    text = source.strip()
    if (given := SHIPPED.get(text) or path_of(text)) is not None:
        return given
    hub, _ = divided(text)
    if is_path(text):
        return _folder(text)
    # datasets itself would prefer a folder of that name in the working directory, so the question is settled here;
    # a folder that may not be opened is not looked for
    here = [name for name in dict.fromkeys((text, hub)) if name and access.allowed(Path(name)) and _exists(Path(name))]
    if text in here and hub == text:
        return _folder(text)
    if not _HUB_ID.fullmatch(hub) or ".." in hub or "--" in hub or hub.endswith((".git", ".", "-")):
        raise DataError(
            f"A catalogue name, a folder or a Hub id such as uoft-cs/cifar100 was needed; got {source[:120]!r}."
        )
    if here:
        raise DataError(f"{hub!r} is also a folder here. Rename that folder, or give its full path to open it.")
    return hub


def divided(source: str) -> tuple[str, str | None]:
    """Divide a Hub id from the commit, branch or tag that is written behind it: ``owner/name@v1``; None: there is none.

    Folders with an @ in their names are written as a path: ``./a@b``.
    """
    hub = _HUB_PREFIX.sub("", source.strip()).rstrip("/")
    name, _, revision = hub.partition("@")
    return (name, revision or None) if not is_path(hub) else (hub, None)


def check_reference(subset: str | None, revision: str | None) -> None:
    """Refuse subset and revision names that could be read as a path.

    Raises:
        DataError: with the name.
    """
    if subset is not None and (len(subset) > 200 or ".." in subset or subset.startswith(("/", "~")) or "\\" in subset):
        raise DataError(
            f"A subset name was needed; got {subset[:120]!r}. The dataset's page on the Hub lists its subsets."
        )
    if revision is not None and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise DataError(f"A commit, branch or tag was needed; got {revision[:120]!r}.")


def is_path(text: str) -> bool:
    """Return whether a source is written as a path of this machine."""
    return text.startswith(("/", ".", "~")) or "\\" in text or bool(re.match(r"[A-Za-z]:", text))


def _folder(text: str) -> Path:
    path = access.allowed_path(text)  # before the disk is asked, so that a refusal does not tell which paths exist
    if not _exists(path):
        raise DataError(f"A folder or zip file of images was needed; {text[:200]!r} does not exist.")
    if path.is_dir():
        access.check_links(path)
    return path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long, or holds a zero byte, is no file's
        return False
