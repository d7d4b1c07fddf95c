"""CSV text that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import Any

from trainers.cells import plain_cells


def csv_text(head: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Write a heading and its lines as CSV; cells that are NaN are empty, and no text is read as a formula."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(plain_cells(head))
    for line in lines:
        writer.writerow(plain_cells("" if isinstance(cell, float) and math.isnan(cell) else cell for cell in line))
    return file.getvalue()
