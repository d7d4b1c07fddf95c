"""``python -m explorer.make.evidence``: does fine-tuning help? The README's table, over several seeds.

Every row starts from the same shipped model. The seed decides batches, what is removed from training scenes and which
of the pairs are taken; the questions are the same for all. One file per row and seed is kept, so that an interrupted
command goes on where it was, and so that two commands may share the work: one with ``--seeds 0``, the other with
``--seeds 1 2``, and once both are done one without, which prints the whole table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from explorer.make._command import add_scene_flags, command, fewer_scenes, parser
from trainers.config import RunConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.metrics import describe
from trainers.metrics.bootstrap import bootstrap


class Row(NamedTuple):
    """One row of the table: the name of its files, its title, and what is trained on.

    ``recipe`` is read by :func:`trainers.kinds.finetuning.recipes.recipe`; None: nothing is trained.
    """

    name: str
    title: str
    recipe: Mapping[str, Any] | None


def _ratio(ratio: float) -> Row:
    """A point of the paper's figure 4: so many pairs from up to five captions of an image."""
    return Row(f"ratio_{ratio:g}", f"D + D′, {ratio:g}", {"ratio": ratio, "captions_each": 5})


LEAD, PLAIN = "mended", "originals"
ROWS = {
    row.name: row
    for row in (
        Row("base", "nothing (base)", None),
        Row(PLAIN, "D", {"removed": False}),
        *(_ratio(ratio) for ratio in (0.02, 0.04)),
        Row(LEAD, "**D + D′, 0.08 as published**", {}),
        *(_ratio(ratio) for ratio in (0.2, 0.5)),
        Row("removed_only", "D′ only, 0.08", {"originals": "none"}),
        Row("prompts", "D + D′, 0.08, prompts", {"text": "prompts"}),
        Row("zero", "D + D′, 0.08, zero fill", {"fill": "zero"}),
    )
}
COLUMNS = (
    *("ODmAP_at_1", "ODmAP_at_5", "ODmAP_at_10", "hallucination_at_1", "rerendered_ODmAP_at_1"),
    *("i2t_R_at_1", "i2t_R_at_5", "t2i_R_at_1"),
)


@command
def main(argv: list[str]) -> None:
    """Train and score the rows that are missing, and print the table."""
    from trainers.image_text.models import MODELS

    flags = parser("evidence", __doc__)
    flags.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    flags.add_argument("--steps", type=int, default=FinetuningConfig().steps)
    flags.add_argument("--learning-rate", type=float, default=MODELS[FinetuningConfig().model.name].learning_rate)
    flags.add_argument("--kept", type=Path, default=Path("runs") / "evidence", help="where the values are kept")
    flags.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), help="rows of the table")
    add_scene_flags(flags)
    arguments = flags.parse_args(argv)
    for seed in arguments.seeds:
        for name in arguments.rows:
            _have(ROWS[name], seed, arguments)
    print(table(read(arguments.kept, arguments.rows, arguments.seeds)))


def _have(row: Row, seed: int, arguments: argparse.Namespace) -> None:
    """Train and score a row unless its values are there, from the same settings."""
    path = _path(arguments.kept, row, seed)
    asked = {
        "recipe": row.recipe,
        "scenes": arguments.scenes,
        "steps": arguments.steps if row.recipe is not None else 0,
        "learning_rate": arguments.learning_rate if row.recipe is not None else 0.0,
    }
    if path.is_file() and json.loads(path.read_text())["asked"] == asked:
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
    """Fine-tune one row and evaluate it on the whole benchmark: name of a metric to its values, one per query."""
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
    values = {key: np.where(np.isnan(each), None, each).tolist() for key, each in result.values.items()}
    return {
        "seconds": loop.seconds,
        "pairs": pairs if row.recipe is not None else None,
        "distinct_top1": result.filled.counts["distinct_top1"],
        "values": values,
    }


def read(kept: Path, rows: Sequence[str], seeds: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
    """The kept values of each row, by its name: one entry per seed that was run."""
    kept_rows: dict[str, list[dict[str, Any]]] = {}
    for name in rows:
        paths = dict.fromkeys(_path(kept, ROWS[name], seed) for seed in seeds)
        kept_rows[name] = [json.loads(path.read_text()) for path in paths if path.is_file()]
    return kept_rows


def table(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Markdown: means over seeds in per cent, with 95 % bootstrap intervals over the queries."""
    heads = [
        "fine-tuned on",
        "D′ in what is trained on, %",
        *(describe(key).title for key in (*COLUMNS, "distinct_top1")),
        "seeds",
    ]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for name, runs in rows.items():
        if not runs:
            continue
        cells = [_cell(_mean_over_seeds(runs, key)) for key in COLUMNS]
        distinct = np.mean([run["distinct_top1"] for run in runs])
        lines.append(
            "| " + " | ".join([ROWS[name].title, _share(runs), *cells, f"{distinct:.0f}", str(len(runs))]) + " |"
        )
    lines += ["", *_remarks(rows)]
    return "\n".join(lines)


def _remarks(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Remarks below the table: how many captions were edited, and the difference between the two main rows."""
    made = [pairs["edited"] for name in rows if name != "prompts" for pairs in _removed(rows[name])]
    lines = []
    if made:
        share = "every caption" if min(made) == 1 else f"at least {min(made):.1%} of the captions"
        lines = [f"A phrase was deleted from {share} of D′, prompts apart."]
    if rows.get(PLAIN) and rows.get(LEAD):
        lines += ["", "D + D′ at the paper's 0.08 minus D, in points:"]
        for key in ("ODmAP_at_1", "rerendered_ODmAP_at_1", "i2t_R_at_1", "i2t_R_at_5"):
            both = [_mean_over_seeds(rows[name], key) for name in (LEAD, PLAIN)]
            lines.append(f"- {describe(key).title}: {_cell(both[0] - both[1], sign=True)}")
    return lines


def _mean_over_seeds(runs: Sequence[Mapping[str, Any]], key: str) -> np.ndarray:
    return np.mean([np.array(run["values"][key], dtype=np.float64) for run in runs], axis=0)


def _removed(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [run["pairs"] for run in runs if run["pairs"] and run["pairs"]["removed"]]


def _share(runs: Sequence[Mapping[str, Any]]) -> str:
    """How much of what is trained on is D'; empty where nothing is trained."""
    shares = [run["pairs"]["share"] for run in runs if run["pairs"]]
    return f"{100 * np.mean(shares):.1f}" if shares else "–"


def _cell(values: np.ndarray, sign: bool = False) -> str:
    interval = bootstrap(values)
    mean = f"{100 * interval.mean:+.1f}" if sign else f"{100 * interval.mean:.1f}"
    return f"{mean} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _short(run: Mapping[str, Any]) -> str:
    means = {key: float(np.nanmean(np.array(run["values"][key], dtype=np.float64))) for key in COLUMNS}
    return f"{run['seconds']:.0f} s, " + ", ".join(f"{key} {100 * value:.1f}" for key, value in means.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
