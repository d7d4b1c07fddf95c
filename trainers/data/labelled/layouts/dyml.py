"""DyML (animal, vehicle, product): lists of images with a coarse, a middle and a fine class, for training and as
queries and galleries of each level.

The names of the lists are from memory of the published code, so several spellings are read. A test of its own for each
level is not kept: queries and gallery are those of the finest level that has lists.
"""

from __future__ import annotations

import re

from trainers.data.base import GALLERY, QUERY
from trainers.data.labelled.layouts.base import TEST, TRAIN, Entry, Handed, Layout, Missing, Reading

LEVELS = ("fine", "middle", "coarse")
_LIST = re.compile(r"(?:test_?)?(train|query|gallery)(?:_?(fine|middle|coarse))?\.(?:txt|csv)")
_ROLES = {"query": QUERY, "gallery": GALLERY}


def _read(handed: Handed) -> Reading | None:
    lists = {name: met.groups() for name in handed.named(_LIST.pattern) if (met := _LIST.fullmatch(name))}
    of_level = [level for level in LEVELS if {("query", level), ("gallery", level)} <= {*lists.values()}]
    if not of_level or ("train", None) not in lists.values():
        return None
    entries, missing = {}, Missing()
    for name, (part, level) in lists.items():
        if part != "train" and level != of_level[0]:
            continue
        for words in handed.rows(name):
            cells = [cell.strip() for cell in " ".join(words).split(",")] if name.endswith(".csv") else words
            if len(cells) < 4 or not cells[-1].lstrip("-").isdigit():
                continue
            row = handed.image(cells[0])
            if row is None:
                missing.names.append(cells[0])
                continue
            coarse, middle, fine = cells[1:4]
            entries[row] = Entry(split=TRAIN if part == "train" else TEST, labels=(fine, middle, coarse),
                                 role=_ROLES.get(part))  # fmt: skip
    note = f"Queries and gallery are those of the {of_level[0]} level; the benchmark has others for each level."
    return Reading(levels=LEVELS, entries=entries, notes=(note, *missing.notes()))


DESCRIPTOR = Layout(
    name="dyml",
    title="DyML",
    sentence="Lists of images with a coarse, a middle and a fine class.",
    read=_read,
    order=16,
)
