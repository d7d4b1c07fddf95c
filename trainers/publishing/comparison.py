"""The files of a plan that make a dataset on the Hub: its tables, and all that they are computed from.

README.md          the card: the tables, the verdicts, how it is opened
comparison.json    settings of the plan, and each run: where it ended, which images it was tested on
curves.csv         every number that was written while the runs trained, and their final ones
queries.parquet    results per query of the whole test set, for the intervals; a row per run, arm and query
results.csv        the table, and results-pairs.csv the verdicts; of several parts under the names of these

Folders of this machine, file names, images and weights stay behind.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trainers.comparison.markup import markdown_text
from trainers.errors import RunError
from trainers.plans.base import plan_of
from trainers.plans.children import Children, total
from trainers.plans.config import sweep_of
from trainers.plans.planned import Child
from trainers.plans.report import Report, queries_of, report
from trainers.publishing.card import public_settings
from trainers.runs import RunFolder
from trainers.runs.records import Probe, QueryScores

FORMAT, VERSION = "rankscope-comparison", 1
ABOUT, CURVES, QUERIES = "comparison.json", "curves.csv", "queries.parquet"
COLUMNS = ("run", "arm", "step", "seconds", "key", "value")
IDENTITY = ("run", "arm", "row", "label")
"""Columns of the queries beside their metrics; the run as its place in ``comparison.json``."""


def write_comparison(folder: RunFolder, repository: str, to: Path) -> Mapping[str, Path]:
    """Write what is uploaded of a plan; files by name.

    Raises:
        RunError: it is no plan, has no result yet, or cannot be read.
    """
    children = Children(folder).all()
    made = report(folder, children)
    tables = {part.name or "results": part.table for part in made.parts if part.table is not None}
    if not tables:
        raise RunError(f"The comparison {folder.id} has no results yet. Push it when a run of it has finished.")
    contents = _Contents()
    for child in children:
        if child.outcome is not None:
            contents.add(child, folder.beside(child.id))
    about = {
        "format": FORMAT,
        "version": VERSION,
        "id": folder.id,
        "settings": public_settings(folder.config),
        "probes": contents.probes,
        "runs": contents.runs,
    }
    (to / ABOUT).write_text(json.dumps(about, indent=1, allow_nan=False), encoding="utf-8")
    contents.write(to)
    for name, table in tables.items():
        (to / f"{name}.csv").write_text(table.csv(), encoding="utf-8")
        (to / f"{name}-pairs.csv").write_text(table.pairs_csv(), encoding="utf-8")
    (to / "README.md").write_text(_card(folder, made, repository, to), encoding="utf-8")
    return {path.name: path for path in sorted(to.iterdir())}


class _Contents:
    """The runs of a plan, their numbers and their results per query."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.probes: list[dict[str, Any]] = []
        self._numbers: list[tuple[Any, ...]] = []
        self._queries: list[QueryScores | None] = []

    def add(self, child: Child, run: RunFolder) -> None:
        """Add a run that has ended."""
        assert child.outcome is not None
        try:
            state, probe, name = run.state(), run.probe(), child.planned.name
            self._numbers += [(name, s.arm, s.step, s.seconds, s.key, s.value) for s in run.scalars()]
        finally:
            run.db.close()
        queries = queries_of(run, len(child.planned.variants))
        self._queries.append(queries)
        about: dict[str, Any] = {
            "name": name,
            "title": child.planned.title,
            "phase": child.phase,
            "step": state.step,
            "seconds": state.seconds,
            "error": state.error,
            "revision": run.revision,
            "probe": None if probe is None else self._index(probe),
            "queries": None,
        }
        if queries is not None:
            tested = {"images": queries.images, "fingerprint": queries.fingerprint}
            about["queries"] = {"metrics": list(queries.metrics), **tested}
        self.runs.append(about)

    def _index(self, probe: Probe) -> int:
        about = {
            "levels": list(probe.hierarchy.levels),
            "names": [list(names) for names in probe.hierarchy.names],
            "title": probe.data_title,
            "fingerprint": probe.fingerprint,
            "part": probe.part,
            "labels": probe.labels.tolist(),
            "rows": probe.rows.tolist(),
        }
        if about not in self.probes:
            self.probes.append(about)
        return self.probes.index(about)

    def write(self, to: Path) -> None:
        """Write both tables."""
        with (to / CURVES).open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            table.writerows(self._numbers)
        if any(queries is not None for queries in self._queries):
            write_queries(self._queries, to / QUERIES)


def write_queries(runs: Sequence[QueryScores | None], path: Path) -> None:
    """Write results per query as plain columns of numbers, without nulls and not compressed: what is read takes no
    more memory than the file.
    """
    import pandas  # noqa: F401  pyarrow loads it at its first table, and plotly takes a half-loaded one for whole
    import pyarrow as pa
    import pyarrow.parquet as pq

    metrics = list(dict.fromkeys(name for scores in runs if scores is not None for name in scores.metrics))
    types = {name: pa.int64() if name == "row" else pa.int32() for name in IDENTITY} | dict.fromkeys(
        metrics, pa.float32()
    )
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in types.items()])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for run, scores in enumerate(runs):
            for arm in range(0 if scores is None else len(scores.values)):
                assert scores is not None
                count = len(scores.rows)
                identity = [np.full(count, run), np.full(count, arm), scores.rows, scores.labels]
                missing = np.full(count, np.nan)
                values = [
                    scores.values[arm, scores.metrics.index(name)] if name in scores.metrics else missing
                    for name in metrics
                ]
                columns = [
                    pa.array(column, type=kind)
                    for column, kind in zip((*identity, *values), types.values(), strict=True)
                ]
                writer.write_table(pa.table(columns, schema=schema))


def _card(folder: RunFolder, made: Report, repository: str, to: Path) -> str:
    from huggingface_hub import DatasetCardData

    config = sweep_of(folder.config)
    plan = plan_of(config)
    name = repository.rpartition("/")[2]
    tables = sorted(path.name for path in to.iterdir() if path.suffix in (".csv", ".parquet"))
    header = DatasetCardData(
        pretty_name=made.title,
        tags=["rankscope", FORMAT, "metric-learning"],
        configs=[{"config_name": table.rpartition(".")[0], "data_files": table} for table in tables],
    )
    steps = sorted({child.outcome.steps for child in made.children if child.outcome and child.outcome.finished})
    span = f"{steps[0]:,}" if steps[:1] == steps[-1:] else f"{steps[0]:,} to {steps[-1]:,}"
    return f"""---
{header.to_yaml()}
---

# {name}

{markdown_text(made.title)}. A comparison of trainings by Rankscope: {total(made.children).message}, of {span} steps.
{markdown_text(plan.summary(config, plan.data_title(config)))}.

{made.markdown()}
## Open it

On the page of Rankscope: tab Compare, *Open from the Hub*, `{repository}`. It computes tables and verdicts anew.
`curves.csv` holds every number of the trainings, `queries.parquet` the results per query of the whole test set that
the intervals stand on (`run` is the place of the run in `comparison.json`, counted from 0).
"""
