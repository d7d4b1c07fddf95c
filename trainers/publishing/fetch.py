"""The files of a comparison on the Hub: what it holds is asked for first, and nothing too large is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from trainers.data.hf_logging import LOOK_SECONDS, online, within
from trainers.data.labelled.repository import Repository, fetched, repository
from trainers.data.sources import check_reference, divided
from trainers.errors import DataError
from trainers.progress import Progress
from trainers.publishing.reopened import BOUNDS, MEGABYTE, NEEDED
from trainers.publishing.upload import REPOSITORY

_FETCH_SECONDS = 120.0


def fetch(source: str, progress: Progress) -> tuple[Mapping[str, Path], Repository]:
    """Fetch what is needed of a comparison, ``owner/name`` or ``owner/name@revision``; files by name.

    Args:
        progress: called while the Hub is waited for; what it raises ends the wait.

    Raises:
        DataError: it is no comparison, too large, missing, private, gated or throttled; or the Hub cannot be reached.
    """
    name, revision = divided(source)
    if REPOSITORY.fullmatch(name) is None:
        raise DataError(f"A dataset of the Hub as owner/name was needed; got {source[:120]!r}.")
    check_reference(None, revision)
    if not online():
        raise DataError("The Hugging Face Hub cannot be reached. Check the network, then open the comparison again.")
    known = within(LOOK_SECONDS, name, lambda: repository(name, revision), progress)
    if missing := [file for file in NEEDED if file not in known.files]:
        raise DataError(f"{name!r} is no comparison of this program: it has no {missing[0]}. Its card names the id.")
    files = {}
    for done, (file, most) in enumerate(BOUNDS.items()):
        size = known.files.get(file, 0)
        if size > most:
            raise DataError(f"{file} of {name!r} has {size / MEGABYTE:,.0f} MB; {most // MEGABYTE} MB can be opened.")
        if file in known.files:
            progress(f"Fetching {file} of {name}", 0.1 + 0.2 * done)
            files[file] = within(_FETCH_SECONDS, name, partial(fetched, known, file), progress)
    return files, known
