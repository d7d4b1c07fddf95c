"""Cars-196: ``cars_annos.mat`` for ``car_ims/``, or lists of a development kit for ``cars_train/`` and ``cars_test/``.

Its own lists divide the images of all models; metric learning trains on the first half of the models and tests on the
second (Liao et al. 2023).
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any

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
from trainers.errors import DataError

_WHOLE = "cars_annos.mat"
_KIT = {"cars_train_annos.mat": "cars_train", "cars_test_annos_withlabels.mat": "cars_test",
        "cars_test_annos.mat": "cars_test"}  # fmt: skip
_META = "cars_meta.mat"
_MOST_BYTES = 64_000_000  # unpacked; the lists take some megabytes
_HEADER = 128
_COMPRESSED = 15


def _read(handed: Handed) -> Reading | None:
    if handed.named(_WHOLE):
        return _made(handed, *_whole(handed))
    kit = [name for name in _KIT if handed.named(name)]
    if not kit:
        return None
    if "cars_test_annos_withlabels.mat" in kit:
        kit = [name for name in kit if name != "cars_test_annos.mat"]
    rows = [(f"{_KIT[name]}/{path}", number) for name in kit for path, number in _of_kit(handed, name)]
    names = [str(each) for each in _matlab(handed, _META)["class_names"]] if handed.named(_META) else []
    return _made(handed, rows, names)


def _whole(handed: Handed) -> tuple[list[tuple[str, int]], list[str]]:
    table = _matlab(handed, _WHOLE)
    rows = [(str(each["relative_im_path"]), int(each["class"])) for each in table["annotations"]]
    return rows, [str(each) for each in table["class_names"]]


def _of_kit(handed: Handed, name: str) -> Iterator[tuple[str, int]]:
    for each in _matlab(handed, name)["annotations"]:
        # the test list is handed out without classes, too
        yield str(each["fname"]), int(each["class"]) if "class" in each.dtype.names else 0


def _made(handed: Handed, rows: list[tuple[str, int]], names: list[str]) -> Reading:
    numbers = sorted({number for _, number in rows if number})
    train = {int(number) for number in first_half([str(number) for number in numbers])}
    entries, missing = {}, Missing()
    for path, number in rows:
        row = handed.image(path, end=path)
        if row is None:
            missing.names.append(path)
        elif number:
            title = names[number - 1] if number <= len(names) else str(number)
            entries[row] = ImageRow(split=TRAIN if number in train else TEST, labels=(title,))
    notes = [halves_note(len(train), len(numbers), "models")]
    if bare := sum(not number for _, number in rows):
        notes.append(f"{bare:,} images of cars_test have no class in their list and are left out; "
                     "cars_test_annos_withlabels.mat has them.")  # fmt: skip
    return Reading(levels=("model",), entries=entries, notes=(*notes, *missing.notes()))


def _matlab(handed: Handed, name: str) -> dict[str, Any]:
    """Read a file of MATLAB 5 with tables alone."""
    import numpy as np
    from scipy.io import loadmat

    data = handed.data(name)
    if not data.startswith(b"MATLAB 5.0"):
        raise DataError(f"{name} is no file of MATLAB 5, in which Cars-196 is handed out. Fetch it again.")
    _check_size(data, name)
    try:
        table = loadmat(io.BytesIO(data), squeeze_me=True)
        return {key: np.atleast_1d(value) for key, value in table.items() if not key.startswith("__")}
    except Exception as error:  # damaged ones raise errors of many kinds
        raise DataError(f"{name} cannot be read ({type(error).__name__}). Fetch it again.") from error


def _check_size(data: bytes, name: str) -> None:
    at, room = _HEADER, _MOST_BYTES
    while at + 8 <= len(data):
        kind, size = struct.unpack("<II", data[at : at + 8])
        if kind == _COMPRESSED:
            unpack = zlib.decompressobj()
            try:
                room -= len(unpack.decompress(data[at + 8 : at + 8 + size], room))
            except zlib.error as error:
                raise DataError(f"{name} is damaged. Fetch it again.") from error
            if unpack.unconsumed_tail or room <= 0:
                raise DataError(f"{name} unpacks to more than {_MOST_BYTES // 10**6} MB, so it is not read.")
        at += 8 + size


DESCRIPTOR = BenchmarkLayout(
    name="cars196",
    title="Cars-196",
    sentence="cars_annos.mat and car_ims/, or cars_train/, cars_test/ and the development kit.",
    read=_read,
    order=11,
)
