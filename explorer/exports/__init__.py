"""Downloads of a run, by name."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from explorer.exports.archive import zip_chunks
from explorer.exports.encoders import has_encoders, has_models, write_encoders, write_models
from explorer.exports.pages import write_curves, write_replay
from explorer.exports.reports import write_report
from explorer.exports.tables import write_coordinates, write_embeddings, write_metrics, write_untrained
from explorer.server.library import Library
from explorer.server.run import Run
from trainers.data import access
from trainers.kinds import kind_of
from trainers.pictures.film import FORMATS, write_film
from trainers.pictures.film import lacking as film_lacking
from trainers.progress import Progress
from trainers.runs.regular import is_there


@dataclass(frozen=True)
class Export:
    """One kind of download: either a file that is written, or parts that are sent as they are made.

    Attributes:
        title: in menus.
        media_type: of the file.
        write: writes it to a path.
        suits: whether a run has it, or will have it.
        chunks: its parts, made one by one; the last argument asks for weights.
        make: writes it to a path, in the background, as it takes long.
        lacking: says what has to be installed for it; empty: nothing.
    """

    title: str
    media_type: str
    write: Callable[[Library, Run, Path], None] | None
    suits: Callable[[Run], bool] = lambda _run: True
    chunks: Callable[[Run, bool], Generator[bytes, None, None]] | None = None
    make: Callable[[Run, Path, Progress], None] | None = None
    lacking: Callable[[], str] = lambda: ""


def _plans(run: Run) -> bool:
    return kind_of(run.config).plans


def _trains(run: Run) -> bool:
    return not _plans(run)


def _film(title: str, ending: str, size: str) -> Export:
    """Return the film of the maps of a run; see :func:`trainers.pictures.film.write_film`."""

    def make(run: Run, path: Path, tell: Progress) -> None:
        write_film(run.folder, path, size=size, tell=tell)

    media_type = f"{'video' if FORMATS[ending].by_av else 'image'}/{ending}"
    return Export(title, media_type, None, _trains, make=make, lacking=lambda: film_lacking(ending))


def _report(title: str, media_type: str, form: str) -> Export:
    """Return the report of a plan in one of the forms of :func:`write_report`."""
    return Export(title, media_type, lambda _library, run, path: write_report(run, path, form), _plans)


_ZIP = "application/zip"
_CSV, _HTML, _PARQUET = "text/csv; charset=utf-8", "text/html; charset=utf-8", "application/vnd.apache.parquet"
_TEXT, _JSON = "text/plain; charset=utf-8", "application/json"
EXPORTS = {
    "run.zip": Export(
        "Everything, to import elsewhere (zip)",
        _ZIP,
        None,
        chunks=lambda run, weights: zip_chunks(run, weights=weights),
    ),
    "models.zip": Export(
        "Model with its head (safetensors)", _ZIP, lambda _library, run, path: write_models(run, path), has_models
    ),
    "encoders.zip": Export(
        "Encoder without its head (safetensors)",
        _ZIP,
        lambda _library, run, path: write_encoders(run, path),
        has_encoders,
    ),
    "metrics.csv": Export("Numbers (CSV)", _CSV, lambda _library, run, path: write_metrics(run, path), _trains),
    "untrained.csv": Export(
        "Numbers without training (CSV)",
        _CSV,
        lambda _library, run, path: write_untrained(run, path),
        lambda run: is_there(run.folder.untrained_path),
    ),
    "coordinates.parquet": Export(
        "Map coordinates (Parquet)",
        _PARQUET,
        lambda library, run, path: write_coordinates(library, run, path),
        _trains,
    ),
    "embeddings.parquet": Export(
        "Embeddings (Parquet)",
        _PARQUET,
        lambda library, run, path: write_embeddings(library, run, path),
        _trains,
    ),
    "replay.html": Export(
        "Replay as one page (HTML)",
        _HTML,
        lambda library, run, path: write_replay(library, run, path),
        _trains,
    ),
    "curves.html": Export(
        "Curves as one page (HTML)", _HTML, lambda _library, run, path: write_curves(run, path), _trains
    ),
    "film.mp4": _film("Film of the maps (MP4)", "mp4", "720p"),
    "film.webm": _film("Film of the maps, square (WebM)", "webm", "square"),
    "film.webp": _film("Film of the maps (WebP)", "webp", "720p"),
    "film.gif": _film("Film of the maps (GIF)", "gif", "720p"),
    "table.csv": _report("Table (CSV)", _CSV, "csv"),
    "table.md": _report("Table and verdicts (Markdown)", _TEXT, "markdown"),
    "table.tex": _report("Table and verdicts (LaTeX)", _TEXT, "latex"),
    "report.json": _report("Everything, unrounded (JSON)", _JSON, "json"),
    "report.zip": _report("Every table in all forms (zip)", _ZIP, "archive"),
}


def offered(run: Run) -> dict[str, str]:
    """Return the titles of the downloads that suit a run and are sent at once, by name."""
    return {name: export.title for name, export in EXPORTS.items() if export.suits(run) and export.make is None}


def made(run: Run) -> dict[str, str]:
    """Return the titles of those that are made in the background first, by name, as far as this installation makes
    them."""
    return {name: EXPORTS[name].title for name in _slow(run) if not EXPORTS[name].lacking()}


def lacking(run: Run) -> list[str]:
    """Say what has to be installed for the others that are made in the background; nothing on a public page, whose
    visitors install nothing."""
    said = {EXPORTS[name].lacking(): None for name in _slow(run)}
    return [] if access.public() else [*filter(None, said)]


def _slow(run: Run) -> list[str]:
    return [name for name, export in EXPORTS.items() if export.suits(run) and export.make is not None]
