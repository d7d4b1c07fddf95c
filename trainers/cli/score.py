"""The verb ``score``: ODmAP@k and recall of an image-text model."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

from trainers.cli.flags import add_flags, given
from trainers.config import SceneChoice
from trainers.parameters import Choice, check_all, parameter


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """What is scored."""

    scenes: SceneChoice = parameter(factory=SceneChoice, help="Which images with captions.")
    model: Choice = parameter(
        Choice(name="tiny_clip"),
        registry="trainers.image_text.models:MODELS",
        help="`python -m trainers models` lists them.",
    )
    fill: str = parameter(
        "telea", registry="trainers.object_removal.fills:FILLS", help="What is painted over the object."
    )
    queries: int | None = parameter(None, low=1, help="Most removals; all of them if not given.")


def add(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser("score", help="ODmAP@k and recall of an image-text model")
    add_flags(parser, ScoreSettings)
    parser.add_argument("--every", action="store_true", help="each allowed class of an image instead of one")
    parser.set_defaults(run=score)


def score(arguments: argparse.Namespace) -> int:
    """Evaluate one model and print every mean with its interval."""
    from tqdm import tqdm

    from trainers.data.captioned.loader import open_scenes
    from trainers.data.synthetic.scenes import are_drawn
    from trainers.image_text.models import MODELS
    from trainers.metrics.bootstrap import bootstrap
    from trainers.object_removal.benchmark import Examiner, make_exam
    from trainers.object_removal.vocabulary import load_words

    settings = ScoreSettings(**given(arguments, ScoreSettings))
    check_all(settings, "A score")
    descriptor = MODELS[settings.model.name]
    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed} {postfix}", disable=None) as bar:

        def tell(text: str, fraction: float) -> None:
            bar.n = round(100 * fraction)
            bar.set_postfix_str(text)

        model = descriptor.build(settings.model.parameters).eval()
        found = open_scenes(settings.scenes, tell)
        words = load_words().with_classes(found.classes)
        exam = make_exam(
            found, words, model.side, fill=settings.fill, limit=settings.queries, every=arguments.every, progress=tell
        )
        marks = Examiner(exam, model).ask(model, tell)
    if not descriptor.photos and not are_drawn(exam.scenes):
        print("This model knows the drawn scenes only, no photographs; the numbers say nothing about it.")
    print(f"{len(exam.queries)} removals of {exam.tally.photos} photos, {len(exam.gallery)} sentences")
    for reason in ("unreadable", "one_class", "no_allowed_class"):
        print(f"  photos left out, {reason.replace('_', ' ')}: {getattr(exam.tally, reason)}")
    for name, count in marks.filled.counts.items():
        print(f"  {name.replace('_', ' ')}: {count}")
    for name, values in marks.values.items():
        interval = bootstrap(values)
        print(f"{name:<30} {interval.mean:.4f}  [{interval.low:.4f}, {interval.high:.4f}]")
    sys.stdout.flush()
    return 0
