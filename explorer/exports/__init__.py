"""Downloads of a run, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from explorer.exports.archive import write_zip
from explorer.exports.pages import write_curves, write_replay
from explorer.exports.tables import write_coordinates, write_embeddings, write_metrics
from explorer.server.library import Library
from explorer.server.run import Run


class Export(NamedTuple):
    """One kind of download: its media type, and what writes it to a path; the last argument asks for weights."""

    media_type: str
    write: Callable[[Library, Run, Path, bool], None]


_CSV, _HTML, _PARQUET = "text/csv; charset=utf-8", "text/html; charset=utf-8", "application/vnd.apache.parquet"
EXPORTS = {
    "run.zip": Export("application/zip", lambda _library, run, path, weights: write_zip(run, path, weights=weights)),
    "metrics.csv": Export(_CSV, lambda _library, run, path, _weights: write_metrics(run, path)),
    "coordinates.parquet": Export(_PARQUET, lambda library, run, path, _weights: write_coordinates(library, run, path)),
    "embeddings.parquet": Export(_PARQUET, lambda library, run, path, _weights: write_embeddings(library, run, path)),
    "replay.html": Export(_HTML, lambda library, run, path, _weights: write_replay(library, run, path)),
    "curves.html": Export(_HTML, lambda _library, run, path, _weights: write_curves(run, path)),
}
