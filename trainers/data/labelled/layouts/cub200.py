"""CUB-200-2011: ``images.txt`` and ``image_class_labels.txt`` beside ``images/``; masks in ``segmentations/``.

Its own ``train_test_split.txt`` divides the images of all classes; metric learning trains on the first half of the
classes and tests on the second (Ramzi et al. 2023; Liao et al. 2023).
"""

from __future__ import annotations

from trainers.data.labelled.layouts.base import (
    TEST,
    TRAIN,
    Entry,
    Handed,
    Layout,
    Missing,
    Reading,
    first_half,
    halves_note,
)

_IMAGES, _LABELS, _CLASSES = "images.txt", "image_class_labels.txt", "classes.txt"


def _read(handed: Handed) -> Reading | None:
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
        entries[row] = Entry(split=TRAIN if number in train else TEST, labels=(name,))
    notes = (halves_note(len(train), len(order), "classes"), *missing.notes())
    return Reading(levels=("species",), entries=entries, notes=notes)


DESCRIPTOR = Layout(
    name="cub200",
    title="CUB-200-2011",
    sentence="images.txt, image_class_labels.txt and images/.",
    read=_read,
    order=10,
)
