"""Cells of text tables as values of one kind: whole numbers where all are, else texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trainers.data.labelled.table import Kind

Cell = str | int | None
_WHOLE = re.compile(r"-?[0-9]+(\.0*)?")
_LIST = re.compile(r"""\[\s*(?:(['"])([^'",\[\]]+)\1|(-?[0-9]+))\s*\]""")
_PADDED = re.compile(r"-?0[0-9]")
_MISSING = ("nan", "na", "n/a", "null", "none", "-")  # in a column of numbers alone; elsewhere these are names
POINT = "its values are numbers with a point"


def alike(cells: Sequence[Cell]) -> list[Cell]:
    """Read cells as whole numbers if all are, ``3.0`` among them; numbers with leading zeros stay texts. Where all are
    lists of one as Python or JSON writes them, ``["oak"]``, they are its item.
    """
    lists = [None if cell is None else _LIST.fullmatch(str(cell).strip()) for cell in cells]
    if any(lists) and all(met is not None or cell is None for met, cell in zip(lists, cells, strict=True)):
        cells = [None if met is None else met[2] or met[3] for met in lists]
    given = [str(cell).strip() for cell in cells if cell is not None]
    numbers = [text for text in given if text.lower() not in _MISSING]
    if not numbers or not all(map(_WHOLE.fullmatch, numbers)):
        return [None if cell is None else str(cell) for cell in cells]
    texts = [None if cell is None or str(cell).strip().lower() in _MISSING else str(cell).strip() for cell in cells]
    if any(map(_PADDED.match, numbers)):
        return list(texts)
    return [None if text is None else int(text.partition(".")[0]) for text in texts]


def kind_of_cells(cells: Sequence[Cell]) -> Kind:
    """Return what cells hold that were made :func:`alike`."""
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, int) or _WHOLE.fullmatch(cell) for cell in given):
        return "whole number"
    return "other" if given and all(map(_is_number, given)) else "text"


def _is_number(cell: Cell) -> bool:
    try:
        float(cell or "")
    except ValueError:
        return False
    return True
