"""``python -m trainers.mending.evidence``: does mending help? The README's table, over several seeds.

Every recipe starts from the same shipped model. The seed decides batches and what is removed from training scenes; the
questions are the same for all. One file per recipe and seed is kept, so that an interrupted command goes on where it
was.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trainers.errors import UserError
from trainers.metrics.bootstrap import bootstrap
from trainers.types import MendChoice, RunConfig

RECIPES: dict[str, Mapping[str, Any] | None] = {
    "base": None,
    "D": {"removed": False},
    "D + D′, noun phrases, Telea": {},
    "D′ only": {"originals": "none"},
    "D + D′, prompts, Telea": {"text": "prompts"},
    "D + D′, noun phrases, zero": {"fill": "zero"},
}
COLUMNS = {
    "ODmAP_at_1": "ODmAP@1",
    "ODmAP_at_5": "@5",
    "ODmAP_at_10": "@10",
    "hallucination_at_1": "names what is gone @1",
    "rerendered_ODmAP_at_1": "drawn again: ODmAP@1",
    "i2t_R_at_1": "i2t R@1",
    "i2t_R_at_5": "R@5",
    "t2i_R_at_1": "t2i R@1",
}


def main(argv: list[str]) -> int:
    """Train and score what is not there yet, and print the table."""
    from trainers.mending.cli import LEARNING_RATE, STEPS

    parser = argparse.ArgumentParser(
        prog="python -m trainers.mending.evidence",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--learning-rate", type=float, default=LEARNING_RATE)
    parser.add_argument("--kept", type=Path, default=Path("runs") / "evidence", help="where the values are kept")
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES), help="rows of the table")
    parser.add_argument("--scenes", type=int, default=None, help="train scenes; the drawn scenes' default if not given")
    parser.add_argument("--threads", type=int, default=None)
    arguments = parser.parse_args(argv)
    try:
        for seed in arguments.seeds:
            for name in arguments.recipes:
                if RECIPES[name] is None and seed != arguments.seeds[0]:
                    continue  # nothing is trained, so nothing depends on the seed
                path = arguments.kept / f"{list(RECIPES).index(name)}_{seed}.json"
                if not path.is_file():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(json.dumps(values_of(name, seed, arguments)))
                    print(f"{name}, seed {seed}: {_short(json.loads(path.read_text()))}", flush=True)
    except UserError as error:
        print(f"rankscope: {error}", file=sys.stderr)
        return 1
    print(table(read(arguments.kept, arguments.recipes, arguments.seeds)))
    return 0


def values_of(name: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Fine-tune one recipe and put the whole exam to it: name of a metric to its values, one per query."""
    from trainers.mending.cli import WEIGHT_DECAY, fewer_scenes
    from trainers.mending.exam import Examiner
    from trainers.mending.mender import Mender
    from trainers.store import RunFolder

    recipe = RECIPES[name]
    config = RunConfig(
        losses=(),
        mend=MendChoice(
            scenes=fewer_scenes(arguments.scenes), recipes=({"removed": False} if recipe is None else dict(recipe),)
        ),
        learning_rate=arguments.learning_rate,
        weight_decay=WEIGHT_DECAY,
        steps=arguments.steps,
        minutes=None,
        seed=seed,
        snapshot_steps=10_000_000,  # the exam comes at the end
        threads=arguments.threads,
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder.create(Path(scratch), config)
        mender = Mender(folder)
        while recipe is not None and mender.advance(60.0):
            print(f"  {name}, seed {seed}: step {mender.step}", file=sys.stderr, flush=True)
        marks = Examiner(mender.exam, mender.arms[0].model).ask(mender.arms[0].model)
        folder.db.close()
    values = {key: np.where(np.isnan(found), None, found).tolist() for key, found in marks.values.items()}
    return {"seconds": mender.seconds, "distinct_top1": marks.filled.counts["distinct_top1"], "values": values}


def read(kept: Path, recipes: Sequence[str], seeds: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
    """What is kept of each recipe, one entry per seed that is there."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in recipes:
        paths = [kept / f"{list(RECIPES).index(name)}_{seed}.json" for seed in seeds]
        found[name] = [json.loads(path.read_text()) for path in paths if path.is_file()]
    return found


def table(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Markdown: means over seeds in per cent, with 95 % bootstrap intervals over the queries."""
    heads = ["fine-tuned on", *COLUMNS.values(), "distinct first answers", "seeds"]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for name, runs in found.items():
        if not runs:
            continue
        cells = [_cell(_mean_over_seeds(runs, key)) for key in COLUMNS]
        distinct = np.mean([run["distinct_top1"] for run in runs])
        lines.append("| " + " | ".join([name, *cells, f"{distinct:.0f}", str(len(runs))]) + " |")
    if found.get("D") and found.get("D + D′, noun phrases, Telea"):
        lines += ["", "D + D′ (noun phrases, Telea) minus D, in points:"]
        for key in ("ODmAP_at_1", "rerendered_ODmAP_at_1", "i2t_R_at_5"):
            both = [_mean_over_seeds(found[name], key) for name in ("D + D′, noun phrases, Telea", "D")]
            lines.append(f"- {COLUMNS[key]}: {_cell(both[0] - both[1], sign=True)}")
    return "\n".join(lines)


def _mean_over_seeds(runs: Sequence[Mapping[str, Any]], key: str) -> np.ndarray:
    return np.mean([np.array(run["values"][key], dtype=np.float64) for run in runs], axis=0)


def _cell(values: np.ndarray, sign: bool = False) -> str:
    found = bootstrap(values)
    mean = f"{100 * found.mean:+.1f}" if sign else f"{100 * found.mean:.1f}"
    return f"{mean} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _short(run: Mapping[str, Any]) -> str:
    means = {key: float(np.nanmean(np.array(run["values"][key], dtype=np.float64))) for key in COLUMNS}
    return f"{run['seconds']:.0f} s, " + ", ".join(f"{key} {100 * value:.1f}" for key, value in means.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
