"""Any folder or Hub dataset to :class:`LoadedData`: open, select, decode once, keep."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from trainers.cells import counted, some
from trainers.config import DataChoice
from trainers.data import cache, settings
from trainers.data.base import GALLERY, QUERY, ROLE, ImageSet, LoadedData
from trainers.data.cache import Draft
from trainers.data.decode import WideFoundError
from trainers.data.image_file import ACCEPTED
from trainers.data.labelled import dataset_cache
from trainers.data.labelled.opening import OpenedDataset, open_folder
from trainers.data.labelled.rows import (
    ColourFoundError,
    EncodedImages,
    Look,
    Part,
    Selection,
    decode_all,
    keep,
    kept_rows,
    look,
    losses,
    spans_of,
)
from trainers.data.labelled.selection import select, settle
from trainers.data.labelled.splits import divided_by_column
from trainers.data.pixel_range import UNDECIDED, PixelRange, Spans
from trainers.data.sources import check_reference, divided, resolve
from trainers.errors import DataError
from trainers.progress import Progress, part_of, silent

MAX_SIDE = 1024
_RANGED = "ranges of pixels"  # of entries of the cache that were decoded with a range read off the values
SPANNED = 1000
"""Images that decide the range of values of more than 8 bits before a dataset is loaded; loading it looks at all."""
_PLANNED = 0.35  # share of the progress bar for opening and downloading


def open_source(choice: DataChoice, progress: Progress = silent, *, metadata: bool = False) -> OpenedDataset:
    """Open ``choice.source`` as a folder or a Hub id.

    Args:
        progress: called while the Hub is waited for; what it raises ends the wait.
        metadata: as of :func:`trainers.data.labelled.opening.open_folder`.

    Raises:
        DataError: it is neither, or cannot be had.
    """
    from trainers.data.labelled.hub import open_hub

    _, written = divided(choice.source)
    revision = choice.revision or written
    check_reference(choice.subset, revision)
    location = resolve(choice.source)
    if isinstance(location, Path):
        return open_folder(location, choice.subset, choice.name_encoding, metadata=metadata)
    return open_hub(location, choice.subset, revision, progress, choice.name_encoding, metadata=metadata)


def load_source(
    choice: DataChoice,
    progress: Progress | None = None,
    *,
    name: str | None = None,
    title: str | None = None,
    licence: str | None = None,
    levels: tuple[str, ...] | None = None,
) -> LoadedData:
    """Load ``choice.source``, from the cache if it was decoded before.

    Args:
        name, title, licence, levels: what a catalogue entry says better than the dataset; None: ask the dataset.

    Raises:
        DataError: with the reason and what to do.
    """
    report = progress or silent
    check_sizes(choice)
    report(f"Opening {choice.source}", 0.0)
    opened = open_source(choice, report)
    name, title, licence = name or choice.source, title or opened.title, licence or opened.licence
    key = cache.content_key((opened.key, replace(choice, source="", revision=None), levels, title, licence, _RANGED))
    data = dataset_cache.read(key, name)
    if data is not None:
        report(f"{title} is ready", 1.0)
        return replace(data, revision=opened.revision)
    reading = part_of(report, 0.0, _PLANNED)
    splits = opened.read(reading) if opened.part is None else opened.part(choice, levels, reading)
    selection = select(divided_by_column(splits), choice, levels)
    seen = glance(selection, choice.image_size)
    complete = partial(LoadedData, name=name, title=title, licence=licence, revision=opened.revision)
    return _Decoding(selection=selection, seen=seen, key=key, complete=complete, report=report).run()


def pixel_range(selection: Selection, most: int | None = None) -> tuple[PixelRange | None, str]:
    """Read off the images of more than 8 bits which values are black and white in all of them.

    Args:
        most: images that are looked at, evenly spread; None: all of them.

    Returns:
        the range, and a sentence that says it; None and nothing where there are no such images.
    """
    found, seen, total = [], 0, len(selection.train.rows) + len(selection.test.rows)
    for part in (selection.train, selection.test):
        count = len(part.rows) if most is None else min(len(part.rows), -(-most * len(part.rows) // total))
        rows = np.unique(np.linspace(0, len(part.rows) - 1, count).astype(np.int64))
        found.append(spans_of(EncodedImages(selection=selection, part=part.take(rows))))
        seen += len(rows)
    spans = Spans.over(found)
    decided = spans.range
    return decided, "" if decided is None else decided.note(spans, seen, total)


def check_sizes(choice: DataChoice) -> None:
    """Refuse sizes that no dataset can be read with.

    Raises:
        DataError: with what is accepted.
    """
    if choice.image_size is not None and not 8 <= choice.image_size <= MAX_SIDE:
        raise DataError(f"An image size from 8 to {MAX_SIDE} pixels was needed; got {choice.image_size}.")
    if choice.max_images < 4:
        raise DataError(f"At least 4 images per split were needed; got a cap of {choice.max_images}.")


def glance(selection: Selection, size: int | None) -> Look:
    """Look at a few images of a planned dataset: the last check that the report and the loader share.

    Args:
        size: the side that was asked for; None: chosen by the images.

    Raises:
        DataError: not one of them can be read, or the decoded dataset has no room.
    """
    looks = [
        look(EncodedImages(selection=selection, part=part), len(part.rows))
        for part in (selection.train, selection.test)
    ]
    total = len(selection.train.rows) + len(selection.test.rows)
    seen = Look(
        wide=any(each.wide for each in looks),
        side=size or max(each.side for each in looks),
        grey=all(each.grey for each in looks),
        seen=sum(each.seen for each in looks),
        readable=sum(each.readable for each in looks),
    )
    if not seen.readable:
        raise DataError(
            f"{seen.seen} of {counted(total, 'image')} in column {selection.columns[0]!r} could not be decoded, all "
            f"that were looked at. Choose another column, or a dataset of {ACCEPTED} files."
        )
    _check_room(total, 1 if seen.grey else 3, seen.side, kept=settings.cache_folder() is not None)
    return seen


def _check_room(total: int, channels: int, side: int, *, kept: bool) -> None:
    needed = total * channels * side * side
    if needed > settings.memory_bytes() and not kept:
        raise DataError(
            f"{total} images of {side} pixels take {needed / settings.GB:.1f} GB, more than the memory for them, and "
            "there is no disk to put them on. Choose a smaller image size or fewer images."
        )


@dataclass(frozen=True, kw_only=True)
class _Decoding:
    """Decodes the images of a selection, on the disk where there is a cache.

    ``complete`` makes the dataset from what decoding gives: hierarchy, splits, notes and fingerprint.
    """

    selection: Selection
    seen: Look
    key: str
    complete: Callable[..., LoadedData]
    report: Progress
    pixels: PixelRange = UNDECIDED

    def run(self) -> LoadedData:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's remarks about odd files; what cannot be used is counted
            with cache.draft(dataset_cache.KIND) as draft:
                try:
                    return self._into(draft)
                except OSError as error:
                    if draft is None:
                        raise
                    note = f"The decoded images could not be kept on disk ({error.strerror or error})."
            return replace(self, selection=replace(self.selection, notes=(*self.selection.notes, note)))._into(None)

    def _into(self, draft: Draft | None) -> LoadedData:
        try:
            return (self._ranged() if self.seen.wide else self)._in_colours(draft)
        except WideFoundError:
            return self._ranged()._in_colours(draft)

    def _ranged(self) -> _Decoding:
        """Decide which values are black and white in images of more than 8 bits."""
        self.report("Reading the range of values of the images", _PLANNED)
        decided, note = pixel_range(self.selection)
        if decided is None:  # all of them are damaged, or hold no finite number
            return replace(self, pixels=PixelRange(high=1.0))
        selection = replace(self.selection, notes=(*self.selection.notes, note))
        return replace(self, selection=selection, pixels=decided)

    def _in_colours(self, draft: Draft | None) -> LoadedData:
        if self.seen.grey:
            with suppress(ColourFoundError):
                return self._decoded(1, draft)
        return self._decoded(3, draft)

    def _decoded(self, channels: int, draft: Draft | None) -> LoadedData:
        selection, side = self.selection, self.seen.side
        total = len(selection.train.rows) + len(selection.test.rows)
        needed, memory = total * channels * side * side, settings.memory_bytes()
        _check_room(total, channels, side, kept=draft is not None)
        images, parts, goods, dark, begun = {}, [], [], list[str](), 0
        for name, part in zip(dataset_cache.PARTS, (selection.train, selection.test), strict=True):
            shape = len(part.rows), channels, side, side
            pixels = np.zeros(shape, np.uint8) if draft is None else draft.allocate(name, shape)
            fetch = EncodedImages(selection=selection, part=part)
            decoded = decode_all(fetch, pixels, partial(self._tell, begun, total), self.pixels)
            goods.append(decoded.good)
            dark += fetch.names_or_rows(np.flatnonzero(decoded.dark))
            begun += len(part.rows)
            kept = kept_rows(selection, part, decoded.good)
            images[name] = keep(pixels, kept)
            if draft is not None:
                draft.shorten(name, len(kept))
            parts.append(part.take(kept))
        notes = [*selection.notes, *losses(selection, (selection.train, selection.test), goods)]
        if dark:
            nearly = f"{counted(len(dark), 'image', 'is')} nearly black"
            notes.append(f"{nearly} in the range {self.pixels.text}: {some(dark)}.")
        if needed > memory:
            notes.append(f"The images take {needed / settings.GB:.1f} GB and are read from disk as they are needed.")
        tensors = draft.read(memory) if draft is not None else {name: torch.from_numpy(images[name]) for name in images}
        data = self._completed(parts, tensors, tuple(notes))
        if draft is not None:
            with suppress(OSError):  # the images are in memory or mapped already; the next start decodes again
                dataset_cache.commit(draft, self.key, data)
        return data

    def _tell(self, begun: int, total: int, rows: int) -> None:
        done = begun + rows
        self.report(f"Decoding images: {done:,} of {total:,}", _PLANNED + (1 - _PLANNED) * done / total)

    def _completed(self, parts: list[Part], images: Mapping[str, Tensor], notes: tuple[str, ...]) -> LoadedData:
        parts, hierarchy = settle(parts, self.selection.hierarchy)
        finished = {}
        read = {
            name: EncodedImages(selection=self.selection, part=part)
            for name, part in zip(dataset_cache.PARTS, parts, strict=True)
        }
        given = {name: each.attributes() for name, each in read.items()}
        given[dataset_cache.PARTS[0]].pop(ROLE, None)  # of the test alone
        names, known = _attributes(given)
        for name, part in zip(dataset_cache.PARTS, parts, strict=True):
            finished[name] = ImageSet(
                images=images[name],
                labels=torch.from_numpy(np.ascontiguousarray(part.labels)),
                before_cap=part.before_cap,
                names=read[name].names(),
                attributes=known[name],
            )
        return self.complete(
            **finished,
            hierarchy=hierarchy,
            notes=notes,
            fingerprint=dataset_cache.fingerprint(finished, hierarchy),
            labelled=self.selection.labelled,
            attributes=names,
            pixel_range=None if self.pixels is UNDECIDED else self.pixels,
        )


def _attributes(
    parts: Mapping[str, Mapping[str, Sequence[str]]],
) -> tuple[dict[str, tuple[str, ...]], dict[str, dict[str, Tensor]]]:
    """Return the values of each attribute by name, and their ids int64 [N] in each part that has the attribute."""
    values: dict[str, tuple[str, ...]] = {}
    for of_part in parts.values():
        for name, cells in of_part.items():
            known = (QUERY, GALLERY) if name == ROLE else tuple(sorted({*values.get(name, ()), *cells}))
            values[name] = known
    ids = {
        part: {name: torch.tensor([values[name].index(cell) for cell in cells]) for name, cells in of_part.items()}
        for part, of_part in parts.items()
    }
    return values, ids
