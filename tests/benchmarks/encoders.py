"""Which losses learn on which encoder at equal time: python -m tests.benchmarks.encoders [--seconds 80] [--data drawn]

Every loss of the menu trains every encoder from the same weights on the same batches, with the application's settings,
for the same number of processor seconds (all threads together: 80 are 40 seconds on two cores). Only training counts:
no looking, no loading, no first step. Then R@1 over the whole test set, the mean cosine between test images (near 1:
everything looks alike), and for each encoder the mean and the worst over the losses.

Results go to --kept as they come; what is there already is not trained again. Set OMP_WAIT_POLICY=PASSIVE.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from tests.benchmarks._harness import timed
from tests.programs import arguments, markdown, report, say
from tests.shared import SHARED
from trainers import optimization
from trainers.config import DataChoice
from trainers.data import load_data
from trainers.data.base import LoadedData
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.batches import ImageBatch, ImageBatches
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.evaluation import embed
from trainers.kinds.metric_learning.loop import LossArm
from trainers.losses import LOSSES
from trainers.losses._memory import give_memory
from trainers.metrics import evaluate
from trainers.parameters import parse_choice
from trainers.progress import silent
from trainers.samplers import SAMPLERS
from trainers.training.stage import Stage

KITS = ("omniglot", "cifar100", "grocery_store")
PLAIN = ("omniglot",)
"""Sets whose images are not augmented, but for losses that need views of them."""
CPU = torch.device("cpu")
Result = dict[str, object]


@dataclass(frozen=True)
class Case:
    """One training: of a loss, on an encoder, on a set.

    Attributes:
        data, encoder, loss: as they are named on the command line.
        seconds: of the processor, all threads together.
        rate: highest learning rate; None: the encoder's.
        warm_up: steps.
    """

    data: str
    encoder: str
    loss: str
    seconds: float
    threads: int
    seed: int
    rate: float | None
    warm_up: int


class Course:
    """The batches of one case, and the arm that is stepped over them."""

    def __init__(self, case: Case, data: LoadedData) -> None:
        config = MetricLearningConfig()
        classes, compact = torch.unique(data.train.labels[:, 0], return_inverse=True)
        labels = torch.cat([compact[:, None], data.train.labels[:, 1:]], dim=1)
        self.images, self.labels = data.train.images, labels
        per_batch = min(config.classes_per_batch, len(classes))
        self.sampler = SAMPLERS[config.sampler].build(labels, per_batch, config.images_per_class, case.seed)
        self.arm = _arm(case, config, labels, self.images.shape)
        views = self.arm.descriptor.views
        self.plain = Path(case.data).name in PLAIN and views == 1
        train = dataclasses.replace(data.train, labels=labels)
        self.batches = ImageBatches(train, self.sampler, features=None, views=views, seed=case.seed, device=CPU)

    def batch(self, step: int) -> ImageBatch:
        """Batch ``step``, augmented unless this set is taken as it is."""
        if not self.plain:
            return self.batches.batch(step)
        rows = self.sampler.batch(step)
        return ImageBatch(views=(self.images[rows].float().div_(255),), labels=self.labels[rows], rows=rows, step=step)

    def step(self, step: int, factor: float) -> None:
        """Take step ``step``; ``factor``: of the optimization."""
        self.arm.step(self.batch(step), factor)


def _arm(case: Case, config: MetricLearningConfig, labels: torch.Tensor, shape: Sequence[int]) -> LossArm:
    name, parameters = parse_choice(case.encoder)
    torch.manual_seed(case.seed)
    encoder = ENCODERS[name].build(channels=shape[1], side=shape[2], dim=config.width, parameters=parameters)
    descriptor = LOSSES[case.loss]
    torch.manual_seed(case.seed + 1)
    loss = descriptor.build(
        num_classes=int(labels[:, 0].max()) + 1, dim=config.width, class_labels=torch.unique(labels, dim=0)
    )
    memory = {"size": config.memory, "after": config.memory_after, "dim": config.width, "levels": labels.shape[1]}
    loss, _ = give_memory(loss, descriptor, **memory)
    rate = case.rate or ENCODERS[name].learning_rate
    arm = LossArm(0, descriptor, loss, encoder, CPU)
    arm.begin(Stage.of(dataclasses.replace(config, learning_rate=rate)))
    return arm


def train(course: Course, case: Case) -> int:
    """Train for the case's processor seconds; the steps done."""
    # on a copy that is thrown away: the libraries compile and choose their kernels for these shapes
    copy.deepcopy(course.arm).step(course.batch(0), 0.0)
    used, step = 0.0, 0
    while used < case.seconds:
        factor = optimization.warm(step, case.warm_up) * optimization.cosine(used / case.seconds)
        torch.manual_seed(case.seed * 1_000_003 + step)
        used += timed(partial(course.step, step, factor)).processor
        step += 1
    return step


def run(case: Case, data: LoadedData) -> Result:
    """Train and score one case: R@1 and mean cosine over the whole test set, and the steps."""
    course = Course(case, data)
    steps = train(course, case)
    rows = embed(course.arm.encoder, data.test.images, CPU)
    score = float(evaluate(rows, data.test.labels, metrics=["R_at_1"])["R_at_1"])
    count, total = len(rows), float(rows.double().sum(0).square().sum())
    cosine = (total - count) / (count * (count - 1))
    return {**dataclasses.asdict(case), "R_at_1": score, "cosine": cosine, "steps": steps}


# ----------------------------------------------------------------- tables


Scores = Mapping[tuple[str, str, str], Result]
"""By data, loss and encoder."""


def table(found: Scores, losses: Sequence[str], sets: Sequence[str], encoders: Sequence[str]) -> str:
    """A row per loss, a column per set and encoder: R@1, then the mean cosine; the mean and the worst below."""
    columns = [(data, encoder) for data in sets for encoder in encoders]
    measured = {(data, encoder) for data, _, encoder in found}
    columns = [column for column in columns if column in measured]
    spent = {(data, encoder): result["seconds"] for (data, _, encoder), result in found.items()}
    named = ", {}" if len(encoders) > 1 else ""
    head = ["loss", *(f"{Path(d).name}{named.format(e)} ({spent[d, e]:g} s)" for d, e in columns)]
    rows: list[list[str]] = []
    for loss in losses:
        cells = [found.get((data, loss, encoder)) for data, encoder in columns]
        if any(cells):
            rows.append([LOSSES[loss].title, *(_cell(cell) for cell in cells)])
    scores = [[found[d, loss, e] for loss in losses if (d, loss, e) in found] for d, e in columns]
    values = [[float(str(result["R_at_1"])) for result in column] for column in scores]
    rows.append(["**mean**", *(f"{statistics.mean(column):.3f}" for column in values)])
    rows.append(["**worst**", *(f"{min(column):.3f}" for column in values)])
    rows.append(["**worst / best**", *(f"{min(column) / max(column):.2f}" for column in values)])
    return markdown(head, rows)


def _cell(result: Result | None) -> str:
    return "" if result is None else f"{result['R_at_1']:.3f} ({result['cosine']:.2f})"


# ----------------------------------------------------------------- the command


def kept(path: Path) -> list[Result]:
    """What was measured before."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def measure(cases: Sequence[Case], path: Path, *, training: bool = True) -> Scores:
    """Run the cases that are not kept yet, one after the other, and keep them; without training leave them out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [field.name for field in dataclasses.fields(Case)]
    done = {tuple(result[name] for name in fields): result for result in kept(path)}
    loaded: dict[str, LoadedData] = {}
    for number, case in enumerate(cases, start=1):
        key = dataclasses.astuple(case)
        if key in done or not training:
            continue
        if case.data not in loaded:
            loaded[case.data] = load_data(DataChoice(source=_source(case.data)), silent)
        done[key] = run(case, loaded[case.data])
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[key]) + "\n")
        say(f"{number}/{len(cases)} {case.data} {case.encoder} {case.loss} {_cell(done[key])}")
    results = [done[key] for key in map(dataclasses.astuple, cases) if key in done]
    return {(str(result["data"]), str(result["loss"]), str(result["encoder"])): result for result in results}


def _source(name: str) -> str:
    return str(SHARED / "data" / name) if name in KITS else name


def main() -> None:
    """Measure, print the table, and write it where that was asked for."""
    menu = [name for name, loss in LOSSES.items() if loss.alias_of is None]
    there = [name for name in KITS if Path(_source(name)).exists()]
    options = arguments(
        __doc__,
        encoders=([MetricLearningConfig().encoder.name], "NAME[:PARAMETER=VALUE,...]"),
        losses=(menu, "of the catalogue", list(LOSSES)),
        data=(["drawn", *there], "kits, folders or catalogue names; NAME=SECONDS where they differ from --seconds"),
        seconds=(80.0, "processor seconds of training for each"),
        threads=(1, "of torch"),
        seed=(0, "of weights and batches"),
        learning_rate=(float, "in place of the encoder's own"),
        warm_up=(optimization.WARM_UP_STEPS, "steps"),
        kept=(Path("runs/encoders.jsonl"), "results, one a line"),
        no_training=(False, "print what is kept"),
        write=(Path, "put the table between this page's markers"),
        marker=("encoders", "name of those markers"),
    )
    torch.set_num_threads(options.threads)
    sets = {name: float(own or options.seconds) for name, _, own in (text.partition("=") for text in options.data)}
    same = (options.threads, options.seed, options.learning_rate, options.warm_up)
    cases = [
        Case(data, encoder, loss, seconds, *same)
        for data, seconds in sets.items()
        for loss in options.losses
        for encoder in options.encoders
    ]
    found = measure(cases, options.kept, training=not options.no_training)
    report(options.marker, table(found, options.losses, list(sets), options.encoders), options.write)


if __name__ == "__main__":
    main()
