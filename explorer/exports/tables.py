"""A run as tables: scalars for spreadsheets, coordinates and embeddings for data tools."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas  # noqa: F401  pyarrow loads it at its first table, and plotly takes a half-loaded one for whole
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.server import maps
from explorer.server.library import Library
from explorer.server.run import Run
from trainers.cells import plain_cell
from trainers.errors import RunError
from trainers.kinds import arm_titles
from trainers.runs.maps import unpack
from trainers.runs.records import Frame, Probe
from trainers.runs.regular import is_there


def write_metrics(run: Run, path: Path) -> None:
    """Write CSV with one row per scalar: arm, loss, step, seconds, key, value."""
    titles = [plain_cell(title) for title in arm_titles(run.config)]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("arm", "loss", "step", "seconds", "key", "value"))
        for scalar in (*run.folder.scalars(), *maps.scalars(run.folder)):
            row = (scalar.arm, titles[scalar.arm], scalar.step, scalar.seconds, plain_cell(scalar.key), scalar.value)
            table.writerow(row)


def write_untrained(run: Run, path: Path) -> None:
    """Write CSV with one row per way without training and number: name, title, key, value."""
    record = run.folder.untrained()
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("name", "title", "key", "value"))
        for row in () if record is None else record.rows:
            for key, value in row.numbers.items():
                table.writerow((plain_cell(row.name), plain_cell(row.title), plain_cell(key), value))


def write_coordinates(library: Library, run: Run, path: Path) -> None:
    """Write Parquet with one row per frame, arm and point: k, step, arm, loss, point, row, x, y and a column per label
    level.

    Raises:
        RunError: the run has no maps yet.
    """
    probe = _probe(run)
    writer: pq.ParquetWriter | None = None
    try:
        for frame in stored_frames(library, run, [k for k, *_ in maps.frames(run.folder)]):
            for arm in range(len(frame.arms)):
                table = pa.table(_identity(run, probe, frame.k, frame.step, arm) | _xy(frame, arm))
                writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
                writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise RunError(f"The run {run.id} has no maps yet; download them after the first one is drawn.")


def write_embeddings(library: Library, run: Run, path: Path) -> None:
    """Write Parquet with the last stored embeddings, one row per arm and point; ``vector`` is a list of D float32.

    Map coordinates ``x`` and ``y`` of the same snapshot are there when it was laid out.

    Raises:
        RunError: no embeddings are stored.
    """
    probe = _probe(run)
    k, step, arms = _last_embeddings(library, run)
    frames = list(stored_frames(library, run, [k] if k in run.folder.frames() else []))
    tables = []
    for arm, vectors in enumerate(arms):
        columns = _identity(run, probe, k, step, arm)
        if frames:
            columns |= _xy(frames[0], arm)
        flat = pa.array(vectors.astype(np.float32).ravel())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        tables.append(pa.table(columns))
    pq.write_table(pa.concat_tables(tables), path, compression="zstd")


def stored_frames(library: Library, run: Run, ks: Sequence[int]) -> Iterator[Frame]:
    """Yield the frames of ``ks`` that can be read; one that was dropped meanwhile is skipped."""
    for k in ks:
        if is_there(run.folder.frame_path(k)):
            yield library.frame(run, k)


def _probe(run: Run) -> Probe:
    if run.probe is None:
        raise RunError(f"The run {run.id} has not read its images yet; try again when its maps move.")
    return run.probe


def _last_embeddings(library: Library, run: Run) -> tuple[int, int, tuple[np.ndarray, ...]]:
    for k, step, _ in reversed(run.folder.snapshots()):
        arms = library.embeddings(run, k)
        if arms is not None:
            return k, step, arms
    raise RunError(f"The run {run.id} keeps no embeddings; its maps can be downloaded instead.")


def _xy(frame: Frame, arm: int) -> dict[str, pa.Array]:
    xy = unpack(frame.arms[arm].xy, frame.limit)
    return {"x": pa.array(xy[:, 0]), "y": pa.array(xy[:, 1])}


def _identity(run: Run, probe: Probe, k: int, step: int, arm: int) -> dict[str, pa.Array]:
    points = len(probe.labels)
    columns: dict[str, pa.Array] = {
        "k": pa.array(np.full(points, k, np.int32)),
        "step": pa.array(np.full(points, step, np.int64)),
        "arm": pa.array(np.full(points, arm, np.int8)),
        "loss": _words(np.full(points, arm, np.int32), arm_titles(run.config)),
        "point": pa.array(np.arange(points, dtype=np.int32)),
        "row": pa.array(probe.rows),
    }
    taken = {*columns, "x", "y", "vector"}
    for level, (name, words) in enumerate(zip(probe.hierarchy.levels, probe.hierarchy.names, strict=True)):
        title = name if name not in taken else f"label {level} ({name})"
        taken.add(title)
        columns[title] = _words(probe.labels[:, level], words)
    return columns


def _words(indices: np.ndarray, words: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(list(words), pa.string()))
