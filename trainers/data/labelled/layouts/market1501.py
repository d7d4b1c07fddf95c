"""Market-1501: flat folders ``bounding_box_train``, ``query`` and ``bounding_box_test`` of images called
``0002_c1s1_000451_03.jpg``: person 2 by camera 1. Person -1 is junk, which no result counts; person 0 are distractors,
which are in the gallery and searched for by nobody.
"""

from __future__ import annotations

import re

from trainers.cells import counted
from trainers.data.base import GALLERY, QUERY
from trainers.data.labelled.layouts.base import TEST, TRAIN, Entry, Handed, Layout, Reading

_FOLDERS = {"bounding_box_train": (TRAIN, None), "bounding_box_test": (TEST, GALLERY), "query": (TEST, QUERY)}
_NAME = re.compile(r"(-?\d+)_c(\d+)")
_JUNK = "-1"
_DISTRACTORS = ("0000", "0")
_NOBODY = "distractor"


def _read(handed: Handed) -> Reading | None:
    folders = {file.parts[-2].lower() for file in handed.files if len(file.parts) > 1}
    if not {"bounding_box_train", "bounding_box_test"} & folders:
        return None
    entries, junk, distractors = {}, 0, 0
    for row, file in enumerate(handed.files):
        folder = _FOLDERS.get(file.parts[-2].lower()) if len(file.parts) > 1 else None
        met = _NAME.match(file.parts[-1])
        if folder is None or met is None:
            continue
        person, camera = met.groups()
        if person == _JUNK:
            junk += 1
            continue
        if folder[1] == GALLERY and person in _DISTRACTORS:
            person = _NOBODY
            distractors += 1
        entries[row] = Entry(split=folder[0], labels=(person,), role=folder[1], camera=f"c{camera}")
    notes = [f"Left out, junk (-1): {counted(junk, 'image')}."] if junk else []
    if distractors:
        notes.append(f"In the gallery, distractors of no person (0000): {distractors:,}, one class without a query.")
    return Reading(levels=("person",), entries=entries, notes=tuple(notes), junk=junk)


DESCRIPTOR = Layout(
    name="market1501",
    title="Market-1501",
    sentence="bounding_box_train, query and bounding_box_test.",
    read=_read,
    order=14,
)
