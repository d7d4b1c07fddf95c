"""Makes a run of files of embeddings: several are several models, or steps of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from trainers.brought.exported import is_exported, split_export
from trainers.brought.files import NoEmbeddingsError, Table, read, read_beside
from trainers.brought.formats import ENDINGS, Unread
from trainers.brought.levels import Levels, found_levels, is_label, named_levels
from trainers.brought.matching import check_agreement, pictures_of, rows_of
from trainers.brought.writer import UNLABELLED, BroughtRun
from trainers.cells import counted, some
from trainers.errors import DataError
from trainers.runs import RunFolder
from trainers.runs.label import NAME, Label, write_label

_SHOWN = 12  # names in the sentence on what is passed over


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What files of embeddings hold, put together.

    Attributes:
        title: of the first file.
        tables: a model or a step each, of the same images in the same order.
        models: their names.
        levels: labels of every row by level; None where a row has none.
        images: an image a row; None: there are none.
        about: what was chosen and what was passed over, in a sentence.
    """

    title: str
    tables: Sequence[Table]
    models: Sequence[str]
    levels: Mapping[str, Sequence[Any]]
    images: Sequence[Any] | None
    about: str


def open_files(
    root: Path,
    files: Sequence[Path],
    *,
    labels: Sequence[str] = (),
    images: Path | None = None,
    column: str = "",
    steps: bool = False,
    name: str = "",
    embeddings: Sequence[Path] = (),
) -> RunFolder:
    """Write a finished run that shows the embeddings in files; see :func:`read_files` for the arguments.

    Args:
        root: folder of the runs.
        steps: the files are steps of one model; otherwise a model each.
        name: of the run; empty: that of the first file.

    Raises:
        UserError: what was needed, and what was given.
    """
    opened = read_files(files, labels=labels, images=images, column=column, embeddings=embeddings)
    tables, title = opened.tables, name or opened.title
    models = [title] if steps or len(tables) == 1 else opened.models
    given = None if opened.images is None else [image is not None for image in opened.images]
    pictures = opened.images if given is None or any(given) else None
    labelled = any(len({*cells}) > 1 for cells in opened.levels.values())
    notes = [_sentence(opened.about), *([] if labelled else [UNLABELLED])]
    run = BroughtRun(root, title, models, opened.levels, pictures, len(tables[0].embeddings), notes=notes)
    try:
        if steps:
            for step, table in enumerate(tables):
                run.snapshot(step, [table.embeddings])
        else:
            run.snapshot(0, [table.embeddings for table in tables])
        run.finish()
    except BaseException:
        run.give_up()
        raise
    write_label(run.folder.path, Label(name=" ".join(title.split())[:NAME]))
    return run.folder


def read_files(
    files: Sequence[Path],
    *,
    labels: Sequence[str] = (),
    images: Path | None = None,
    column: str = "",
    embeddings: Sequence[Path] = (),
) -> Opened:
    """Read files of embeddings, and tables of labels among them.

    Args:
        files: of embeddings, of the same images each; labels and images are of the first one. Those without embeddings
            are tables of labels.
        labels: columns that hold the labels, a level each, tables of labels, ``labels.csv``, or columns of one,
            ``labels.csv:species,genus``; empty: found.
        images: folder of the images that a column names, or, without such a column, of one image a row by name.
        column: what holds the embeddings; empty: found.
        embeddings: which files hold them, where that is not clear; the others are tables of labels.

    Raises:
        UserError: what was needed, and what was given.
    """
    names, beside = _asked(labels)
    tables, others = _divided(files, embeddings, column)
    if not tables:
        raise DataError("At least one file of embeddings was needed; got none.")
    title, exported = Path(tables[0].name).stem, len(tables) == 1 and is_exported(tables[0])
    if exported:
        tables = split_export(tables[0])
    models = [table.name if exported else Path(table.name).stem for table in tables]
    tables = [tables[0], *(_in_order(tables[0], table) for table in tables[1:])]
    every = {name: values for table in reversed(tables) for name, values in table.columns.items()}
    tables[0] = replace(
        tables[0], columns={**tables[0].columns, **{n: v for n, v in every.items() if n not in tables[0].columns}}
    )
    first, tabled = _with_beside(tables[0], [*((path, ()) for path in others), *beside])
    tables[0] = first
    if exported and not names and not tabled.said:
        levels = Levels(columns={name: list(words) for name, words in first.columns.items()})
    else:
        levels = _levels(first, names, tabled)
    for table in tables[1:]:
        check_agreement(first.columns, table.columns, list(levels.columns), (first.name, table.name))
    return _put_together(title, models, tables, levels, images)


def _asked(labels: Sequence[str]) -> tuple[list[str], list[tuple[Path, tuple[str, ...]]]]:
    """Divide what labels are asked for into columns, and tables with their columns."""
    names: list[str] = []
    tables: list[tuple[Path, tuple[str, ...]]] = []
    for word in labels:
        file, _, columns = word.rpartition(":")
        if Path(word).suffix.lower() in ENDINGS and (Path(word).is_file() or not Path(file or " ").is_file()):
            tables.append((Path(word), ()))
        elif file and Path(file).suffix.lower() in ENDINGS:
            tables.append((Path(file), tuple(part for part in columns.split(",") if part)))
        else:
            names.append(word)
    return names, tables


def _divided(files: Sequence[Path], embeddings: Sequence[Path], column: str) -> tuple[list[Table], list[Path]]:
    """Read the files of embeddings, and tell which ones hold none."""
    if embeddings:
        given = {path.resolve() for path in embeddings}
        return [read(path, column) for path in embeddings], [path for path in files if path.resolve() not in given]
    tables: list[Table] = []
    others: list[Path] = []
    refused: NoEmbeddingsError | None = None
    for path in files:
        try:
            tables.append(read(path, column if not tables or len(files) == 1 else ""))
        except NoEmbeddingsError as error:
            refused = refused or error
            others.append(path)
    if refused is not None and not tables:
        raise refused
    return tables, others


def _in_order(first: Table, table: Table) -> Table:
    """Return a table in the order of the first one.

    Raises:
        DataError: it is not of the same images.
    """
    count, rows = len(first.embeddings), len(table.embeddings)
    if rows != count:
        raise DataError(f"{count:,} rows, as in {first.name}, were needed in every file; {table.name} has {rows:,}.")
    order = rows_of(first.columns, table.columns, (first.name, table.name))
    if order is None or (order == np.arange(count)).all():
        return table
    if (order < 0).any():
        at = int(np.argmax(order < 0))
        raise DataError(
            f"{table.name} is not of the same images as {first.name}: row {at + 1:,} of the first is not in it, "
            f"nor are {int((order < 0).sum()) - 1:,} others."
        )
    columns = {name: taken(values, order) for name, values in table.columns.items()}
    return replace(table, embeddings=table.embeddings[order], columns=columns)


def taken(values: Any, rows: np.ndarray) -> Any:
    """Return rows of a column; of -1 None."""
    if isinstance(values, np.ndarray) and (rows >= 0).all():
        return values[rows]
    if hasattr(values, "take") and not isinstance(values, np.ndarray):
        import pyarrow as arrow

        return values.take(arrow.array([None if row < 0 else int(row) for row in rows], arrow.int64()))
    return [None if row < 0 else values[row] for row in rows]


@dataclass(frozen=True, kw_only=True)
class _Beside:
    """What tables of labels say: columns that were asked for, those that were not, and what is passed over."""

    asked: list[str] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    passed: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)


def _with_beside(first: Table, beside: Sequence[tuple[Path, tuple[str, ...]]]) -> tuple[Table, _Beside]:
    """Return the first table with the columns of tables of labels."""
    tabled, columns = _Beside(), dict(first.columns)
    count = len(first.embeddings)
    for path, wanted in beside:
        read_columns, passed = read_beside(path, count)
        rows = max((len(values) for values in read_columns.values()), default=0)
        order = rows_of(columns, read_columns, (first.name, path.name))
        if order is None and rows != count:
            raise DataError(
                f"A label for each of {count:,} rows of {first.name} was needed; {path.name} has {rows:,}. A column of "
                "paths or ids that both have tells which is which."
            )
        shown = {name: values if order is None else taken(values, order) for name, values in read_columns.items()}
        named_levels(shown, wanted)  # all are there
        told = order is not None and not (order == np.arange(count)).all()
        tabled.said.append(f"{path.name} by {'column' if told else 'row'}")
        tabled.asked.extend(wanted)
        if not wanted:
            tabled.found.update(shown)
        tabled.passed.update(passed)
        columns |= shown
    return replace(first, columns=columns), tabled


def _levels(first: Table, names: Sequence[str], tabled: _Beside) -> Levels:
    """Return the levels: those that are asked for, else those of tables of labels, else those found."""
    for name, why in first.passed.items():
        if name in names or (isinstance(why, Unread) and is_label(name) and not names and not tabled.said):
            raise DataError(f"{name!r:.60} in {first.name} cannot be labels: it {why.removeprefix('is not read: ')}")
    asked = named_levels(first.columns, [*names, *tabled.asked])
    if tabled.said and not names and not tabled.asked:
        found = found_levels(tabled.found, every=True)
        if not found.columns:
            whys = [f"{name} ({why})" for name, why in found.passed.items()] or ["no column of a value a row"]
            raise DataError(f"A column of classes was needed in {', '.join(tabled.said)}; got {', '.join(whys)}.")
        return found
    if asked.columns:
        return asked
    return found_levels(first.columns)


def _put_together(
    title: str, models: Sequence[str], tables: Sequence[Table], levels: Levels, images: Path | None
) -> Opened:
    """Leave out rows without a label, find the images, and say what was chosen."""
    first, count = tables[0], len(tables[0].embeddings)
    pictures, about_images, named_by = pictures_of(first.columns, count, images)
    kept = np.ones(count, bool)
    for cells in levels.columns.values():
        kept &= np.array([cell is not None for cell in cells], bool)
    lost, columns = int(count - kept.sum()), dict(levels.columns)
    if lost == count:
        columns, kept, lost = {}, np.ones(count, bool), 0
    if lost:
        rows = np.flatnonzero(kept).tolist()
        tables = [replace(table, embeddings=table.embeddings[rows]) for table in tables]
        columns = {name: [cells[row] for row in rows] for name, cells in columns.items()}
        pictures = None if pictures is None else [pictures[row] for row in rows]
    held = f" ({'columns' if ' to ' in first.column else 'column'} {first.column})" if first.column else ""
    several = f"{len(tables)} times " if len(tables) > 1 else ""
    said = [f"{several}{count:,} embeddings of {first.embeddings.shape[1]:,} numbers{held}"]
    said += [_said_levels(columns)] if columns else ["no labels"]
    said += [f"{counted(lost, 'row')} without a label left out"] if lost else []
    said += [about_images] if about_images else []
    used = {*columns, named_by, *(name.rpartition(" ")[0] for name in columns)} - {""}
    passed = [name or "a column without a name" for name in (*first.columns, *first.passed) if name not in used]
    rest = f"; passed over: {some(passed, _SHOWN)}" if passed else ""
    return Opened(
        title=title,
        tables=tables,
        models=models,
        levels=columns,
        images=pictures,
        about=", ".join(said) + rest,
    )


def _said_levels(columns: Mapping[str, Sequence[Any]]) -> str:
    counts = sorted(((len({*cells}), name) for name, cells in columns.items()), key=lambda each: -each[0])
    return f"{'levels' if len(counts) > 1 else 'level'} " + ", ".join(f"{name} ({count:,})" for count, name in counts)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
