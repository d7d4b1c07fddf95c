"""The results of a search as files."""

from __future__ import annotations

import io

from pyarrow import parquet

from trainers.retrieval.results import Retrieval
from trainers.retrieval.tables import table, write_csv


def csv_file(answer: Retrieval) -> bytes:
    """Write an answer as CSV that no spreadsheet runs."""
    out = io.StringIO(newline="")
    write_csv(answer, out)
    return out.getvalue().encode()


def parquet_file(answer: Retrieval) -> bytes:
    """Write an answer as Parquet."""
    out = io.BytesIO()
    parquet.write_table(table(answer), out, compression="zstd")
    return out.getvalue()


TABLES = {
    "csv": (csv_file, "text/csv; charset=utf-8"),
    "parquet": (parquet_file, "application/vnd.apache.parquet"),
}
"""Writer and media type by suffix."""
