"""A few images of a dataset, before it is loaded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from trainers.config import DataChoice
from trainers.data.decode import WideFoundError
from trainers.data.image_file import ACCEPTED
from trainers.data.labelled.columns import image_column
from trainers.data.labelled.image_store import ColourFoundError, decode_all, look, spans_of
from trainers.data.labelled.loader import SPANNED, check_sizes, open_source, pixel_range
from trainers.data.labelled.rows import EncodedImages, Part, Selection
from trainers.data.labelled.selection import used_splits
from trainers.data.labelled.split_column import divided_by_column
from trainers.data.pixel_range import UNDECIDED, PixelRange
from trainers.errors import DataError
from trainers.hierarchy import Hierarchy
from trainers.progress import silent

_SAMPLE_ROWS = 300


def peek_source(choice: DataChoice, count: int) -> Tensor:
    """Read images of a folder or Hub dataset, evenly spread over the split to train on, or over its first rows if it
    would have to be downloaded.

    Returns:
        uint8 ``[n, C, S, S]`` with S as the dataset would be read; n is at most ``count``.

    Raises:
        DataError: the dataset cannot be opened, or none of these images can be decoded.
    """
    check_sizes(choice)
    opened = open_source(choice)
    opened.refuse()
    splits = opened.read(silent) if opened.sample is None else opened.sample(_SAMPLE_ROWS)
    table = next(iter(used_splits(divided_by_column(splits), choice, []).values()))
    column = image_column(table, choice.image_column)
    every = _part(np.arange(len(table)))
    selection = Selection(
        tables=(table,),
        columns=(column,),
        train=every,
        test=every,
        hierarchy=Hierarchy(levels=("class",), names=(("none",),)),
        share_classes=None,
        notes=(),
    )
    seen = look(EncodedImages(selection=selection, part=every), len(table))
    rows = np.unique(np.linspace(0, len(table) - 1, min(count, len(table))).astype(np.int64))
    fetch, side = EncodedImages(selection=selection, part=_part(rows)), choice.image_size or seen.side
    shape = (len(rows), 1 if seen.grey else 3, side, side)
    pixels = pixel_range(replace(selection, test=_part(every.rows[:0])), SPANNED)[0] if seen.wide else None
    try:
        images = _decoded(fetch, shape, pixels)
    except (ColourFoundError, WideFoundError):
        images = _decoded(fetch, (len(rows), 3, side, side), pixels or spans_of(fetch).range)
    if not len(images):
        raise DataError(
            f"None of {len(rows)} images in column {column!r} could be decoded. Choose another column, or a dataset of "
            f"{ACCEPTED} files."
        )
    return torch.from_numpy(images)


def _part(rows: np.ndarray) -> Part:
    nothing = np.zeros(len(rows), dtype=np.int64)
    return Part(owner=nothing, rows=rows, labels=nothing[:, None])


def _decoded(fetch: EncodedImages, shape: tuple[int, int, int, int], range_: PixelRange | None) -> np.ndarray:
    """Decode the images that can be decoded."""
    pixels = np.zeros(shape, np.uint8)
    return pixels[decode_all(fetch, pixels, lambda _: None, range_ or UNDECIDED).good]
