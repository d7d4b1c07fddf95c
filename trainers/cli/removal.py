"""The verbs about removed objects: ``score`` of an image-text model, and what an encoder's ``background`` tells it."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainers.cells import counted, csv_text
from trainers.cli.flags import add_flags, given, runs_flag
from trainers.cli.output import Table, json_flag, print_json, progress_bar, write_file
from trainers.cli.parser import RunNames, verb
from trainers.config import SceneChoice
from trainers.object_removal.reliance.settings import Settings
from trainers.parameters import Choice, check_all, parameter

if TYPE_CHECKING:
    from trainers.object_removal.reliance.results import BackgroundResult


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """The settings of a score."""

    scenes: SceneChoice = parameter(factory=SceneChoice, help="Which images with captions.")
    model: Choice = parameter(
        Choice(name="tiny_clip"),
        registry="trainers.image_text.models:MODELS",
        help="Image-text model.",
    )
    fill: str = parameter(
        "telea", registry="trainers.object_removal.fills:FILLS", help="What is painted over the object."
    )
    queries: int | None = parameter(None, low=1, help="Most removals; all of them if not given.")
    seed: int | None = parameter(
        None, low=0, high=2**31 - 1, help="Seed of the order of images and of the choice of classes, as on the page."
    )


def _equip_score(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, ScoreSettings)
    parser.add_argument("--every", action="store_true", help="Remove each allowed class of an image instead of one.")
    json_flag(parser)


@verb("score", _equip_score)
def score(arguments: argparse.Namespace) -> int:
    """Measure ODmAP@k and recall of an image-text model."""
    from trainers.data.captioned.loader import load_chosen
    from trainers.data.synthetic.scenes import are_drawn
    from trainers.image_text.models import MODELS
    from trainers.object_removal.benchmark import BenchmarkEvaluator, make_benchmark
    from trainers.object_removal.benchmark_measures import INTERVALS
    from trainers.object_removal.vocabulary import load_words

    settings = ScoreSettings(**given(arguments, ScoreSettings))
    check_all(settings, "A score")
    descriptor = MODELS[settings.model.name]
    with progress_bar() as tell:
        model = descriptor.build(settings.model.parameters).eval()
        benchmark = make_benchmark(
            load_chosen(settings.scenes, tell),
            load_words(),
            model.side,
            fill=settings.fill,
            limit=settings.queries,
            every=arguments.every,
            seed=settings.seed or 0,
            shuffled=settings.seed is not None,
            progress=tell,
        )
        result = BenchmarkEvaluator(benchmark, model).evaluate(model, tell)
    if not descriptor.natural_images and not are_drawn(benchmark.scenes):
        said = "rankscope: This model was trained on drawn scenes only; it does not know photographs."
        print(said, file=sys.stderr)
    tally, counts, intervals = benchmark.tally, result.filled.counts, result.intervals()
    if arguments.json:
        numbers = {name: dataclasses.asdict(interval) for name, interval in intervals.items()}
        about = {"scope": benchmark.scope, "images": tally.images, "left_out": tally.left_out(), "counts": counts}
        print_json(about | {"numbers": numbers})
        return 0
    print(f"{benchmark.scope}, of {counted(tally.images, 'image')}")
    for reason, count in tally.left_out().items():
        print(f"  left out, {reason}: {count}")
    for name, count in counts.items():
        print(f"  {name.replace('_', ' ')}: {count}")
    print(INTERVALS)
    rows = [(name, *(f"{value:.4f}" for value in (of.mean, of.low, of.high))) for name, of in intervals.items()]
    print(Table(columns=("number", "mean", "low", "high"), rows=rows).text())
    sys.stdout.flush()
    return 0


WHAT = (
    "A run (its id, the beginning of it, its name, or `last`), an exported .safetensors file, or an image-text model "
    "such as tiny_clip, the last two with --data; several are measured in turn."
)


def _models() -> Collection[str]:
    from trainers.image_text.models import MODELS

    return MODELS.keys()


def _equip_background(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="RUN", action=RunNames, others=_models, help=WHAT)
    add_flags(parser, Settings)
    parser.add_argument("--csv", type=Path, metavar="FILE", help="Write every number with its interval.")
    runs_flag(parser)
    json_flag(parser)


@verb("background", _equip_background)
def background(arguments: argparse.Namespace) -> int:
    """Search with the object of each query removed, and with nothing but the object."""
    from trainers.object_removal.reliance.results import COLUMNS

    settings = Settings(**given(arguments, Settings))
    results = []
    for number, run in enumerate(arguments.ids):
        result = _measured(arguments.runs, run, settings)
        if not arguments.json:
            print(("\n" if number else "") + f"run {run}\n{result.text()}")
        results.append(result)
    if arguments.json:
        print_json({"runs": [{"run": run} | of.json() for run, of in zip(arguments.ids, results, strict=True)]})
    sys.stdout.flush()
    if arguments.csv is not None:
        rows = (row.values() for result in results for row in result.table())
        write_file(arguments.csv, csv_text(COLUMNS, rows).encode())
        print(f"wrote {arguments.csv}", file=sys.stderr if arguments.json else sys.stdout)
    return 0


def _measured(root: Path, run: str, settings: Settings) -> BackgroundResult:
    from trainers.object_removal.reliance.measure import measure
    from trainers.retrieval.encoders import encoders_of

    with progress_bar() as tell:
        return measure(encoders_of(run, root), settings, tell)
