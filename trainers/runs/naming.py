"""How a person names a run: by its id, the beginning of it, the name that was written on it, or ``last``."""

from __future__ import annotations

from pathlib import Path

from trainers.errors import RunError
from trainers.parameters import meant
from trainers.runs.checked import is_id
from trainers.runs.folder import list_runs
from trainers.runs.label import read_label

LAST = "last"
"""What stands for the newest run."""


def whole_id(root: Path, word: str) -> str:
    """Return the id of the run that a person means: by its id, the beginning of it, its name, or :data:`LAST`.

    Of several that begin alike the one that is part of no other counts, if it is the only one.

    Raises:
        RunError: none is meant, or several are.
    """
    if is_id(word):
        return word
    folders = list_runs(root)
    alone = [folder for folder in folders if not folder.part_of]
    if word == LAST and alone:
        return alone[0].id
    found = [folder for folder in folders if word and folder.id.startswith(word.upper())]
    found = found if len(found) == 1 else [folder for folder in found if not folder.part_of] or found
    named = {folder.id: read_label(folder.path).name for folder in folders} if not found else {}
    found = found or [folder for folder in folders if word and named[folder.id] == word]
    if len(found) == 1:
        return found[0].id
    if found:
        ids = ", ".join(folder.id for folder in found[:4])
        more = ", …" if len(found) > 4 else ""
        raise RunError(f"{word!r:.60} fits {len(found)} runs: {ids}{more}. Write more of it.")
    if not folders:
        raise RunError(f"There is no run {word!r:.60}: no runs are in {root}. --runs names another folder.")
    known = [LAST, *filter(None, named.values()), *(folder.id for folder in folders)]
    raise RunError(
        f"There is no run {word!r:.60} in {root}.{meant(word, known)} A run is named by its id, the beginning of it, "
        f"its name, or `{LAST}`; `python -m trainers list` shows them."
    )
