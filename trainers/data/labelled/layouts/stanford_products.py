"""Stanford Online Products: ``Ebay_train.txt`` and ``Ebay_test.txt`` beside twelve folders of kinds."""

from __future__ import annotations

from trainers.data.labelled.layouts.base import TEST, TRAIN, Entry, Handed, Layout, Missing, Reading

_HEADER = ["image_id", "class_id", "super_class_id", "path"]


def _read(handed: Handed) -> Reading | None:
    lists = [name for name in handed.named(r".*_(train|test)\.txt") if next(handed.rows(name), None) == _HEADER]
    if not lists:
        return None
    entries, missing = {}, Missing()
    for name in lists:
        split = TRAIN if name.endswith("_train.txt") else TEST
        for words in list(handed.rows(name))[1:]:
            if len(words) < len(_HEADER):
                continue
            path = " ".join(words[3:])
            row = handed.image(path)
            if row is None:
                missing.names.append(path)
                continue
            kind = path.partition("/")[0].removesuffix("_final") if "/" in path else words[2]
            entries[row] = Entry(split=split, labels=(words[1], kind))
    absent = {TRAIN, TEST} - {entry.split for entry in entries.values()}
    notes = [f"There is no list of {split} images." for split in sorted(absent)]
    return Reading(levels=("product", "kind"), entries=entries, notes=(*notes, *missing.notes()))


DESCRIPTOR = Layout(
    name="stanford_products",
    title="Stanford Online Products",
    sentence="Ebay_train.txt and Ebay_test.txt, with the product and the kind of every image.",
    read=_read,
    order=12,
)
