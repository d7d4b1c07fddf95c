"""Downloads of a run, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from explorer.exports.archive import write_zip
from explorer.exports.pages import write_curves, write_replay
from explorer.exports.tables import write_coordinates, write_embeddings, write_metrics
from explorer.server.library import Library, Run


@dataclass(frozen=True, kw_only=True)
class Export:
    """One kind of download.

    Attributes:
        media_type: as sent.
        sentence: what is in it.
        write: called with the library, the run, the file to write and whether weights were asked for.
    """

    media_type: str
    sentence: str
    write: Callable[[Library, Run, Path, bool], None]


EXPORTS: Mapping[str, Export] = MappingProxyType(
    {
        "run.zip": Export(
            media_type="application/zip",
            sentence="Everything but the weights; unpack it into a runs folder to open it again.",
            write=lambda _library, run, path, weights: write_zip(run, path, weights=weights),
        ),
        "metrics.csv": Export(
            media_type="text/csv; charset=utf-8",
            sentence="Every number over the steps.",
            write=lambda _library, run, path, _weights: write_metrics(run, path),
        ),
        "coordinates.parquet": Export(
            media_type="application/vnd.apache.parquet",
            sentence="Every map of every loss with the labels, for data tools such as Embedding Atlas.",
            write=lambda library, run, path, _weights: write_coordinates(library, run, path),
        ),
        "embeddings.parquet": Export(
            media_type="application/vnd.apache.parquet",
            sentence="The last embeddings of the images on the maps, with their labels.",
            write=lambda library, run, path, _weights: write_embeddings(library, run, path),
        ),
        "replay.html": Export(
            media_type="text/html; charset=utf-8",
            sentence="The moving maps as one file that opens in any browser, offline.",
            write=lambda library, run, path, _weights: write_replay(library, run, path),
        ),
        "curves.html": Export(
            media_type="text/html; charset=utf-8",
            sentence="The curves as one file that opens in any browser, offline.",
            write=lambda _library, run, path, _weights: write_curves(run, path),
        ),
    }
)


def filename(run: Run, kind: str) -> str:
    """Name of the saved file: safe ASCII, and it says which run it is."""
    return f"rankscope-{run.id}-{kind}"
