"""``python -m tests.make.evidence``: does fine-tuning help? The table of ``docs/object-removal.md``, over seeds.

Every row starts from the same shipped model. The seed decides batches, what is removed from training scenes and which
of the pairs are taken; the queries are the same for all. One file per row and seed is kept, so that an interrupted
command goes on where it was, and so that two commands may share the work: one with ``--seeds 0``, the other with
``--seeds 1 2``. The table has what is kept, with the number of seeds of each row; intervals and verdicts are those of
:mod:`trainers.comparison`, queries grouped by the class that is taken out of their image.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.make._command import add_scene_flags, command, fewer_scenes, parser
from trainers.comparison import Cell, Table, compare
from trainers.config import RunConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.metrics import describe
from trainers.object_removal.benchmark import scored_on
from trainers.object_removal.gallery import against
from trainers.runs.records import QueryScores


class Row(NamedTuple):
    """One row of the table: the name of its files, its title, and what is trained on.

    ``recipe`` is read by :func:`trainers.kinds.finetuning.recipes.recipe`; None: nothing is trained.
    """

    name: str
    title: str
    recipe: Mapping[str, Any] | None


def _ratio(ratio: float) -> Row:
    """Make a point of the paper's figure 4: so many pairs from up to five captions of an image."""
    return Row(f"ratio_{ratio:g}", f"D + D′, {ratio:g}", {"ratio": ratio, "captions_each": 5})


LEAD, PLAIN = "mended", "originals"
ROWS = {
    row.name: row
    for row in (
        Row("base", "nothing (base)", None),
        Row(PLAIN, "D", {"removed": False}),
        *(_ratio(ratio) for ratio in (0.02, 0.04)),
        Row(LEAD, "D + D′, 0.08 as published", {}),
        *(_ratio(ratio) for ratio in (0.2, 0.5)),
        Row("removed_only", "D′ only, 0.08", {"originals": "none"}),
        Row("prompts", "D + D′, 0.08, prompts", {"text": "prompts"}),
        Row("zero", "D + D′, 0.08, zero fill", {"fill": "zero"}),
    )
}
COLUMNS = (
    *("ODmAP_at_1", "ODmAP_at_5", "ODmAP_at_10", "hallucination_at_1", "rerendered_ODmAP_at_1"),
    *("i2t_R_at_1", "i2t_R_at_5", "t2i_R_at_1", "distinct_top1"),
)
TOLD = ("ODmAP_at_1", "rerendered_ODmAP_at_1", "i2t_R_at_1", "i2t_R_at_5")
SEEDS = 5
"""Of the two main rows; the others have those that are kept."""


@command
def main(argv: list[str]) -> None:
    """Train and score the rows that are missing, print the table, and write the verdicts on every pair beside them."""
    from trainers.image_text.models import MODELS

    flags = parser("evidence", __doc__)
    flags.add_argument("--seeds", type=int, nargs="+", default=list(range(SEEDS)))
    flags.add_argument("--steps", type=int, default=FinetuningConfig().steps)
    flags.add_argument("--learning-rate", type=float, default=MODELS[FinetuningConfig().model.name].learning_rate)
    flags.add_argument("--kept", type=Path, default=Path("runs") / "evidence", help="where the values are kept")
    flags.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), help="rows of the table")
    flags.add_argument("--no-train", dest="train", action="store_false", help="the table of what is kept")
    add_scene_flags(flags)
    arguments = flags.parse_args(argv)
    for seed in arguments.seeds if arguments.train else ():
        for name in arguments.rows:
            _have(ROWS[name], seed, arguments)
    rows = read(arguments.kept, arguments.rows, arguments.seeds)
    print(document(rows))
    (arguments.kept / "pairs.csv").write_text(compared(rows).pairs_csv())


def _have(row: Row, seed: int, arguments: argparse.Namespace) -> None:
    """Train and score a row unless its values are there, from the same settings."""
    path = _path(arguments.kept, row, seed)
    asked = {
        "recipe": row.recipe,
        "scenes": arguments.scenes,
        "steps": arguments.steps if row.recipe is not None else 0,
        "learning_rate": arguments.learning_rate if row.recipe is not None else 0.0,
    }
    kept = json.loads(path.read_text()) if path.is_file() else {}
    if kept.get("asked") == asked and "classes" in kept:
        return
    values = {"asked": asked} | values_of(row, _config(row, seed, arguments))
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(f".{os.getpid()}")  # another process may be about the same row
    whole.write_text(json.dumps(values))
    whole.replace(path)
    print(f"{row.title}, seed {seed}: {_short(values)}", flush=True)


def _path(kept: Path, row: Row, seed: int) -> Path:
    return kept / (f"{row.name}_{seed}.json" if row.recipe is not None else f"{row.name}.json")


def _config(row: Row, seed: int, arguments: argparse.Namespace) -> RunConfig:
    trained = row.recipe is not None
    recipe = dict(row.recipe) if row.recipe is not None else {"removed": False}
    return FinetuningConfig(
        scenes=fewer_scenes(arguments.scenes),
        recipes=(recipe,),
        learning_rate=arguments.learning_rate,
        steps=arguments.steps if trained else 1,
        seed=seed if trained else 0,  # nothing is trained, so nothing depends on the seed
        snapshot_steps=10_000_000,  # the benchmark comes at the end
        threads=arguments.threads,
    )


def values_of(row: Row, config: RunConfig) -> dict[str, Any]:
    """Fine-tune one row and evaluate it on the whole benchmark.

    Returns:
        plain values: seconds, training pairs, and by metric its values, one per query; by what they are values of
        (see :meth:`trainers.object_removal.benchmark.Benchmark.classes_of`) the class of each.
    """
    from trainers.kinds.finetuning.loop import FinetuningLoop
    from trainers.object_removal.benchmark import Evaluator
    from trainers.runs import RunFolder

    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder.create(Path(scratch), config)
        loop = FinetuningLoop(folder)
        while row.recipe is not None and loop.advance(60.0):
            print(f"  {row.title}, seed {config.seed}: step {loop.step}", file=sys.stderr, flush=True)
        (arm,) = loop.arms
        result = Evaluator(loop.benchmark, arm.model).evaluate(arm.model)
        folder.db.close()
    pairs = {key: getattr(arm.examples, key) for key in ("originals", "removed", "share", "edited")}
    values = {
        key: [None if math.isnan(number) else number for number in each.tolist()] for key, each in result.values.items()
    }
    return {
        "seconds": loop.seconds,
        "pairs": pairs if row.recipe is not None else None,
        "gallery": len(loop.benchmark.gallery),
        "total": loop.benchmark.total,
        "distinct_top1": result.filled.counts["distinct_top1"],
        "classes": {scored_on(key): loop.benchmark.classes_of(scored_on(key)) for key in values},
        "values": values,
    }


def read(kept: Path, rows: Sequence[str], seeds: Sequence[int]) -> dict[str, dict[int, dict[str, Any]]]:
    """Read the kept values of each row, by its name and seed; a row of which nothing is trained has the seed 0."""
    kept_rows: dict[str, dict[int, dict[str, Any]]] = {}
    for name in rows:
        paths = {seed: _path(kept, ROWS[name], seed) for seed in (seeds if ROWS[name].recipe is not None else (0,))}
        kept_rows[name] = {seed: json.loads(path.read_text()) for seed, path in paths.items() if path.is_file()}
    return kept_rows


def compared(rows: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> Table:
    """Compare the rows over their seeds; what nothing is trained of stands apart, under 0 steps."""
    return Table(
        metrics=tuple(map(describe, COLUMNS)),
        conditions=("steps",),
        comparisons=tuple(compare(list(_cells(rows, key)), key) for key in COLUMNS),
        told=TOLD,
        against=ROWS[PLAIN].title,
    )


def _cells(rows: Mapping[str, Mapping[int, Mapping[str, Any]]], key: str) -> Iterator[Cell]:
    for name, runs in rows.items():
        for seed, run in runs.items():
            scores = query_scores(run, key) if key in run["values"] else None
            mean = run[key] if scores is None else float(np.nanmean(scores.values))
            condition = {"steps": run["asked"]["steps"]}
            yield Cell(variant=ROWS[name].title, condition=condition, seed=seed, metrics={key: mean}, queries=scores)


def query_scores(run: Mapping[str, Any], key: str) -> QueryScores:
    """Return one metric of every query of a run."""
    values, classes = np.array(run["values"][key], dtype=np.float32), run["classes"][scored_on(key)]
    return QueryScores(
        metrics=(key,),
        values=values[None, None],
        labels=np.unique(classes, return_inverse=True)[1].astype(np.int32),
        rows=np.arange(len(values)),
        images=len(values),
        fingerprint=f"{run['asked']['scenes']}",
    )


def document(rows: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> str:
    """Markdown: what was measured, the table with its verdicts, and what was trained on."""
    known = {name: runs for name, runs in rows.items() if runs}
    if not known:
        return "No row has been made yet."
    first = next(iter(next(iter(known.values())).values()))
    scope = against(len(first["values"]["ODmAP_at_1"]), first["gallery"], first["total"])
    text = f"{scope}.\n\n{compared(known).markdown()}"
    if "base" in known:
        text += f"\n{ROWS['base'].title}: nothing is trained, so its intervals are over test classes only.\n"
    shares = [
        f"{100 * np.mean([run['pairs']['share'] for run in made]):.1f} % of {ROWS[name].title}"
        for name, runs in known.items()
        if (made := _made(runs))
    ]
    if shares:
        text += f"\nD′ in what is trained on: {'; '.join(shares)}.\n"
    edited = [run["pairs"]["edited"] for name in known if name != "prompts" for run in _made(known[name])]
    if edited:
        share = "every caption" if min(edited) == 1 else f"at least {min(edited):.1%} of the captions"
        text += f"\nA phrase was deleted from {share} of D′, prompts apart.\n"
    return text


def _made(runs: Mapping[int, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the runs of a row that are trained on object-removed pairs."""
    return [run for run in runs.values() if run["pairs"] and run["pairs"]["removed"]]


def _short(run: Mapping[str, Any]) -> str:
    means = {key: float(np.nanmean(np.array(run["values"][key], dtype=np.float64))) for key in COLUMNS[:-1]}
    return f"{run['seconds']:.0f} s, " + ", ".join(f"{key} {100 * value:.1f}" for key, value in means.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
