"""DyML (animal, vehicle, product): ``train/label.csv`` with the fine, middle and coarse class of every image of
``train/imgs/``, and lists of the test.

As the published code reads it (Sun et al. 2021; Ramzi et al. 2023): DyML-Product is tested on ``mini-bmk_all_in_one/``
with the three classes of every image; the others on ``bmk_fine/``, ``bmk_middle/`` and ``bmk_coarse/``, each with
queries and a gallery of its own of which one class is known. No tree holds these together, so each is a split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainers.data.base import GALLERY, QUERY
from trainers.data.labelled.layouts.base import TEST, TRAIN, BenchmarkLayout, Handed, ImageRow, Missing, Reading

LEVELS = ("fine", "middle", "coarse")
_TRAIN = r"train/label\.csv"
_WHOLE = r"mini-bmk_all_in_one/label\.csv"
_OF_LEVEL = re.compile(r"(?:.*/)?(bmk_(fine|middle|coarse))/(query|gallery)\.csv")
_ROLES = {"query": QUERY, "gallery": GALLERY}


def _read(handed: Handed) -> Reading | None:
    train, whole = handed.ending(_TRAIN), handed.ending(_WHOLE)
    of_level = [met for path in handed.ending(r"bmk_\w+/\w+\.csv") if (met := _OF_LEVEL.fullmatch(path))]
    if not train or not (whole or of_level):
        return None
    entries: dict[int, ImageRow] = {}
    missing = Missing()
    for path, split in ((train[0], TRAIN), *((path, TEST) for path in whole[:1])):
        for row, labels in _images(handed, path, "imgs/", missing):
            if len(labels) == len(LEVELS):
                entries[row] = ImageRow(split=split, labels=_of(split, labels))
    for met in of_level:
        split, level, role = met.groups()
        for row, labels in _images(handed, met[0], f"{role}/", missing):
            known = [_of(TEST, labels)[0] if each == level else None for each in LEVELS]
            entries[row] = ImageRow(split=split, labels=tuple(known), role=_ROLES[role])
    notes = missing.notes()
    if of_level:
        notes = ("Each level has a test of its own, with no other classes: choose one with the labels of its level, "
                 "such as the test split bmk_fine with the label column fine.", *notes)  # fmt: skip
    return Reading(levels=LEVELS, entries=entries, notes=notes)


def _images(handed: Handed, table: str, folder: str, missing: Missing) -> Iterator[tuple[int, list[str]]]:
    """Yield the images of a list with their labels; its first line names the columns."""
    home = table.rpartition("/")[0].rsplit("/", 1)[-1]
    for words in list(handed.rows(table))[1:]:
        name, *labels = (cell.strip() for cell in " ".join(words).split(","))
        path = f"{home}/{folder}{name}"
        row = handed.image(path, end=path)
        if row is None:
            missing.names.append(path)
        elif labels and all(labels):
            yield row, labels


def _of(split: str, labels: list[str]) -> tuple[str, ...]:
    """Name classes; those of the test are numbered for themselves."""
    return tuple(labels if split == TRAIN else (f"test {label}" for label in labels))


DESCRIPTOR = BenchmarkLayout(
    name="dyml",
    title="DyML",
    sentence="train/label.csv with the fine, middle and coarse class of every image.",
    read=_read,
    order=16,
)
