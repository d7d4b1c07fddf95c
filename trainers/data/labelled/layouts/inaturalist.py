"""iNaturalist 2018: ``train2018.json`` and ``val2018.json`` with the species of every image, ``categories.json`` with
the levels above them; and the lists ``Inaturalist_train_set1.txt`` and ``Inaturalist_test_set1.txt``, also in
``Inat_dataset_splits/``, that divide the species.

The rank losses' papers train on the species of the one list and test on those of the other (Ramzi et al. 2023).
Without these lists the loader divides the species of all images at random.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trainers.data.labelled.layouts.base import TEST, TRAIN, BenchmarkLayout, Handed, ImageRow, Missing, Reading
from trainers.errors import DataError

_ANNOTATIONS = r"(train|val)\d{4}\.json"
_CATEGORIES = "categories.json"
_SETS = {r"inat(?:uralist)?_train_set\d*\.txt": TRAIN, r"inat(?:uralist)?_test_set\d*\.txt": TEST}
_ABOVE = ("genus", "family", "order", "class", "phylum", "kingdom")
_COARSE = "supercategory"


def _read(handed: Handed) -> Reading | None:
    lists = handed.named(_ANNOTATIONS)
    sets = {name: split for pattern, split in _SETS.items() for name in handed.named(pattern)}
    if not lists and not sets:
        return None
    tables = [_json(handed, name) for name in lists]
    listed = _json(handed, _CATEGORIES) if handed.named(_CATEGORIES) else []
    levels, paths = _species([*(each for table in tables for each in table.get("categories", ())), *listed])
    species = {row: str(category) for table in tables for row, category in _images(handed, table)}
    missing = Missing()
    splits = dict.fromkeys(species, "all") if not sets else {}
    for name, split in sets.items():
        for words in handed.rows(name):
            row = handed.image(words[0])
            if row is None:
                missing.names.append(words[0])
                continue
            splits[row] = split
            species.setdefault(row, words[0].split("/")[-2] if "/" in words[0] else "")
    more = (_COARSE,) if _COARSE not in levels else ()
    entries = {row: ImageRow(split=split, labels=_labels(handed, row, species[row], paths, levels))
               for row, split in splits.items() if species.get(row)}  # fmt: skip
    notes = [] if sets else [
        "The lists Inaturalist_train_set1.txt and Inaturalist_test_set1.txt, by which the papers divide the species, "
        "are not here."
    ]  # fmt: skip
    if more:
        notes.append(f"For two levels, as in iNaturalist-base, choose the labels species and {_COARSE}.")
    return Reading(levels=levels, entries=entries, notes=(*notes, *missing.notes()), more=more)


def _species(categories: list[Mapping[str, Any]]) -> tuple[tuple[str, ...], dict[str, tuple[str | None, ...]]]:
    """Return the levels, finest first, and their names for every species by its number; of seven the super-category
    behind them.
    """
    full = {str(each["id"]): each for each in categories if all(each.get(level) for level in _ABOVE)}
    if full:
        return ("species", *_ABOVE), {
            key: (str(each.get("name") or key), *(str(each[level]) for level in _ABOVE), each.get(_COARSE))
            for key, each in full.items()
        }
    coarse = {str(each["id"]): each for each in categories if each.get(_COARSE)}
    if coarse:
        return ("species", _COARSE), {k: (str(each.get("name") or k), str(each[_COARSE])) for k, each in coarse.items()}
    return ("species", _COARSE), {}


def _labels(
    handed: Handed, row: int, species: str, paths: Mapping[str, tuple[str | None, ...]], levels: tuple[str, ...]
) -> tuple[str | None, ...]:
    if species in paths:
        return paths[species]
    parts = handed.files[row].names  # .../Plantae/7477/IMAGE
    above = parts[-3] if len(parts) > 2 else "unknown"
    return (species, *[above] * (len(levels) - (_COARSE in levels)))


def _images(handed: Handed, table: Mapping[str, Any]) -> list[tuple[int, Any]]:
    try:
        names = {each["id"]: str(each["file_name"]) for each in table["images"]}
        pairs = [(handed.image(names[each["image_id"]]), each["category_id"]) for each in table["annotations"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"The lists of iNaturalist lack {error}. Fetch them again.") from error
    return [(row, category) for row, category in pairs if row is not None]


def _json(handed: Handed, name: str) -> Any:
    try:
        return json.loads(handed.data(name))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} is no JSON that can be read: {error}. Fetch it again.") from error


DESCRIPTOR = BenchmarkLayout(
    name="inaturalist",
    title="iNaturalist 2018",
    sentence="train2018.json, val2018.json and categories.json, or the lists of the papers.",
    read=_read,
    order=15,
)
