"""A plan as a dataset on the Hub, and made into run folders again: recordings that are looked at and never trained.

README.md                the card: the tables, the verdicts, how it is opened
comparison.safetensors   settings of the plan; of each run where it ended, every number that was written while it
                         trained, the labels of its probe, and its results per query of the whole test set
results.csv              the table, and results-pairs.csv the verdicts; of several parts under the names of these

Folders of this machine, file names, images and weights stay behind. Nothing in what is opened is trusted: it is plain
numbers and JSON, bounded; settings are read as those of any run folder, and the runs are those that the plan itself
asks for. Tables and verdicts are computed, not read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError

from trainers.comparison.markup import markdown_text
from trainers.errors import DataError, RunError, UserError, VersionError
from trainers.plans.base import check_seeds, plan_of
from trainers.plans.children import Children, total
from trainers.plans.config import sweep_of
from trainers.plans.planned import Child
from trainers.plans.report import Report, queries_of, report
from trainers.publishing.card import public_settings
from trainers.runs import RunFolder, is_id
from trainers.runs.atomic_files import as_tensor, read_tensors, scratch, write_tensors
from trainers.runs.checked import json_object, real, text, texts, whole
from trainers.runs.folder import created, id_within
from trainers.runs.identity import read_config
from trainers.runs.probe import packed, packed_scores, unpacked, unpacked_scores
from trainers.runs.records import Probe, RunState, Scalar

if TYPE_CHECKING:
    from torch import Tensor

FORMAT, VERSION = "rankscope-comparison", 2
RUNS = "comparison.safetensors"
MEGABYTE = 2**20
MOST_BYTES = 208 * MEGABYTE
"""Most bytes of a comparison that is fetched."""
ORIGIN = "hub"
"""Name of the file that says where a plan is from."""
_MOST_LETTERS = 16 * MEGABYTE  # of all texts in one
_MOST_NUMBERS = 2_000_000  # written while its runs trained
_COLUMNS = 5  # of these numbers: arm, step, seconds, place of the key, value
_ENDED = ("finished", "failed", "stopped")


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
    about = {"version": VERSION, "id": folder.id, "settings": public_settings(folder.config), "runs": contents.runs}
    described = {"format": FORMAT, "about": json.dumps(about, allow_nan=False)}
    write_tensors(to / RUNS, contents.tensors, described | contents.texts)
    for name, table in tables.items():
        (to / f"{name}.csv").write_text(table.csv(), encoding="utf-8")
        (to / f"{name}-pairs.csv").write_text(table.pairs_csv(), encoding="utf-8")
    (to / "README.md").write_text(_card(folder, made, repository, to), encoding="utf-8")
    return {path.name: path for path in sorted(to.iterdir())}


class _Contents:
    """The runs of a plan as tensors and texts, each named ``place of the run/part/...``."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.tensors: dict[str, Tensor] = {}
        self.texts: dict[str, str] = {}

    def add(self, child: Child, run: RunFolder) -> None:
        """Add a run that has ended."""
        try:
            state, probe, numbers = run.state(), run.probe(), run.scalars()
        finally:
            run.db.close()
        keys = {key: place for place, key in enumerate(dict.fromkeys(number.key for number in numbers))}
        rows = [(n.arm, n.step, n.seconds, keys[n.key], n.value) for n in numbers]
        self._add("numbers", {"rows": as_tensor(np.array(rows).reshape(-1, _COLUMNS), np.float64)}, {})
        if probe is not None:
            self._add("probe", *packed(_shared(probe), 0))
        queries = queries_of(run, len(child.planned.variants))
        if queries is not None:
            self._add("queries", *packed_scores(queries))
        about = {"name": child.planned.name, "phase": child.phase, "step": state.step, "seconds": state.seconds}
        self.runs.append(about | {"error": state.error, "revision": run.revision, "keys": list(keys)})

    def _add(self, part: str, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
        name = f"{len(self.runs)}/{part}"
        self.tensors |= {f"{name}/{key}": tensor for key, tensor in tensors.items()}
        self.texts |= {f"{name}/{key}": words for key, words in metadata.items()}


def _shared(probe: Probe) -> Probe:
    """Return what others learn of a probe."""
    return Probe(
        labels=probe.labels,
        rows=probe.rows,
        hierarchy=probe.hierarchy,
        data_title=probe.data_title,
        fingerprint=probe.fingerprint,
        part=probe.part,
    )


def _card(folder: RunFolder, made: Report, repository: str, to: Path) -> str:
    from huggingface_hub import DatasetCardData

    config = sweep_of(folder.config)
    plan = plan_of(config)
    name = repository.rpartition("/")[2]
    tables = sorted(path.name for path in to.glob("*.csv"))
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

On the page of Rankscope: tab Compare, *Open from the Hub*, `{repository}`. It computes tables and verdicts anew, from
`{RUNS}`: every number of the trainings (`0/numbers/rows`: arm, step, seconds, place of the key, value) and the
results per query of the whole test set that the intervals stand on (`0/queries/values`), of each run.
"""


def reopen(file: Path, name: str, commit: str, root: Path) -> str:
    """Make runs in ``root`` of a comparison; returns the id of its plan, the same for the same commit.

    Args:
        file: its :data:`RUNS`.
        name: ``owner/name`` of the dataset.

    Raises:
        DataError: it is no comparison, of another version or damaged.
    """
    try:
        made = _Reopened(file)
        run_id = id_within(made.id, f"{name}@{commit}")
        if not (root / run_id / "config.json").is_file():
            _write(made, run_id, f"{name}@{commit}", root)
    except VersionError as error:
        raise DataError(f"The comparison {name!r} cannot be opened. {error}") from error
    except (UserError, SafetensorError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        said = str(error)[:300].rstrip(".")
        raise DataError(f"The dataset {name!r} holds no comparison that can be opened: {said}.") from error
    return run_id


def origin(folder: RunFolder) -> str:
    """Return ``owner/name@commit`` of a plan that was opened from the Hub; empty: it was not."""
    path = folder.path / ORIGIN
    try:
        return path.read_text(encoding="utf-8")[:300] if folder.read_only else ""
    except (OSError, ValueError):
        return ""


class _Reopened:
    """The contents of a comparison, of which nothing is trusted."""

    def __init__(self, file: Path) -> None:
        tensors, described = read_tensors(file)
        if described.get("format") != FORMAT or sum(map(len, described.values())) > _MOST_LETTERS:
            raise ValueError("it is of another format, or its texts are too long")
        about = json_object(described["about"], "comparison")
        if about.get("version") != VERSION:
            raise VersionError(f"It is of version {about.get('version')!r:.20}, and version {VERSION} is read here.")
        self.id = text(about["id"], "id")
        if not is_id(self.id) or created(self.id) > time.time() + 86400:
            raise ValueError("its id is none")
        self.config = sweep_of(read_config(json.dumps(about["settings"])))
        plan = plan_of(self.config)
        check_seeds(self.config)
        plan.check_shared(self.config)
        plan.check_plan(self.config)
        self.places = {text(run["name"], "name"): place for place, run in enumerate(about["runs"])}
        if len(self.places) < len(about["runs"]):
            raise ValueError("one of its runs is there twice")
        self._runs = about["runs"]
        self._tensors, self._texts = _by_part(tensors.items()), _by_part(described.items())
        numbers = [part["rows"] for name, part in self._tensors.items() if name.endswith("/numbers")]
        if sum(map(len, numbers)) > _MOST_NUMBERS:
            raise ValueError(f"its runs have more than {_MOST_NUMBERS:,} numbers")

    def add(self, child: Child, plan: RunFolder) -> None:
        """Make the folder of a run."""
        place, config, title = self.places[child.planned.name], child.planned.config, child.planned.title
        run = self._runs[place]
        probe, queries = f"{place}/probe", f"{place}/queries"
        phase, error = text(run["phase"], "phase"), run["error"]
        if phase not in _ENDED:
            raise ValueError(f"the phase of a run needs one of {', '.join(_ENDED)}; got {phase!r:.40}")
        state = RunState(
            phase=phase,
            step=whole(run["step"], "step"),
            seconds=real(run["seconds"], "seconds"),
            error=None if error is None else text(error, "error")[:2000],
        )
        root = plan.path.parent
        folder = RunFolder.create(root, config, run_id=child.id, part_of=plan.id, place_in_plan=title)
        try:
            folder.drop_ballast()
            keys = texts(run["keys"], "keys")
            folder.db.add_metrics(_numbers(self._tensors[f"{place}/numbers"]["rows"], keys, config.arms))
            if run["revision"]:
                folder.pin(text(run["revision"], "revision")[:64])
            if probe in self._tensors:
                folder.write_probe(_shared(unpacked(self._tensors[probe], self._texts[probe])), ())
            if queries in self._tensors:
                folder.write_queries(unpacked_scores(self._tensors[queries], self._texts[queries], config.arms))
            folder.db.set_state(state)
        finally:
            folder.db.close()


def _by_part(named: Iterable[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    parts: dict[str, dict[str, Any]] = {}
    for name, value in named:
        part, _, key = name.rpartition("/")
        parts.setdefault(part, {})[key] = value
    return parts


def _numbers(tensor: Tensor, keys: tuple[str, ...], arms: int) -> list[Scalar]:
    rows = tensor.numpy()
    if rows.dtype != np.float64 or rows.ndim != 2 or rows.shape[1] != _COLUMNS:
        raise ValueError("the numbers of a run have the wrong shape or type")
    seconds, counts = rows[:, 2], rows[:, [0, 1, 3]]
    if not np.isfinite(rows[:, :4]).all() or np.isnan(rows[:, 4]).any():
        raise ValueError("a run has a number that is none")
    if (counts < 0).any() or (counts % 1).any() or (counts >= (arms, 2**53, len(keys))).any():
        raise ValueError("a run has numbers of steps, keys or losses that it does not have")
    return [
        Scalar(arm=int(arm), step=int(step), seconds=float(second), key=keys[int(key)][:200], value=float(value))
        for (arm, step, key), second, value in zip(counts, seconds, rows[:, 4], strict=True)
    ]


def _write(made: _Reopened, run_id: str, seen: str, root: Path) -> None:
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


def _add_runs(made: _Reopened, plan: RunFolder) -> RunState:
    """Make the runs that the plan asks for, as far as there are results; returns the state of the plan."""
    children = Children(plan)
    while fresh := [c for c in children.all() if c.phase == "planned" and c.planned.name in made.places]:
        for child in fresh:
            made.add(child, plan)
    every = children.all()
    if all(child.outcome is None for child in every):
        raise ValueError("it has no run that its settings ask for")
    phase = "finished" if all(child.outcome is not None for child in every) else "stopped"
    return replace(total(every), phase=phase, message="")
