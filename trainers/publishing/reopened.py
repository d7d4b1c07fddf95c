"""A comparison of the Hub, made into run folders again: recordings that are looked at and never trained.

Nothing in it is trusted. It is JSON, CSV and one table of plain numbers, each bounded; settings are read as those of
any run folder, and the runs are those that the plan itself asks for. Tables and verdicts are computed, not read.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainers.config import Config
from trainers.errors import DataError, UserError, VersionError
from trainers.hierarchy import Hierarchy
from trainers.plans.base import check_seeds, plan_of
from trainers.plans.children import Children, total
from trainers.plans.config import MOST_RUNS, sweep_of
from trainers.plans.planned import Child
from trainers.publishing.comparison import ABOUT, COLUMNS, CURVES, FORMAT, IDENTITY, QUERIES, VERSION
from trainers.runs import RunFolder, is_id
from trainers.runs.atomic_files import scratch
from trainers.runs.checked import json_object
from trainers.runs.folder import created, id_within
from trainers.runs.identity import read_config
from trainers.runs.probe import packed, packed_scores, unpacked, unpacked_scores
from trainers.runs.records import Probe, QueryScores, RunState, Scalar

MEGABYTE = 2**20
BOUNDS = {ABOUT: 16 * MEGABYTE, CURVES: 64 * MEGABYTE, QUERIES: 128 * MEGABYTE}
"""Most bytes of each file that is read; others are not fetched."""
NEEDED = (ABOUT, CURVES)
ORIGIN = "hub"
"""Name of the file that says where a plan is from."""
_MOST_RUNS = 4 * MOST_RUNS  # of all parts of a plan

_Text = Annotated[str, Field(max_length=500)]
_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Columns = dict[tuple[int, int], list[np.ndarray]]
"""Those of the results per query, by place and arm of the run."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class _Tested(_Strict):
    metrics: Annotated[list[_Text], Field(max_length=200)]
    images: _Count
    fingerprint: _Text


class _Probe(_Strict):
    levels: Annotated[list[_Text], Field(min_length=1, max_length=20)]
    names: list[list[_Text]]
    title: _Text
    fingerprint: _Text
    part: _Text
    labels: list[list[Annotated[int, Field(ge=0, lt=2**31)]]]
    rows: list[_Count]


class _Run(_Strict):
    name: _Text
    phase: Literal["finished", "failed", "stopped"]
    step: _Count
    seconds: Annotated[float, Field(ge=0, lt=1e12)]
    error: Annotated[str, Field(max_length=2000)] | None = None
    revision: Annotated[str, Field(pattern=r"^([0-9a-f]{40,64})?$")] = ""
    probe: _Count | None = None
    queries: _Tested | None = None


class _Comparison(_Strict):
    id: Annotated[str, Field(max_length=26)]
    settings: dict[str, Any]
    probes: Annotated[list[_Probe], Field(max_length=_MOST_RUNS)]
    runs: Annotated[list[_Run], Field(min_length=1, max_length=_MOST_RUNS)]


def reopen(files: Mapping[str, Path], name: str, commit: str, root: Path) -> str:
    """Make runs in ``root`` of the files of a comparison; returns the id of its plan, the same for the same commit.

    Args:
        files: those of :data:`BOUNDS` that there are.
        name: ``owner/name`` of the dataset.

    Raises:
        DataError: it is no comparison, of another version, damaged or too large.
    """
    try:
        about = _read_about(_content(files[ABOUT], BOUNDS[ABOUT]))
        run_id = id_within(about.id, f"{name}@{commit}")
        if (root / run_id / "config.json").is_file():
            return run_id
        made = _Made(about, _read_curves(files[CURVES]), _read_queries(files.get(QUERIES)))
        _write(made, run_id, f"{name}@{commit}", root)
    except VersionError as error:
        raise DataError(f"The comparison {name!r} cannot be opened. {error}") from error
    except (UserError, ValidationError, ValueError, LookupError, TypeError, RecursionError, OverflowError) as error:
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise DataError(
            f"The dataset {name!r} holds no comparison that can be opened: {said[:300].rstrip('.')}."
        ) from error
    return run_id


def origin(folder: RunFolder) -> str:
    """Return ``owner/name@commit`` of a plan that was opened from the Hub; empty: it was not."""
    path = folder.path / ORIGIN
    try:
        return path.read_text(encoding="utf-8")[:300] if folder.read_only else ""
    except (OSError, ValueError):
        return ""


class _Made:
    """The contents of a comparison: runs by name, their numbers, and their results per query by arm."""

    def __init__(
        self,
        about: _Comparison,
        curves: Mapping[str, list[Scalar]],
        queries: tuple[_Columns, Sequence[str]],
    ) -> None:
        self.config = _config(about.settings)
        self.index_of = {run.name: index for index, run in enumerate(about.runs)}
        self.about, self.curves, self.queries = about, curves, queries
        if not is_id(about.id) or created(about.id) > time.time() + 86400 or len(self.index_of) < len(about.runs):
            raise ValueError("its id is none, or one of its runs is there twice")

    def add(self, child: Child, plan: RunFolder) -> None:
        """Make the folder of a run."""
        index = self.index_of[child.planned.name]
        run = self.about.runs[index]
        title = child.planned.title
        root, arms = plan.path.parent, child.planned.config.arms
        folder = RunFolder.create(root, child.planned.config, run_id=child.id, part_of=plan.id, place_in_plan=title)
        try:
            folder.drop_ballast()
            numbers = self.curves.get(run.name, [])
            if any(number.arm >= arms for number in numbers):
                raise ValueError(f"the run {run.name!r} has numbers of losses that it does not have")
            folder.db.add_metrics(numbers)
            if run.revision:
                folder.pin(run.revision)
            if run.probe is not None:
                folder.write_probe(_probe(self.about.probes[run.probe]), ())
            if run.queries is not None:
                folder.write_queries(self._scores(index, run.queries, arms))
            state = RunState(phase=run.phase, step=run.step, seconds=run.seconds, error=run.error)
            folder.db.set_state(state)
        finally:
            folder.db.close()

    def _scores(self, run: int, tested: _Tested, arms: int) -> QueryScores:
        columns, names = self.queries
        parts = [columns[run, arm] for arm in range(arms)]
        chosen = [len(IDENTITY) + names.index(metric) for metric in tested.metrics]
        values = [[part[column] for column in chosen] for part in parts]
        scores = QueryScores(
            metrics=tuple(tested.metrics),
            values=np.array(values, np.float32),
            labels=parts[0][IDENTITY.index("label")].astype(np.int32),
            rows=parts[0][IDENTITY.index("row")].astype(np.int64),
            images=tested.images,
            fingerprint=tested.fingerprint,
        )
        return unpacked_scores(*packed_scores(scores), arms)


def _write(made: _Made, run_id: str, seen: str, root: Path) -> None:
    """Make the runs, in a folder of their own until all are there."""
    root.mkdir(parents=True, exist_ok=True)
    with scratch(root) as spare:
        plan = RunFolder.create(spare, made.config, run_id=run_id)
        try:
            plan.drop_ballast()
            plan.db.set_state(_add_runs(made, plan))
        finally:
            plan.db.close()
        (plan.path / ORIGIN).write_text(seen, encoding="utf-8")
        for path in sorted(spare.iterdir(), key=lambda path: path.name == run_id):  # the plan last: it is whole then
            path.rename(root / path.name)


def _add_runs(made: _Made, plan: RunFolder) -> RunState:
    """Make the runs that the plan asks for, as far as there are results; returns the state of the plan."""
    children = Children(plan)
    while fresh := [c for c in children.all() if c.phase == "planned" and c.planned.name in made.index_of]:
        for child in fresh:
            made.add(child, plan)
    every = children.all()
    if all(child.outcome is None for child in every):
        raise ValueError("it has no run that its settings ask for")
    phase = "finished" if all(child.outcome is not None for child in every) else "stopped"
    return replace(total(every), phase=phase, message="")


def _config(settings: Mapping[str, Any]) -> Config:
    config = sweep_of(read_config(json.dumps(settings)))
    plan = plan_of(config)
    check_seeds(config)
    plan.check_shared(config)
    plan.check_plan(config)
    return config


def _content(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{path.name} is larger than {most // MEGABYTE} MB")
    return content


def _read_about(content: bytes) -> _Comparison:
    values = json_object(content, ABOUT)
    if values.get("format") != FORMAT:
        raise ValueError(f"{ABOUT} is of another format")
    if values.get("version") != VERSION:
        raise VersionError(f"It is of version {values.get('version')!r:.20}, and version {VERSION} is read here.")
    return _Comparison.model_validate(values)


def _read_curves(path: Path) -> dict[str, list[Scalar]]:
    rows = csv.reader(io.StringIO(_content(path, BOUNDS[CURVES]).decode()))
    if tuple(next(rows, ())) != COLUMNS:
        raise ValueError(f"{CURVES} needs the columns {', '.join(COLUMNS)}")
    runs: dict[str, list[Scalar]] = {}
    for run, arm, step, seconds, key, value in rows:
        number = Scalar(arm=_whole(arm), step=_whole(step), seconds=float(seconds), key=key[:200], value=float(value))
        if not np.isfinite(number.seconds) or number.value != number.value:
            raise ValueError(f"{CURVES} has a number that is none")
        runs.setdefault(run, []).append(number)
    return runs


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError(f"{CURVES} needs whole numbers; got {text[:20]!r}")
    return int(text)


def _read_queries(path: Path | None) -> tuple[_Columns, list[str]]:
    """Read columns by run and arm, and the names of the metrics. A table that could take more memory than its file is
    refused: one that is compressed, or has nulls, nested values or texts.
    """
    if path is None:
        return {}, []
    import pandas  # noqa: F401  pyarrow loads it at its first table, and plotly takes a half-loaded one for whole
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = _content(path, BOUNDS[QUERIES])
    try:
        file = pq.ParquetFile(io.BytesIO(content))
        schema, about = file.schema_arrow, file.metadata
        plain = all(
            (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)) and not field.nullable
            for field in schema
        )
        width = sum(field.type.bit_width // 8 for field in schema) if plain else 0
        if not plain or tuple(schema.names[: len(IDENTITY)]) != IDENTITY or about.num_rows * width > len(content):
            raise ValueError(f"{QUERIES} has other columns than a comparison")
        if any(column.compression != "UNCOMPRESSED" or column.has_dictionary_page for column in _chunks(about)):
            raise ValueError(f"{QUERIES} is compressed")
        table = file.read()
    except pa.ArrowException as error:
        raise ValueError(f"{QUERIES} cannot be read") from error
    values = [column.to_numpy() for column in table.columns]
    key = values[0].astype(np.int64) * 2**16 + values[1]
    starts = np.flatnonzero(np.diff(key, prepend=key[:1] - 1)) if len(key) else np.array([], int)
    parts: _Columns = {}
    for first, last in zip(starts, [*starts[1:], len(key)], strict=True):
        parts[int(values[0][first]), int(values[1][first])] = [column[first:last] for column in values]
    return parts, list(schema.names[len(IDENTITY) :])


def _chunks(about: Any) -> Iterator[Any]:
    for group in range(about.num_row_groups):
        for column in range(about.num_columns):
            yield about.row_group(group).column(column)


def _probe(about: _Probe) -> Probe:
    labels = np.array(about.labels, np.int32).reshape(len(about.rows), -1)
    probe = Probe(
        labels=labels,
        rows=np.array(about.rows, np.int64),
        hierarchy=Hierarchy(levels=tuple(about.levels), names=tuple(map(tuple, about.names))),
        data_title=about.title,
        fingerprint=about.fingerprint,
        part=about.part,
    )
    return unpacked(*packed(probe, 0))
