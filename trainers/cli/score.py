"""The verb ``score``: ODmAP@k and recall of an image-text model."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from dataclasses import dataclass

from trainers.cells import counted
from trainers.cli.flags import add_flags, given
from trainers.cli.output import Table, json_flag, print_json
from trainers.cli.progress import progress_bar
from trainers.cli.verb import verb
from trainers.config import SceneChoice
from trainers.parameters import Choice, check_all, parameter


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


def _equip(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, ScoreSettings)
    parser.add_argument("--every", action="store_true", help="Remove each allowed class of an image instead of one.")
    json_flag(parser)


@verb("score", _equip)
def score(arguments: argparse.Namespace) -> int:
    """Measure ODmAP@k and recall of an image-text model."""
    from trainers.data.captioned.loader import load_chosen
    from trainers.data.synthetic.scenes import are_drawn
    from trainers.image_text.models import MODELS
    from trainers.object_removal.benchmark import Evaluator, make_benchmark
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
        result = Evaluator(benchmark, model).evaluate(model, tell)
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
