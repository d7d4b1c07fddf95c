"""The results of a search as a table: a line per result, and one per arm without any."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from trainers.cells import csv_text, encodable
from trainers.retrieval.results import Retrieval

if TYPE_CHECKING:
    import pyarrow

COLUMNS = ("run", "arm", "title", "step", "rank", "row", "similarity", "severity", "ancestor", "classes", "error")
"""Ranks count from 1, after re-ranking if there was one; severity and ancestor are empty where they are not known."""


def rows(answer: Retrieval) -> list[tuple[Any, ...]]:
    """Return a row of :data:`COLUMNS` per result, and one per arm without any."""
    lines: list[tuple[Any, ...]] = []
    for arm in answer.arms:
        head = (arm.run, arm.arm, arm.title, arm.step)
        if arm.final is None:
            lines.append((*head, None, None, None, None, None, None, arm.error))
            continue
        lines += [
            (
                *head,
                rank,
                result.row,
                result.similarity,
                result.severity,
                None if result.ancestor is None else result.ancestor.name,
                " < ".join(result.classes),
                None,
            )
            for rank, result in enumerate(arm.final.results, start=1)
        ]
    return lines


def csv_file(answer: Retrieval) -> bytes:
    """Write CSV."""
    return csv_text(COLUMNS, rows(answer)).encode()


def parquet_file(answer: Retrieval) -> bytes:
    """Write Parquet."""
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(table(answer), out, compression="zstd")
    return out.getvalue()


def table(answer: Retrieval) -> pyarrow.Table:
    """Return the same as a table of Arrow."""
    import pyarrow

    columns = zip(*rows(answer), strict=True)
    texts = [[encodable(value) if isinstance(value, str) else value for value in column] for column in columns]
    return pyarrow.table(dict(zip(COLUMNS, texts, strict=True)))


FILES = {"csv": csv_file, "parquet": parquet_file}
"""Writers by the ending of the file."""
