"""The rows that are read: labels as a tree, encoded images, decoding into one array, what is left of the readable."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from trainers.cells import counted, some
from trainers.data.base import ROLE
from trainers.data.decode import header, is_wide, spans, square
from trainers.data.image_file import UndecodableError
from trainers.data.labelled.splits import repeated
from trainers.data.labelled.table import LabelCodes, SplitTable
from trainers.data.pixel_range import DARK, UNDECIDED, PixelRange, Spans
from trainers.errors import DataError
from trainers.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Labels int64 [N, L], finest first, and the hierarchy that names them."""

    labels: np.ndarray
    hierarchy: Hierarchy


def grow(levels: Sequence[str], columns: Sequence[LabelCodes]) -> Tree:
    """Make ids that are unique across parents.

    A value that occurs under two parents (``small`` under shirts and under shoes) becomes two classes, named
    ``shirts / small`` and ``shoes / small``; a value under one parent keeps its own name.

    Args:
        levels: names of the levels, finest first.
        columns: as many columns of N values, none missing.
    """
    ids: list[np.ndarray] = []
    names: list[tuple[str, ...]] = []
    for codes in reversed(columns):  # from the coarsest, so that each level can ask for its parent
        parents = ids[-1] if ids else np.zeros_like(codes.values)
        pairs, level_ids = np.unique(np.stack([codes.values, parents]), axis=1, return_inverse=True)
        child, parent = pairs
        shared = np.isin(child, child[1:][child[1:] == child[:-1]])
        names.append(
            tuple(
                f"{names[-1][p]} / {codes.names[o]}" if double else codes.names[o]
                for o, p, double in zip(child, parent, shared, strict=True)
            )
        )
        ids.append(level_ids.reshape(-1).astype(np.int64))
    labels = np.stack(ids[::-1], axis=1)
    return Tree(labels=labels, hierarchy=Hierarchy(levels=tuple(levels), names=tuple(names[::-1])))


def compact(tree: Tree) -> Tree:
    """Drop names that no row uses and count ids from 0 again."""
    columns, names = [], []
    for level in range(tree.hierarchy.depth):
        used, ids = np.unique(tree.labels[:, level], return_inverse=True)
        columns.append(ids.reshape(-1).astype(np.int64))
        names.append(tuple(tree.hierarchy.names[level][index] for index in used))
    labels = np.stack(columns, axis=1)
    return Tree(labels=labels, hierarchy=Hierarchy(levels=tree.hierarchy.levels, names=tuple(names)))


def level_names(depth: int) -> tuple[str, ...]:
    """Return names for so many levels, finest first, as those of nested folders are called."""
    return ("class", "group", "supergroup", *(f"supergroup {n}" for n in range(2, depth - 1)))[:depth]


NAMED = 3
"""Files that are named of those that cannot be read."""
UNREADABLE = "could not be read"


def unreadable(count: int, names: Sequence[str], looked: str = "") -> str:
    """Say how many images could not be read, with some of their names; empty: none.

    Args:
        looked: how many were looked at, in words; empty: all.
    """
    if not count:
        return ""
    shown = [*names[:NAMED], *([f"{count - NAMED:,} more"] if count > NAMED else [])]
    which = f": {', '.join(shown)}" if names else ""
    were = "were" if count > 1 else "was"
    return f"{looked}{counted(count, 'image')} {UNREADABLE} and {were} skipped{which}."


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows of one split: ``owner`` [n] says which table, ``rows`` [n] which row of it; ``labels`` int64 [n, L].

    ``before_cap``: rows there were before the cap; 0 where it took none.
    """

    owner: np.ndarray
    rows: np.ndarray
    labels: np.ndarray
    before_cap: int = 0

    def take(self, index: np.ndarray) -> Part:
        """Select some of the rows (indices or a mask)."""
        return replace(self, owner=self.owner[index], rows=self.rows[index], labels=self.labels[index])


def with_role(part: Part, tables: Sequence[SplitTable]) -> np.ndarray:
    """Return the rows of a part that are queries or of the gallery of a test, bool [n]."""
    known = np.zeros(len(part.rows), dtype=bool)
    for owner, table in enumerate(tables):
        if ROLE in table.attributes:
            rows = part.owner == owner
            known[rows] = table.attributes[ROLE].values[part.rows[rows]] >= 0
    return known


LEAST_IMAGES = 4
"""That images are held out of, and that a test with classes has: of fewer, every number is chance."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The rows of a dataset that will be decoded, and their labels.

    Attributes:
        columns: the image column of each table.
        share_classes: whether two splits share finest classes, so that classes are divided; None if there is one split.
        labelled: False: there are no classes; every label is 0.
        least: images that a class needs in a split, classes of fewer are left out of it.
    """

    tables: tuple[SplitTable, ...]
    columns: tuple[str, ...]
    train: Part
    test: Part
    hierarchy: Hierarchy
    share_classes: bool | None
    notes: tuple[str, ...]
    labelled: bool = True
    least: int = 2


@dataclass(frozen=True, kw_only=True)
class EncodedImages:
    """The encoded images of a part's rows, whichever tables they are in."""

    selection: Selection
    part: Part

    def __call__(self, rows: np.ndarray) -> list[bytes | None]:
        """Read the encoded bytes of rows of the part, given their indices int64 [n]; None where there are none."""
        images: list[bytes | None] = [None] * len(rows)
        for table, column, indices, inner in self._by_table(rows):
            for index, image in zip(indices, table.images(column, inner), strict=True):
                images[index] = image
        return images

    def names(self) -> tuple[str, ...]:
        """Return the file name of every row of the part; nothing if none has one."""
        names = [""] * len(self.part.rows)
        for table, column, positions, inner in self._by_table(np.arange(len(names))):
            for row, name in zip(positions, table.names(column, inner), strict=True):
                names[row] = name
        return tuple(names) if any(names) else ()

    def some_names(self, rows: np.ndarray) -> list[str]:
        """Return the file names of the first of these rows, of :data:`NAMED` at most; nothing if they have none."""
        names = self.names() if len(rows) else ()
        return [names[row] for row in rows[:NAMED]] if names else []

    def names_or_rows(self, rows: np.ndarray) -> list[str]:
        """Return the file names of these rows, or their numbers where they have none."""
        names = self.names() if len(rows) else ()
        return [names[row] if names else f"row {row}" for row in rows]

    def attributes(self) -> dict[str, list[str]]:
        """Return what the tables know of the rows beside their classes, by name; of each row, or nothing."""
        known: dict[str, list[str]] = {}
        for table, _, positions, inner in self._by_table(np.arange(len(self.part.rows))):
            for name, codes in table.attributes.items():
                cells = known.setdefault(name, [""] * len(self.part.rows))
                for row, value in zip(positions, codes.values[inner], strict=True):
                    cells[row] = codes.names[value] if value >= 0 else ""
        return {name: cells for name, cells in known.items() if all(cells)}

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """Return how many bytes these are, int64 [n], as far as it can be told without reading them."""
        sizes = np.zeros(len(rows), dtype=np.int64)
        for table, column, positions, inner in self._by_table(rows):
            sizes[positions] = table.sizes(column, inner)
        return sizes

    def _by_table(self, rows: np.ndarray) -> Iterator[tuple[SplitTable, str, np.ndarray, np.ndarray]]:
        owners = self.part.owner[rows]
        for owner in np.unique(owners):
            positions = np.flatnonzero(owners == owner)
            yield (
                self.selection.tables[owner],
                self.selection.columns[owner],
                positions,
                self.part.rows[rows[positions]],
            )


def kept_rows(selection: Selection, part: Part, good: np.ndarray) -> np.ndarray:
    """Return the rows of a part that are read, ascending: without those of classes of which too little is left.

    Args:
        good: rows whose images can be read, bool [n].
    """
    kept = np.flatnonzero(good)
    if selection.least < 2:
        return kept
    return kept[repeated(part.labels[kept, 0]) | with_role(part.take(kept), selection.tables)]


def losses(selection: Selection, parts: Sequence[Part], goods: Sequence[np.ndarray]) -> list[str]:
    """Return notes about images that cannot be read, and about classes that are left out with them.

    Args:
        parts: those of the selection; goods: rows whose images can be read, bool [n] each.

    Raises:
        DataError: too little is left.
    """
    lost, names, classes, alone = 0, list[str](), list[np.ndarray](), 0
    for part, good in zip(parts, goods, strict=True):
        kept = kept_rows(selection, part, good)
        few = selection.least < 2 and selection.labelled and len(kept) < min(LEAST_IMAGES, len(good))
        if few or len(np.unique(part.labels[kept, 0])) < selection.least:
            total, bad = sum(map(len, goods)), sum(int((~each).sum()) for each in goods)
            raise DataError(
                f"{bad} of {counted(total, 'image')} in column {selection.columns[0]!r} could not be decoded; too few "
                "are left to use."
            )
        names += EncodedImages(selection=selection, part=part).some_names(np.flatnonzero(~good))
        lost += int((~good).sum())
        alone += int(good.sum()) - len(kept)
        classes.append(np.setdiff1d(part.labels[:, 0], part.labels[kept, 0]))
    notes = [unreadable(lost, names)] if lost else []
    if alone:
        only = "the only readable images of their classes" if alone > 1 else "the only readable image of its class"
        notes.append(f"{counted(alone, 'more image', 'was')} left out with them: {only}.")
    gone = np.unique(np.concatenate(classes))
    if len(gone):
        named = some([selection.hierarchy.names[0][each] for each in gone])
        notes.append(f"{counted(len(gone), 'class', 'is')} left out with them: {named}.")
    return notes


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
