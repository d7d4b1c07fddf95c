"""DeepFashion In-Shop: ``list_eval_partition.txt`` with the item of every image, and whether it is of train, query or
gallery; the category is in its path, ``img/WOMEN/Dresses/id_00000002/02_1_front.jpg``.
"""

from __future__ import annotations

from trainers.data.labelled.layouts.base import TEST, TRAIN, Entry, Handed, Layout, Missing, Reading
from trainers.data.labelled.splits import role_of

_LIST = "list_eval_partition.txt"
_HEADER = ["image_name", "item_id", "evaluation_status"]


def _read(handed: Handed) -> Reading | None:
    if not handed.named(_LIST):
        return None
    rows = [words for words in handed.rows(_LIST) if len(words) >= len(_HEADER) and words[:3] != _HEADER]
    deep = all(len(words[0].split("/")) >= 5 for words in rows)  # img/WOMEN/Dresses/ITEM/IMAGE
    entries, missing = {}, Missing()
    for *path, item, status in rows:
        name = " ".join(path)
        # every item has images called 01_1_front.jpg; those of high resolution lie in another folder than img
        row, role = handed.image(name, end=name.split("/", 1)[-1]), role_of(status)
        if row is None:
            missing.names.append(name)
            continue
        above = tuple(name.split("/")[-3:-5:-1]) if deep else ()
        entries[row] = Entry(split=TEST if role else TRAIN, labels=(item, *above), role=role)
    levels = ("item", "category", "section")[: 3 if deep else 1]
    return Reading(levels=levels, entries=entries, notes=missing.notes())


DESCRIPTOR = Layout(
    name="in_shop",
    title="DeepFashion In-Shop",
    sentence="list_eval_partition.txt, with train, query and gallery.",
    read=_read,
    order=13,
)
