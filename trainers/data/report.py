"""What is in a set, before it is loaded: splits, columns, a proposal and whatever stands in its way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trainers.data.columns import LabelColumn, describe, join, label_kinds
from trainers.data.generic import open_source
from trainers.data.known import KNOWN, pinned
from trainers.data.opening import Splits
from trainers.data.origin import check_reference, resolve
from trainers.data.plan import label_columns, used_splits
from trainers.data.table import Table
from trainers.errors import DataError
from trainers.types import DataChoice

_SAMPLE_ROWS = 300


@dataclass(frozen=True, kw_only=True)
class DataReport:
    """What the loader sees and would do.

    Attributes:
        title, licence: as the set says.
        splits: split name to number of rows; None where only a sample was read.
        image_columns: columns that hold images.
        labels: every column that could be a label, with its number of classes (of the sample, if ``sampled``).
        proposal: the choice with columns and splits filled in; None if it cannot be loaded as it stands.
        share_classes: whether the two splits share finest classes, so that classes would be divided; None if unknown
            or if there is one split.
        sampled: only the first rows of each split were read.
        notes: decisions the loader would make.
        problems: what stands in the way, in sentences.
    """

    title: str
    licence: str
    splits: dict[str, int | None]
    image_columns: tuple[str, ...] = ()
    labels: tuple[LabelColumn, ...] = ()
    proposal: DataChoice | None = None
    share_classes: bool | None = None
    sampled: bool = False
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def inspect_source(choice: DataChoice) -> DataReport:
    """Look at a folder or Hub set without decoding its images. A Hub set that is not on this disk is only sampled.

    Raises:
        DataError: the set cannot be opened at all; what can be mended by other columns or splits is in ``problems``.
    """
    from trainers.data import hub

    known = next((entry for entry in KNOWN if entry.name == choice.source), None)
    asked = choice if known is None else pinned(known, choice)
    check_reference(asked.subset, asked.revision)
    origin = resolve(asked.source)
    opened = open_source(asked)
    if not opened.local:
        splits = hub.sample(str(origin.hub), asked.subset, asked.revision, _SAMPLE_ROWS)
    else:
        splits = opened.read(lambda _text, _fraction: None)
    found = examine(splits, asked, opened.title, opened.licence, sampled=not opened.local)
    if known is not None and found.proposal is not None:
        found = replace(found, title=known.title, proposal=replace(found.proposal, source=known.name))
    return found


def examine(splits: Splits, choice: DataChoice, title: str, licence: str, *, sampled: bool) -> DataReport:
    """The report on opened splits."""
    sizes = {name: None if sampled else len(table) for name, table in splits.tables.items()}
    report = DataReport(title=title, licence=licence, splits=sizes, sampled=sampled)
    notes = list(splits.notes)
    try:
        used = used_splits(splits, choice, notes)
    except DataError as error:
        return replace(report, problems=(str(error),), notes=tuple(notes))
    tables = [splits.tables[name] for name in used]
    images = tuple(name for name, kind in tables[0].kinds.items() if kind == "image")
    report = replace(report, image_columns=images, labels=_labels(tables))
    try:
        proposal, shared = _proposal(tables, used, images, choice, splits.tree, notes)
    except DataError as error:
        return replace(report, problems=(str(error),), notes=tuple(notes))
    return replace(report, proposal=proposal, share_classes=None if sampled else shared, notes=tuple(notes))


def _labels(tables: list[Table]) -> tuple[LabelColumn, ...]:
    kinds = label_kinds(tables[0])
    common = [name for name in kinds if all(name in table.kinds for table in tables)]
    return tuple(describe(name, kinds[name], join(tables, name)) for name in common)


def _proposal(
    tables: list[Table],
    used: tuple[str, ...],
    images: tuple[str, ...],
    choice: DataChoice,
    tree: tuple[str, ...] | None,
    notes: list[str],
) -> tuple[DataChoice, bool | None]:
    from trainers.data.columns import image_column

    labels, codes = label_columns(tables, choice, tree, notes)
    shared = None
    if len(tables) == 2:
        values, first = codes[labels[0]].values, len(tables[0])
        shared = len(np.intersect1d(values[:first][values[:first] >= 0], values[first:][values[first:] >= 0])) > 0
    proposal = replace(
        choice,
        image_column=image_column(tables[0], choice.image_column),
        label_columns=labels,
        train_split=used[0],
        test_split=used[1] if len(used) == 2 else None,
    )
    return proposal, shared
