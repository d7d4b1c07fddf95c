"""Which columns beside embeddings are levels of labels, and what their rows say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trainers.brought.formats import ALONE
from trainers.brought.text_tables import NUMBER
from trainers.brought.tree import MOST_LEVELS
from trainers.data.labelled.columns import POINT, Cell, LabelColumn, alike, chain, describe, determines, kind_of_cells
from trainers.data.labelled.table import LabelCodes
from trainers.errors import DataError
from trainers.parameters import meant

LABELS = (
    "label", "labels", "class", "classes", "class_name", "class_id", "target", "targets", "y", "category",
    "ground_truth", "ground_truth.label",
)  # fmt: skip
"""Names of columns that hold labels, where none is named."""
_NAMELESS = re.compile(rf"arr_\d+|{ALONE} \d+")
_MISSING = frozenset(("", "nan", "NaN", "None", "<NA>", "null", "NULL"))
_SHORT = 256  # bytes of a label
_DOUBTS = ("its name says it is no label", "its values are sentences", "most rows have their own value")


@dataclass(frozen=True, kw_only=True)
class Levels:
    """Labels of every row.

    Attributes:
        columns: by level; None where a row has none.
        passed: other columns that could have been levels, and why they are none, by name.
    """

    columns: Mapping[str, list[Cell]] = field(default_factory=dict)
    passed: Mapping[str, str] = field(default_factory=dict)


def named_levels(columns: Mapping[str, Any], names: Sequence[str]) -> Levels:
    """Return the columns of these names as levels.

    Raises:
        DataError: there is none of a name, or it is no class.
    """
    levels: dict[str, list[Cell]] = {}
    for name in dict.fromkeys(names):
        if name not in columns:
            known = f"it has {', '.join(columns)}" if columns else "it has none"
            raise DataError(f"There is no column {name!r:.60}; {known:.400}.{meant(name, columns)}")
        for part, cells in _parts(name, columns[name]).items():
            column, _ = _described(part, cells)
            if column.reason == POINT or (not column.usable and column.reason.startswith("every")):
                raise DataError(f"Column {part!r:.60} is no class: {column.reason}. Name another one with --labels.")
            levels[part] = cells
    return Levels(columns=levels)


def found_levels(columns: Mapping[str, Any], *, every: bool = False) -> Levels:
    """Return the columns that are levels by their names and values.

    Args:
        every: of a table of labels: each column that can be a level is one. Otherwise those of :data:`LABELS`, or,
            where there are none, the longest chain of columns as data sets have it.
    """
    parts: dict[str, list[Cell]] = {}
    for name, values in columns.items():
        parts |= _parts(name, values)
    looked = {name: _described(name, cells) for name, cells in parts.items()}
    usable = {name for name, (column, _) in looked.items() if column.usable and column.reason != POINT}
    if every:
        chosen = [name for name in parts if name in usable and looked[name][0].reason not in _DOUBTS]
    else:
        chosen = [name for name in parts if name in usable and is_label(name)]
        if not chosen:
            described = [column for name, (column, _) in looked.items() if name in usable]
            chosen = [*chain(described, {name: codes for name, (_, codes) in looked.items()})]
    kept: list[str] = []
    passed = {name: looked[name][0].reason for name in parts}
    for name in chosen:
        codes = looked[name][1].values
        double = next((other for other in kept if _say_the_same(codes, looked[other][1].values)), "")
        if double:
            passed[name] = f"says what {double} does"
        elif len(kept) < MOST_LEVELS:
            kept.append(name)
    return Levels(
        columns={name: parts[name] for name in kept},
        passed={name: why for name, why in passed.items() if name not in kept},
    )


def cells_of(values: Any) -> list[Any]:
    """Return a column as Python's values; None where a cell is empty."""
    listed = values.to_pylist() if hasattr(values, "to_pylist") else values
    listed = listed.tolist() if isinstance(listed, np.ndarray) else listed
    return [_cell(value) for value in listed]


def _cell(value: Any) -> Any:
    if isinstance(value, bytes) and len(value) < _SHORT:
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return None if value.strip() in _MISSING else value
    return None if isinstance(value, float) and value != value else value


def _parts(name: str, values: Any) -> dict[str, list[Cell]]:
    """Return a column as cells; one of lists of as many each as several."""
    if getattr(values, "ndim", 1) > 1:
        return {}
    cells = cells_of(values)
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, dict) and isinstance(cell.get("label"), (str, int)) for cell in given):
        cells = [None if cell is None else cell["label"] for cell in cells]  # as FiftyOne writes a classification
    lists = [cell for cell in cells if isinstance(cell, (list, tuple, np.ndarray))]
    if not lists:
        plain = [cell if isinstance(cell, (str, int, float, bool)) else None for cell in cells]
        odd = any(cell is not None for cell in cells) and not any(cell is not None for cell in plain)
        texts = [None if cell is None else _text(cell) for cell in plain]
        if all(text is None or (NUMBER.fullmatch(text) and float(text).is_integer()) for text in texts) and any(
            text is not None and "e" in text for text in texts
        ):  # 1.000e+00, as numpy writes numbers
            texts = [None if text is None else str(int(float(text))) for text in texts]
        return {} if odd else {name: alike(texts)}
    widths = {len(each) for each in lists}
    if len(widths) > 1 or len(lists) < len(cells) or not 1 <= min(widths) <= MOST_LEVELS:
        return {}
    if any(isinstance(one, (list, dict, bytes)) for each in lists[:100] for one in each):
        return {}
    (width,) = widths
    names = [name if width == 1 else f"{name} {at + 1}" for at in range(width)]
    columns = [[_cell(each[at]) for each in lists] for at in range(width)]
    return {
        part: alike([None if cell is None else _text(cell) for cell in column])
        for part, column in zip(names, columns, strict=True)
    }


def _text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() and not isinstance(cell, bool) else str(cell)


def is_label(name: str) -> bool:
    """Return whether a column is called like one of labels, or by no name at all."""
    words = (name.lower(), name.rstrip("12345678").rstrip().lower())
    return not frozenset(LABELS).isdisjoint(words) or bool(_NAMELESS.fullmatch(name))


def _described(name: str, cells: list[Cell]) -> tuple[LabelColumn, LabelCodes]:
    kind = kind_of_cells(cells)
    numbers: dict[Cell, int] = {}
    codes = [-1 if cell is None else numbers.setdefault(cell, len(numbers)) for cell in cells]
    made = LabelCodes(
        values=np.array(codes, np.int64), names=tuple(map(str, numbers)), reason=POINT if kind == "other" else ""
    )
    return describe(name, "text" if kind == "other" else kind, made), made


def _say_the_same(codes: np.ndarray, others: np.ndarray) -> bool:
    return determines(codes, others) and determines(others, codes)
