"""Benchmarks of one label level or a few, as their authors hand them out: folders or lists of images and classes."""

from __future__ import annotations

import re

from trainers.cells import counted
from trainers.data.base import GALLERY, QUERY
from trainers.data.labelled.layouts.base import (
    TEST,
    TRAIN,
    BenchmarkLayout,
    Handed,
    ImageRow,
    Missing,
    Reading,
    first_half,
    halves_note,
)
from trainers.data.labelled.splits import role_of

_FOLDERS = {"bounding_box_train": (TRAIN, None), "bounding_box_test": (TEST, GALLERY), "query": (TEST, QUERY)}
_NAME = re.compile(r"(-?\d+)_c(\d+)")
_JUNK = "-1"
_DISTRACTORS = ("0000", "0")
_NOBODY = "distractor"


def _read_market1501(handed: Handed) -> Reading | None:
    """Read flat folders ``bounding_box_train``, ``query`` and ``bounding_box_test`` of images called
    ``0002_c1s1_000451_03.jpg``: person 2 by camera 1. Person -1 is junk, which no result counts; person 0 are
    distractors, which are in the gallery and searched for by nobody.
    """
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
        entries[row] = ImageRow(split=folder[0], labels=(person,), role=folder[1], camera=f"c{camera}")
    notes = [f"Left out, junk (-1): {counted(junk, 'image')}."] if junk else []
    if distractors:
        notes.append(f"In the gallery, distractors of no person (0000): {distractors:,}, one class without a query.")
    return Reading(levels=("person",), entries=entries, notes=tuple(notes), junk=junk)


MARKET1501 = BenchmarkLayout(
    name="market1501",
    title="Market-1501",
    sentence="bounding_box_train, query and bounding_box_test.",
    read=_read_market1501,
    order=14,
)


_IMAGES, _LABELS, _CLASSES = "images.txt", "image_class_labels.txt", "classes.txt"


def _read_cub200(handed: Handed) -> Reading | None:
    """Read ``images.txt`` and ``image_class_labels.txt`` beside ``images/``.

    Its own ``train_test_split.txt`` divides the images of all classes; metric learning trains on the first half of the
    classes and tests on the second (Ramzi et al. 2023; Liao et al. 2023).
    """
    if len(handed.named(f"{_IMAGES}|{_LABELS}")) < 2:
        return None
    paths = {words[0]: " ".join(words[1:]) for words in handed.rows(_IMAGES) if len(words) > 1}
    class_of = {words[0]: words[1] for words in handed.rows(_LABELS) if len(words) > 1}
    named = dict(words[:2] for words in handed.rows(_CLASSES)) if handed.named(_CLASSES) else {}
    order = sorted({*class_of.values()}, key=lambda number: (len(number), number))
    train = first_half(order)
    entries, missing = {}, Missing()
    for key, path in paths.items():
        if key not in class_of:
            continue
        row = handed.image(f"images/{path}")
        if row is None:
            missing.names.append(path)
            continue
        number = class_of[key]
        name = named.get(number) or path.partition("/")[0]
        entries[row] = ImageRow(split=TRAIN if number in train else TEST, labels=(name,))
    notes = (halves_note(len(train), len(order), "classes"), *missing.notes())
    return Reading(levels=("species",), entries=entries, notes=notes)


CUB200 = BenchmarkLayout(
    name="cub200",
    title="CUB-200-2011",
    sentence="images.txt, image_class_labels.txt and images/.",
    read=_read_cub200,
    order=10,
)


_LIST = "list_eval_partition.txt"
_ITEM_HEADER = ["image_name", "item_id", "evaluation_status"]


def _read_in_shop(handed: Handed) -> Reading | None:
    """Read the item of every image, and whether it is of train, query or gallery; the category is in its path,
    ``img/WOMEN/Dresses/id_00000002/02_1_front.jpg``.
    """
    if not handed.named(_LIST):
        return None
    rows = [words for words in handed.rows(_LIST) if len(words) >= len(_ITEM_HEADER) and words[:3] != _ITEM_HEADER]
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
        entries[row] = ImageRow(split=TEST if role else TRAIN, labels=(item, *above), role=role)
    levels = ("item", "category", "section")[: 3 if deep else 1]
    return Reading(levels=levels, entries=entries, notes=missing.notes())


IN_SHOP = BenchmarkLayout(
    name="in_shop",
    title="DeepFashion In-Shop",
    sentence="list_eval_partition.txt, with train, query and gallery.",
    read=_read_in_shop,
    order=13,
)


_PRODUCT_HEADER = ["image_id", "class_id", "super_class_id", "path"]


def _read_stanford_products(handed: Handed) -> Reading | None:
    lists = [name for name in handed.named(r".*_(train|test)\.txt") if next(handed.rows(name), None) == _PRODUCT_HEADER]
    if not lists:
        return None
    entries, missing = {}, Missing()
    for name in lists:
        split = TRAIN if name.endswith("_train.txt") else TEST
        for words in list(handed.rows(name))[1:]:
            if len(words) < len(_PRODUCT_HEADER):
                continue
            path = " ".join(words[3:])
            row = handed.image(path)
            if row is None:
                missing.names.append(path)
                continue
            kind = path.partition("/")[0].removesuffix("_final") if "/" in path else words[2]
            entries[row] = ImageRow(split=split, labels=(words[1], kind))
    absent = {TRAIN, TEST} - {entry.split for entry in entries.values()}
    notes = [f"There is no list of {split} images." for split in sorted(absent)]
    return Reading(levels=("product", "kind"), entries=entries, notes=(*notes, *missing.notes()))


STANFORD_PRODUCTS = BenchmarkLayout(
    name="stanford_products",
    title="Stanford Online Products",
    sentence="Ebay_train.txt and Ebay_test.txt, with the product and the kind of every image.",
    read=_read_stanford_products,
    order=12,
)


DESCRIPTORS = (CUB200, STANFORD_PRODUCTS, IN_SHOP, MARKET1501)
