"""What is in a dataset, before it is loaded: splits, columns, a proposal and whatever stands in its way."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from trainers.config import DataChoice
from trainers.data.labelled.columns import LabelColumn, candidates, describe, image_column, join
from trainers.data.labelled.datasets.known import KNOWN, pinned
from trainers.data.labelled.loader import check_sizes, glance, open_source
from trainers.data.labelled.opening import Splits
from trainers.data.labelled.plan import label_columns, make_plan, used_splits
from trainers.data.labelled.table import Table
from trainers.data.sources import check_reference, resolve
from trainers.errors import DataError

_SAMPLE_ROWS = 300


@dataclass(frozen=True, kw_only=True)
class DataReport:
    """What the loader sees and would do.

    Attributes:
        title, licence: as the dataset says.
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
    """Look at a folder or Hub dataset without decoding its images; one that must be downloaded is only sampled.

    Raises:
        DataError: the dataset cannot be opened at all; what other columns or splits would fix is in ``problems``.
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
    report = examine(splits, asked, opened.title, opened.licence, sampled=not opened.local)
    try:
        check_sizes(asked)
        opened.refuse()
    except DataError as error:
        report = replace(report, proposal=None, problems=(str(error), *report.problems))
    if known is not None and report.proposal is not None:
        report = replace(report, title=known.title, proposal=replace(report.proposal, source=known.name))
    return report


def examine(splits: Splits, choice: DataChoice, title: str, licence: str, *, sampled: bool) -> DataReport:
    """The report on opened splits. What is planned here is planned by the function that training goes through."""
    sizes = {name: None if sampled else table.total for name, table in splits.tables.items()}
    report = DataReport(title=title, licence=licence, splits=sizes, sampled=sampled)
    notes = list(splits.notes)
    try:
        used = used_splits(splits, choice, notes)
        tables = [splits.tables[name] for name in used]
        report = replace(
            report,
            image_columns=tuple(name for name, kind in tables[0].kinds.items() if kind == "image"),
            labels=_labels(tables),
        )
        image = image_column(tables[0], choice.image_column)
        labels, codes = label_columns(tables, choice, splits.tree, notes)
        if not sampled:  # a sample has too few rows to say which classes there are
            plan = make_plan(splits, choice)
            notes = list(plan.notes)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow's remarks about odd files
                glance(plan, choice.image_size)
    except DataError as error:
        return replace(report, problems=(str(error),), notes=tuple(notes))
    proposal = replace(
        choice,
        image_column=image,
        label_columns=labels,
        train_split=used[0],
        test_split=used[1] if len(used) == 2 else None,
    )
    shared = None if sampled else _shared(tables, codes[labels[0]].values)
    return replace(report, proposal=proposal, share_classes=shared, notes=tuple(notes))


def _labels(tables: list[Table]) -> tuple[LabelColumn, ...]:
    common, _ = candidates(tables)
    return tuple(describe(name, kind, join(tables, name)) for name, kind in common.items())


def _shared(tables: list[Table], values: np.ndarray) -> bool | None:
    """Whether two splits share classes; None if there is one split."""
    if len(tables) < 2:
        return None
    first = values[: len(tables[0])]
    second = values[len(tables[0]) :]
    return len(np.intersect1d(first[first >= 0], second[second >= 0])) > 0
