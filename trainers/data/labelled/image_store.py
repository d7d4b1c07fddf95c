"""Decoding a whole split into one uint8 array, which may be mapped from a file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from trainers.data.decode import header, square
from trainers.data.image_file import UndecodableError
from trainers.data.labelled.rows import EncodedImages

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
        seen, readable: images that were looked at, and those among them that could be read.
    """

    side: int
    grey: bool
    seen: int
    readable: int


def look(fetch: EncodedImages, count: int) -> Look:
    """See up to 64 headers spread over the rows.

    Images of up to 40 pixels, and grey drawings of up to 128, become 32; everything else 64.
    """
    rows = np.unique(np.linspace(0, count - 1, min(count, 64)).astype(np.int64))
    sizes, greys = [], []
    for row in rows:  # one by one: together they could fill the memory
        try:
            width, height, grey = header(fetch(np.array([row]))[0] or b"")
        except UndecodableError:
            continue
        sizes.append(min(width, height))
        greys.append(grey)
    grey = bool(greys) and all(greys)
    middle = float(np.median(sizes)) if sizes else 0.0
    side = _SMALL if middle <= (128 if grey else 40) else _MEDIUM
    return Look(side=side, grey=grey, seen=len(rows), readable=len(sizes))


def bad_headers(fetch: EncodedImages, count: int, until: float) -> tuple[int, np.ndarray]:
    """Read the headers of as many rows as there is time for, in any order.

    Args:
        until: time of :func:`time.monotonic`.

    Returns:
        how many were read, and the rows among them that hold no image, ascending.
    """
    bad: list[int] = []
    for read, row in enumerate(np.random.default_rng(0).permutation(count)):
        if time.monotonic() > until:
            return read, np.sort(np.array(bad, dtype=np.int64))
        try:
            header(fetch(row[None])[0] or b"")
        except UndecodableError:
            bad.append(int(row))
    return count, np.sort(np.array(bad, dtype=np.int64))


def decode_all(fetch: EncodedImages, into: np.ndarray, done: Callable[[int], None]) -> np.ndarray:
    """Fill ``into`` uint8 [N, C, H, W] row by row with all cores; returns bool [N], True where a row could be decoded.

    Args:
        done: called with the number of finished rows; may raise to stop.

    Raises:
        ColourFoundError: C is 1 and an image is in colour.
    """
    count, channels, side, _ = into.shape
    good = np.zeros(count, dtype=bool)

    def fill(rows: np.ndarray, images: list[bytes | None]) -> None:
        for row, data in zip(rows, images, strict=True):
            try:
                pixels = square(data or b"", side)
            except UndecodableError:
                continue
            if channels == 1 and len(pixels) == 3:
                raise ColourFoundError
            into[row] = pixels  # a grey image is repeated over three channels
            good[row] = True

    pool = ThreadPoolExecutor(max(1, min(16, os.cpu_count() or 1)), thread_name_prefix="decode")
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
    return good


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
