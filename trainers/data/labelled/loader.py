"""Any folder or Hub set to :class:`LoadedData`: open, plan, decode once, keep."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from trainers.config import DataChoice
from trainers.data import cache, settings
from trainers.data.base import ImageSet, LoadedData, Progress, silent
from trainers.data.image_file import ACCEPTED
from trainers.data.labelled.image_store import ColourFoundError, allocate, decode_all, keep, look, read_images, seal
from trainers.data.labelled.opening import Opened, open_folder
from trainers.data.labelled.plan import Part, Plan, make_plan, settle
from trainers.data.labelled.splits import repeated
from trainers.data.labelled.table import Table
from trainers.data.sources import check_reference, resolve
from trainers.errors import DataError

MAX_SIDE = 1024
_PLANNED = 0.35  # share of the progress bar for opening and downloading


@dataclass(frozen=True, kw_only=True)
class Names:
    """What a catalogue entry says better than the set itself; None: ask the set."""

    name: str | None = None
    title: str | None = None
    licence: str | None = None
    levels: tuple[str, ...] | None = None


def open_source(choice: DataChoice) -> Opened:
    """Open ``choice.source`` as a folder or a Hub id.

    Raises:
        DataError: it is neither, or cannot be had.
    """
    from trainers.data.hub import open_hub

    check_reference(choice.subset, choice.revision)
    origin = resolve(choice.source)
    if origin.folder is not None:
        return open_folder(origin.folder, choice.subset)
    return open_hub(str(origin.hub), choice.subset, choice.revision)


def load_source(choice: DataChoice, progress: Progress | None = None, names: Names | None = None) -> LoadedData:
    """Load ``choice.source``, from the cache if it was decoded before.

    Raises:
        DataError: with the reason and what to do.
    """
    report, names = progress or silent, names or Names()
    check_sizes(choice)
    report(f"Opening {choice.source}", 0.0)
    opened = open_source(choice)
    title, licence = names.title or opened.title, names.licence or opened.licence
    label = names.name or choice.source
    key = cache.entry_key(opened.key, replace(choice, source="", revision=None), names.levels, title, licence)
    found = cache.read(key, label)
    if found is not None:
        report(f"{title} is ready", 1.0)
        return found
    splits = opened.read(lambda text, fraction: report(text, fraction * _PLANNED))
    plan = make_plan(splits, choice, names.levels)
    empty = LoadedData(
        name=label,
        title=title,
        hierarchy=plan.hierarchy,
        train=ImageSet(images=torch.empty(0), labels=torch.empty(0)),
        test=ImageSet(images=torch.empty(0), labels=torch.empty(0)),
        fingerprint="",
        notes=plan.notes,
        licence=licence,
    )
    return _decode(plan, glance(plan, choice.image_size), key, empty, report)


def check_sizes(choice: DataChoice) -> None:
    """Refuse sizes that no set can be read with.

    Raises:
        DataError: with what is accepted.
    """
    if choice.image_size is not None and not 8 <= choice.image_size <= MAX_SIDE:
        raise DataError(f"An image size from 8 to {MAX_SIDE} pixels was needed; {choice.image_size} came.")
    if choice.max_images < 4:
        raise DataError(f"At least 4 images per split were needed; a cap of {choice.max_images} came.")


@dataclass(frozen=True, kw_only=True)
class Glance:
    """What a few images show: the side to read them with, in pixels, and whether all of them look grey."""

    side: int
    grey: bool


def glance(plan: Plan, size: int | None) -> Glance:
    """Look at a few images of a planned set: the last of what the look and the training both refuse.

    Args:
        size: the side that was asked for; None: chosen by the images.

    Raises:
        DataError: not one of them can be read, or the decoded set has no room.
    """
    looks = [look(_Rows(plan=plan, part=part), len(part.rows)) for part in (plan.train, plan.test)]
    total = len(plan.train.rows) + len(plan.test.rows)
    if not any(each.readable for each in looks):
        column, seen = plan.columns[0], sum(each.seen for each in looks)
        raise DataError(
            f"{seen} of {total} images in column {column!r} could not be decoded, all that were looked at. "
            f"Choose another column, or a set of {ACCEPTED} files."
        )
    found = Glance(side=size or max(each.side for each in looks), grey=all(each.grey for each in looks))
    _check_room(total, 1 if found.grey else 3, found.side, kept=settings.cache_folder() is not None)
    return found


def _check_room(total: int, channels: int, side: int, *, kept: bool) -> None:
    needed = total * channels * side * side
    if needed > settings.memory_bytes() and not kept:
        raise DataError(
            f"{total} images of {side} pixels take {needed / settings.GB:.1f} GB, more than the memory for them, and "
            "there is no disk to put them on. Choose a smaller image size or fewer images."
        )


def _decode(plan: Plan, seen: Glance, key: str, data: LoadedData, report: Progress) -> LoadedData:
    folder = cache.begin()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's remarks about odd files; what cannot be used is counted
            try:
                return _decode_into(folder, plan, seen, key, data, report)
            except OSError as error:
                if folder is None:
                    raise
                shutil.rmtree(folder, ignore_errors=True)
                note = f"The decoded images could not be kept on disk ({error.strerror or error})."
                return _decode_into(None, plan, seen, key, replace(data, notes=(*data.notes, note)), report)
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _decode_into(
    folder: Path | None, plan: Plan, seen: Glance, key: str, data: LoadedData, report: Progress
) -> LoadedData:
    side = seen.side
    try:
        return _decode_as(1 if seen.grey else 3, folder, plan, side, key, data, report)
    except ColourFoundError:
        return _decode_as(3, folder, plan, side, key, data, report)


def _decode_as(
    channels: int, folder: Path | None, plan: Plan, side: int, key: str, data: LoadedData, report: Progress
) -> LoadedData:
    total = len(plan.train.rows) + len(plan.test.rows)
    needed = total * channels * side * side
    mapped = needed > settings.memory_bytes()
    _check_room(total, channels, side, kept=folder is not None)
    arrays, parts, lost, alone, begun = [], [], 0, 0, 0
    for name, part in (("train", plan.train), ("test", plan.test)):
        path = None if folder is None else folder / f"{name}.safetensors"
        images = allocate((len(part.rows), channels, side, side), path)

        def done(rows: int, begun: int = begun) -> None:
            share = (begun + rows) / total
            report(f"Decoding images: {begun + rows} of {total}", _PLANNED + (1 - _PLANNED) * share)

        good = decode_all(_Rows(plan=plan, part=part), images, done)
        begun += len(part.rows)
        lost += int((~good).sum())
        kept = np.flatnonzero(good)
        several = repeated(part.labels[kept, 0])
        alone += int((~several).sum())
        kept = kept[several]
        arrays.append(keep(images, kept))
        parts.append(part.take(kept))
    notes = [*data.notes, *_losses(lost, alone, total, parts, plan)]
    if mapped:
        notes.append(f"The images take {needed / settings.GB:.1f} GB and are read from disk as they are needed.")
    parts, hierarchy = settle(parts, plan.hierarchy)
    sets = _finish(folder, arrays, parts, mapped)
    complete = replace(
        data,
        hierarchy=hierarchy,
        train=sets["train"],
        test=sets["test"],
        notes=tuple(notes),
        fingerprint=cache.fingerprint(sets, hierarchy),
    )
    return _kept(folder, key, complete)


def _losses(lost: int, alone: int, total: int, parts: list[Part], plan: Plan) -> list[str]:
    """Notes about images that could not be read.

    Raises:
        DataError: too little is left.
    """
    classes = [len(np.unique(part.labels[:, 0])) for part in parts]
    if min(classes) < 2:
        column = plan.columns[0]
        raise DataError(f"{lost} of {total} images in column {column!r} could not be decoded; too few are left to use.")
    notes = [f"{lost} images could not be read and were skipped."] if lost else []
    if alone:
        notes.append(f"{alone} more were left out with them: the only readable image of their class.")
    return notes


def _finish(folder: Path | None, arrays: list[np.ndarray], parts: list[Part], mapped: bool) -> dict[str, ImageSet]:
    sets = {}
    for name, images, part in zip(("train", "test"), arrays, parts, strict=True):
        labels = torch.from_numpy(np.ascontiguousarray(part.labels))
        if folder is None:
            tensor = torch.from_numpy(images)
        else:
            path, shape = folder / f"{name}.safetensors", images.shape
            images.base.flush() if isinstance(images.base, np.memmap) else None
            seal(path, shape)
            tensor = read_images(path, mapped=mapped)
        sets[name] = ImageSet(images=tensor, labels=labels, before_cap=part.before_cap)
    return sets


def _kept(folder: Path | None, key: str, data: LoadedData) -> LoadedData:
    if folder is not None:
        with suppress(OSError):  # the images are in memory or mapped already; the next start decodes again
            cache.commit(folder, key, data)
    return data


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The encoded images of a part's rows, whichever tables they are in."""

    plan: Plan
    part: Part

    def __call__(self, rows: np.ndarray) -> list[bytes | None]:
        found: list[bytes | None] = [None] * len(rows)
        for table, column, places, inner in self._by_table(rows):
            for place, picture in zip(places, table.pictures(column, inner), strict=True):
                found[place] = picture
        return found

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """Bytes of each, int64 [n]."""
        found = np.zeros(len(rows), dtype=np.int64)
        for table, column, places, inner in self._by_table(rows):
            found[places] = table.sizes(column, inner)
        return found

    def _by_table(self, rows: np.ndarray) -> Iterator[tuple[Table, str, np.ndarray, np.ndarray]]:
        owners = self.part.owner[rows]
        for owner in np.unique(owners):
            places = np.flatnonzero(owners == owner)
            yield self.plan.tables[owner], self.plan.columns[owner], places, self.part.rows[rows[places]]
