"""Downloads of a run, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from explorer.exports.archive import write_zip
from explorer.exports.encoders import has_encoders, write_encoders
from explorer.exports.pages import write_curves, write_replay
from explorer.exports.tables import write_coordinates, write_embeddings, write_metrics
from explorer.server.library import Library
from explorer.server.run import Run


class Export(NamedTuple):
    """One kind of download.

    Attributes:
        title: in menus.
        media_type: of the file.
        write: writes it to a path; the last argument asks for weights.
        suits: whether a run has it, or will have it.
    """

    title: str
    media_type: str
    write: Callable[[Library, Run, Path, bool], None]
    suits: Callable[[Run], bool] = lambda _run: True


_ZIP = "application/zip"
_CSV, _HTML, _PARQUET = "text/csv; charset=utf-8", "text/html; charset=utf-8", "application/vnd.apache.parquet"
EXPORTS = {
    "run.zip": Export(
        "Whole run (zip)", _ZIP, lambda _library, run, path, weights: write_zip(run, path, weights=weights)
    ),
    "encoders.zip": Export(
        "Encoder (safetensors)", _ZIP, lambda _library, run, path, _weights: write_encoders(run, path), has_encoders
    ),
    "metrics.csv": Export("Numbers (CSV)", _CSV, lambda _library, run, path, _weights: write_metrics(run, path)),
    "coordinates.parquet": Export(
        "Map coordinates (Parquet)",
        _PARQUET,
        lambda library, run, path, _weights: write_coordinates(library, run, path),
    ),
    "embeddings.parquet": Export(
        "Embeddings (Parquet)", _PARQUET, lambda library, run, path, _weights: write_embeddings(library, run, path)
    ),
    "replay.html": Export(
        "Replay as one page (HTML)", _HTML, lambda library, run, path, _weights: write_replay(library, run, path)
    ),
    "curves.html": Export(
        "Curves as one page (HTML)", _HTML, lambda _library, run, path, _weights: write_curves(run, path)
    ),
}


def offered(run: Run) -> dict[str, str]:
    """Titles of the downloads that suit a run, by name."""
    return {name: export.title for name, export in EXPORTS.items() if export.suits(run)}
