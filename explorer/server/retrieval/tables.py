"""The results of a search as tables, for spreadsheets and data tools."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from explorer.exports.tables import plain_cell

COLUMNS = {
    "run": pa.string(),
    "arm": pa.int16(),
    "title": pa.string(),
    "step": pa.int64(),
    "list": pa.string(),
    "rank": pa.int32(),
    "row": pa.int64(),
    "similarity": pa.float64(),
    "severity": pa.int16(),
    "word": pa.string(),
    "ancestor": pa.string(),
    "classes": pa.list_(pa.string()),
}
"""A line per result: which arm found it, in which list (``similarity`` or ``reranked``), at which rank from 1; its row
of the gallery, the cosine with the query, how many levels agree and in words, the common class, and its own classes,
finest first. Where the classes of the query are not known the severity is empty."""


def lines(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The results of an answer, as :meth:`explorer.server.retrieval.searches.Searches.search` gives it."""
    for arm in answer["arms"]:
        for name, key in (("similarity", "ranking"), ("reranked", "reranked")):
            for rank, result in enumerate((arm[key] or {}).get("results", ()), 1):
                severity, ancestor = result["severity"], result["ancestor"]
                yield {
                    "run": arm["run"],
                    "arm": arm["arm"],
                    "title": arm["title"],
                    "step": arm["step"],
                    "list": name,
                    "rank": rank,
                    "row": result["row"],
                    "similarity": result["similarity"],
                    "severity": severity,
                    "word": None if severity is None else answer["words"][severity],
                    "ancestor": None if ancestor is None else ancestor["name"],
                    "classes": list(result["classes"]),
                }


def csv_table(answer: dict[str, Any]) -> bytes:
    """As CSV; several classes are separated by ``>``, the coarsest last."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for line in lines(answer):
        cells = {**line, "classes": " > ".join(line["classes"])}
        table.writerow([plain_cell(cell) if isinstance(cell, str) else cell for cell in cells.values()])
    return out.getvalue().encode("utf-8", "replace")


def parquet_table(answer: dict[str, Any]) -> bytes:
    """As Parquet."""
    rows = list(lines(answer))
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in COLUMNS.items()}
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd")
    return out.getvalue()


TABLES = {
    "csv": (csv_table, "text/csv; charset=utf-8"),
    "parquet": (parquet_table, "application/vnd.apache.parquet"),
}
"""Writer and media type by suffix."""
