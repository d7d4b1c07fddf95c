"""The whole way of a dataset with boxes: removal, retrieval, ODmAP, object-removed pairs, a fine-tuning step, timed.

python -m tests.benchmarks.object_removal path/or/hub-id --model tiny_clip
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from trainers.config import SceneChoice
from trainers.data.captioned.loader import load_captioned
from trainers.image_text.encoding import encode_images, encode_texts
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.finetuning.loop import FinetuningLoop
from trainers.object_removal.benchmark import Evaluator, make_benchmark
from trainers.object_removal.vocabulary import load_words
from trainers.parameters import Choice, parse_choice
from trainers.runs import RunFolder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("--model", default="tiny_clip", help="NAME[:PARAMETER=VALUE,...]")
    parser.add_argument("--fill", default="telea")
    parser.add_argument("--batch", type=int, default=64)
    given = parser.parse_args()
    name, parameters = parse_choice(given.model)
    descriptor = MODELS[name]
    clock = _Clock()
    model = clock("load the model", 1, lambda: descriptor.build(parameters).eval())
    found = clock("open the set", 1, lambda: load_captioned(given.source))
    whole = dataclasses.replace(found, splits={"test": tuple(s for part in found.splits.values() for s in part)})
    count = len(whole.splits["test"])
    if not descriptor.natural_images:
        print("This model knows the drawn scenes only. Timings hold; the scores mean nothing.")
    words = load_words().with_classes(found.classes)
    benchmark = clock(
        "read, remove, paint over, parse",
        count,
        lambda: make_benchmark(whole, words, model.side, fill=given.fill, every=True),
    )
    queries, captions = len(benchmark.queries), len(benchmark.gallery)
    print(f"{count} images, {queries} allowed removals, {captions} captions: {benchmark.tally}")
    clock("encode images", len(benchmark.images), lambda: encode_images(model, benchmark.images))
    clock("encode captions", len(benchmark.gallery), lambda: encode_texts(model, benchmark.gallery))
    result = clock(
        "ODmAP, recall both ways", len(benchmark.queries), lambda: Evaluator(benchmark, model).evaluate(model)
    )
    for key in ("ODmAP_at_1", "ODmAP_at_5", "ODmAP_at_10", "hallucination_at_1", "i2t_R_at_1", "t2i_R_at_1"):
        print(f"  {key:<20} {result.means().get(key, float('nan')):.4f}")
    print(f"  {result.filled.counts}")
    if descriptor.trainable:
        _one_step(given, name, parameters, clock, count)


def _one_step(given: argparse.Namespace, name: str, parameters: dict[str, object], clock: _Clock, count: int) -> None:
    config = FinetuningConfig(
        scenes=SceneChoice(source=given.source),
        model=Choice(name=name, parameters=parameters),
        recipes=({"fill": given.fill},),
        batch=given.batch,
        learning_rate=MODELS[name].learning_rate,
        steps=1,
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder.create(Path(scratch), config)
        mender = clock("D and D', tokens, the benchmark", count, lambda: FinetuningLoop(folder))
        clock("one fine-tuning step", 1, lambda: mender.arms[0].step(0, 1.0))
        print(next(line for line in (folder.path / "log.txt").read_text().splitlines() if "object-removed" in line))
        folder.db.close()


class _Clock:
    """Runs a thing and prints how long it took, in all and each."""

    def __call__(self, what: str, each: int, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        taken = time.perf_counter() - start
        print(f"{what:<34} {taken:8.2f} s" + (f"  {1e3 * taken / each:8.2f} ms each of {each}" if each > 1 else ""))
        return result


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
