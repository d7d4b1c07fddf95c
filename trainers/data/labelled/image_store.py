"""Decoding a whole split into one uint8 array, which may be mapped from a file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from trainers.data.decode import header, is_wide, spans, square
from trainers.data.image_file import UndecodableError
from trainers.data.labelled.rows import EncodedImages
from trainers.data.pixel_range import DARK, UNDECIDED, PixelRange, Spans

_CHUNK = 512
_TASK = 16  # images per hand-over to a thread: small drawings decode faster than a thread changes hands
_SMALL = 32
_MEDIUM = 64
_CHUNK_BYTES = 64_000_000


class ColourFoundError(Exception):
    """A dataset that began grey holds a colour image."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """The findings of a look at the headers of a few images.

    Attributes:
        side: in pixels, to read the dataset with.
        grey: the dataset looks grey.
        wide: one of them has more than 8 bits a channel.
        seen, readable: images that were looked at, and those among them that could be read.
    """

    side: int
    grey: bool
    wide: bool
    seen: int
    readable: int


def look(fetch: EncodedImages, count: int) -> Look:
    """See up to 64 headers spread over the rows.

    Images of up to 40 pixels, and grey drawings of up to 128, become 32; everything else 64.
    """
    rows = np.unique(np.linspace(0, count - 1, min(count, 64)).astype(np.int64))
    sizes, greys, wide = [], [], False
    for row in rows:  # one by one: together they could fill the memory
        data = fetch(np.array([row]))[0] or b""
        try:
            width, height, grey = header(data)
        except UndecodableError:
            continue
        wide = wide or is_wide(data)
        sizes.append(min(width, height))
        greys.append(grey)
    grey = bool(greys) and all(greys)
    middle = float(np.median(sizes)) if sizes else 0.0
    side = _SMALL if middle <= (128 if grey else 40) else _MEDIUM
    return Look(side=side, grey=grey, wide=wide, seen=len(rows), readable=len(sizes))


def unreadable_rows(fetch: EncodedImages, count: int, seconds: float) -> tuple[np.ndarray, int, bool]:
    """Find rows that hold no image: of as many as there is time for the pixels are unpacked, of others the headers.

    Args:
        seconds: for each of both.

    Returns:
        False for rows found to hold no image, bool [N]; how many were looked at; whether all were unpacked.
    """
    good, looked, whole = np.ones(count, bool), np.zeros(count, bool), 0
    order = np.random.default_rng(0).permutation(count)
    for unpacks in (True, False):
        until = time.monotonic() + seconds
        for row in order[~looked[order]]:
            if time.monotonic() > until:
                break
            data = fetch(row[None])[0] or b""
            try:
                if unpacks:
                    square(data, 8)
                else:
                    header(data)
            except UndecodableError:
                good[row] = False
            looked[row], whole = True, whole + unpacks
    return good, int(looked.sum()), whole == count


def spans_of(fetch: EncodedImages) -> Spans:
    """Return the smallest and largest value of the images of more than 8 bits, with all cores."""
    found = [Spans()]
    with ThreadPoolExecutor(_threads(), thread_name_prefix="range") as pool:
        for rows in chunks(fetch, len(fetch.part.rows)):
            found += pool.map(lambda data: spans(data or b""), fetch(rows))
    return Spans.over(found)


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """Rows that could be decoded, bool [N], and those among them of more than 8 bits that are nearly black."""

    good: np.ndarray
    dark: np.ndarray


def decode_all(
    fetch: EncodedImages, into: np.ndarray, done: Callable[[int], None], pixels: PixelRange = UNDECIDED
) -> Decoded:
    """Fill ``into`` uint8 [N, C, H, W] row by row with all cores.

    Args:
        done: called with the number of finished rows; may raise to stop.
        pixels: the range of values of more than 8 bits.

    Raises:
        ColourFoundError: C is 1 and an image is in colour.
        WideFoundError: the range is undecided and an image needs it.
    """
    count, channels, side, _ = into.shape
    good, dark = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)

    def fill(rows: np.ndarray, images: list[bytes | None]) -> None:
        for row, data in zip(rows, images, strict=True):
            try:
                image = square(data or b"", side, pixels)
            except UndecodableError:
                continue
            if channels == 1 and len(image) == 3:
                raise ColourFoundError
            into[row] = image  # a grey image is repeated over three channels
            good[row] = True
            dark[row] = image.max() < DARK and is_wide(data or b"")

    pool = ThreadPoolExecutor(_threads(), thread_name_prefix="decode")
    waiting: list[Future[None]] = []
    try:
        for rows in chunks(fetch, count):
            fetched = fetch(rows)  # while the chunk before is decoded
            for task in waiting:
                task.result()
            done(int(rows[0]))
            starts = range(0, len(rows), _TASK)
            waiting = [pool.submit(fill, rows[at : at + _TASK], fetched[at : at + _TASK]) for at in starts]
        for task in waiting:
            task.result()
        done(count)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return Decoded(good=good, dark=dark)


def _threads() -> int:
    return max(1, min(16, os.cpu_count() or 1))


def chunks(fetch: EncodedImages, count: int) -> Iterator[np.ndarray]:
    """Yield rows in order, in chunks of a bounded number and of bounded bytes, but of at least one row."""
    for start in range(0, count, _CHUNK):
        rows = np.arange(start, min(start + _CHUNK, count))
        numbers = np.cumsum(fetch.sizes(rows)) // _CHUNK_BYTES
        yield from np.split(rows, np.flatnonzero(np.diff(numbers)) + 1)


def keep(images: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Move the rows (ascending indices) to the front, in place, and return that part."""
    if len(rows) == len(images):
        return images
    for target, row in enumerate(rows):
        if target != row:
            images[target] = images[row]
    return images[: len(rows)]
