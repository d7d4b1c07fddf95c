"""Which losses learn on which encoder at equal time: python -m tests.benchmarks.encoders [--seconds 80] [--data drawn]

    python -m tests.benchmarks.encoders --encoders timm_frozen:side=160 --side 128 --data grocery_store cifar100 \\
        --seconds 4 --seeds 0 1 2

Every loss of the menu trains every encoder from the same weights on the same batches, with the application's settings,
for the same number of processor seconds (all threads together: 80 are 40 seconds on two cores). Only training counts:
no looking, no loading, no first step. Then R@1 over the whole test set, the mean cosine between test images (near 1:
everything looks alike), and for each encoder the mean and the worst over the losses.

With a frozen encoder, as in the second line (the one that photographs begin with), the losses train its head and are
compared with the features as they are by R@1 and mAP@R, in means over the seeds. Losses whose only positives are views
of an image are left out: frozen features have one view. With --folds a head is chosen without looking at a test class:
it is trained on every other training class and scored on the rest, and a row of the table is a head, its rate and its
size:

    python -m tests.benchmarks.encoders --folds --side 128 --data grocery_store cifar100 --seconds 3 \\
        --losses smooth_ap happier triplet --encoders "timm_frozen:side=160" "timm_frozen:side=160 rate=0.001 dim=64"

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
from typing import Any

import torch
from torch import Tensor

from tests.benchmarks._harness import timed
from tests.programs import arguments, markdown, report, say
from tests.shared import SHARED
from trainers import optimization
from trainers.config import DataChoice
from trainers.data import load_data
from trainers.data.base import LoadedData
from trainers.encoders import ENCODERS, Encoder
from trainers.kinds.metric_learning.batches import ImageBatch, ImageBatches
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.evaluation import embed
from trainers.kinds.metric_learning.frozen_features import fit_head, frozen_features
from trainers.kinds.metric_learning.loop import LossArm
from trainers.losses import LOSSES
from trainers.losses._memory import give_memory
from trainers.metrics import evaluate
from trainers.parameters import parse_choice
from trainers.progress import silent
from trainers.samplers import SAMPLERS
from trainers.training.stage import Stage

KITS = ("omniglot", "cifar100", "grocery_store")
FEATURES, BEGUN = "features", "step 0"
"""In place of a loss, nothing trained: features as they are, and under the head as it begins."""
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
        warm_up: steps.
        fold: 0 or 1, of the training classes that are held out and scored on; None: the test set is scored on.
    """

    data: str
    encoder: str
    loss: str
    seconds: float
    threads: int
    seed: int
    warm_up: int
    fold: int | None = None

    @property
    def choice(self) -> tuple[str, dict[str, Any], int, float]:
        """Name and parameters of its encoder, numbers of an embedding, and the highest learning rate."""
        word, *more = self.encoder.split()
        name, given = parse_choice(word)
        own = dict(each.split("=") for each in more)
        dim = int(own.get("dim", ENCODERS[name].dim(given)))
        return name, given, dim, float(own.get("rate", ENCODERS[name].learning_rate))


@dataclass(frozen=True)
class Seen:
    """A set as an encoder sees it: its images, or the features of a frozen encoder, whose head has been fitted."""

    data: LoadedData
    encoder: Encoder
    train: Tensor
    labels: Tensor
    test: Tensor
    test_labels: Tensor

    @classmethod
    def of(cls, case: Case, data: LoadedData) -> Seen:
        """Make the encoder of a case, and compute features where it is frozen."""
        name, given, dim, _ = case.choice
        torch.manual_seed(case.seed)
        channels, side = data.train.images.shape[1:3]
        encoder = ENCODERS[name].build(channels=channels, side=side, dim=dim, parameters=given)
        parts = {"train": data.train, "test": data.test}
        train, test = (part.images for part in parts.values())
        if encoder.frozen:
            train, test = (
                frozen_features(encoder, part.images, fingerprint=data.mark(name), device=CPU, progress=silent)
                for name, part in parts.items()
            )
        labels, test_labels = data.train.labels, data.test.labels
        if case.fold is not None:
            held = torch.isin(labels[:, 0], torch.unique(labels[:, 0])[case.fold :: 2])
            train, test, labels, test_labels = train[~held], train[held], labels[~held], labels[held]
        if encoder.fitted:
            fit_head(encoder, train, CPU, silent)
        compact = torch.unique(labels[:, 0], return_inverse=True)[1]
        labels = torch.cat([compact[:, None], labels[:, 1:]], dim=1)
        return cls(data, encoder, train, labels, test, test_labels)


class Course:
    """The batches of one case, and the arm that is stepped over them."""

    def __init__(self, case: Case, seen: Seen) -> None:
        config = MetricLearningConfig()
        self.images, self.labels = seen.train, seen.labels
        per_batch = min(config.classes_per_batch, int(self.labels[:, 0].max()) + 1)
        self.sampler = SAMPLERS[config.sampler].build(self.labels, per_batch, config.images_per_class, case.seed)
        self.arm = _arm(case, config, seen)
        views = self.arm.descriptor.views
        self.plain = Path(case.data).name in PLAIN and views == 1 and not seen.encoder.frozen
        self.batches = ImageBatches(
            dataclasses.replace(seen.data.train, labels=self.labels),
            self.sampler,
            features=seen.train if seen.encoder.frozen else None,
            views=views,
            seed=case.seed,
            device=CPU,
        )

    def batch(self, step: int) -> ImageBatch:
        """Batch ``step``, augmented unless this set is taken as it is."""
        if not self.plain:
            return self.batches.batch(step)
        rows = self.sampler.batch(step)
        return ImageBatch(views=(self.images[rows].float().div_(255),), labels=self.labels[rows], rows=rows, step=step)

    def step(self, step: int, factor: float) -> None:
        """Take step ``step``; ``factor``: of the optimization."""
        self.arm.step(self.batch(step), factor)


def _arm(case: Case, config: MetricLearningConfig, seen: Seen) -> LossArm:
    (_, _, dim, rate), labels = case.choice, seen.labels
    descriptor = LOSSES[case.loss]
    torch.manual_seed(case.seed + 1)
    loss = descriptor.build(num_classes=int(labels[:, 0].max()) + 1, dim=dim, class_labels=torch.unique(labels, dim=0))
    memory = {"size": config.memory, "after": config.memory_after, "dim": dim, "levels": labels.shape[1]}
    loss, _ = give_memory(loss, descriptor, **memory)
    arm = LossArm(0, descriptor, loss, copy.deepcopy(seen.encoder), CPU)
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


def score(rows: Tensor, seen: Seen) -> Result:
    """R@1, mAP@R and mean cosine of embeddings of the whole test set."""
    rows = torch.nn.functional.normalize(rows.float(), dim=1)
    scores = evaluate(rows, seen.test_labels, metrics=["R_at_1", "AP_at_R"])
    count, total = len(rows), float(rows.double().sum(0).square().sum())
    cosine = (total - count) / (count * (count - 1))
    return {"R_at_1": float(scores["R_at_1"]), "AP_at_R": float(scores["AP_at_R"]), "cosine": cosine}


def run(case: Case, seen: Seen) -> Result:
    """Train and score one case, or score what nothing has trained."""
    if case.loss in (FEATURES, BEGUN):
        rows = seen.test if case.loss == FEATURES else embed(seen.encoder, seen.test, CPU)
        return {**dataclasses.asdict(case), **score(rows, seen), "steps": 0}
    course = Course(case, seen)
    steps = train(course, case)
    return {**dataclasses.asdict(case), **score(embed(course.arm.encoder, seen.test, CPU), seen), "steps": steps}


# ----------------------------------------------------------------- tables


Scores = Mapping[tuple[str, str, str], Sequence[Result]]
"""By data, loss and encoder: one a seed."""


def table(found: Scores, losses: Sequence[str], sets: Sequence[str], encoders: Sequence[str]) -> str:
    """A row per loss, a column per set and encoder: R@1, then the mean cosine; the mean and the worst below."""
    columns = [(data, encoder) for data in sets for encoder in encoders]
    measured = {(data, encoder) for data, _, encoder in found}
    columns = [column for column in columns if column in measured]
    spent = {(data, encoder): results[0]["seconds"] for (data, _, encoder), results in found.items()}
    named = ", {}" if len(encoders) > 1 else ""
    head = ["loss", *(f"{Path(d).name}{named.format(e)} ({spent[d, e]:g} s)" for d, e in columns)]
    rows: list[list[str]] = []
    for loss in losses:
        cells = [found.get((data, loss, encoder), ()) for data, encoder in columns]
        if any(cells):
            rows.append([LOSSES[loss].title, *(_cell(cell) for cell in cells)])
    scores = [[found[d, loss, e] for loss in losses if (d, loss, e) in found] for d, e in columns]
    values = [[_mean(results, "R_at_1") for results in column] for column in scores]
    rows.append(["**mean**", *(f"{statistics.mean(column):.3f}" for column in values)])
    rows.append(["**worst**", *(f"{min(column):.3f}" for column in values)])
    rows.append(["**worst / best**", *(f"{min(column) / max(column):.2f}" for column in values)])
    return markdown(head, rows)


def _cell(results: Sequence[Result]) -> str:
    if not results:
        return ""
    return f"{_mean(results, 'R_at_1'):.3f} ({_mean(results, 'cosine'):.2f})"


def heads(found: Scores, losses: Sequence[str], sets: Sequence[str], encoders: Sequence[str]) -> str:
    """A row per head: R@1 and mAP@R on each set as it begins, and in means over losses, folds and seeds."""
    pairs = [(data, key) for data in sets for key in ("R_at_1", "AP_at_R")]
    first = [_mean(found[data, FEATURES, encoders[0]], key) for data, key in pairs]
    rows = [["*features as they are*", *(f"{value:.3f}" for value in first)]]
    for encoder in encoders:
        begun = [_mean(found[data, BEGUN, encoder], key) for data, key in pairs]
        ended = [statistics.mean(_mean(found[data, loss, encoder], key) for loss in losses) for data, key in pairs]
        rows.append([f"`{encoder}`", *(f"{start:.3f} → {end:.3f}" for start, end in zip(begun, ended, strict=True))])
    return markdown(["head", *(f"{Path(data).name}, {_TITLES[key]}" for data, key in pairs)], rows)


_TITLES = {"R_at_1": "R@1", "AP_at_R": "mAP@R"}


def against_features(found: Scores, losses: Sequence[str], sets: Sequence[str], encoders: Sequence[str]) -> str:
    """A row per loss: R@1 and mAP@R on each set in means over the seeds, and how far above the features they are."""
    (encoder,) = encoders
    base = {data: _means(found[data, FEATURES, encoder]) for data in sets}
    rows = [
        [title, *(f"{value:.3f}" for data in sets for value in _means(found[data, row, encoder]))]
        for row, title in ((FEATURES, "*features as they are*"), (BEGUN, "*under the head, step 0*"))
    ]
    gains: dict[str, list[tuple[float, float]]] = {data: [] for data in sets}
    for loss in losses:
        row = [LOSSES[loss].title]
        for data in sets:
            means = _means(found[data, loss, encoder])
            recall, precision = (value - start for value, start in zip(means, base[data], strict=True))
            gains[data].append((recall, precision))
            row += [f"{means[0]:.3f} ({recall:+.3f})", f"{means[1]:.3f} ({precision:+.3f})"]
        rows.append(row)
    summary = ["**above the features, worst, median**"]
    for data in sets:
        recalls, precisions = zip(*gains[data], strict=True)
        for values, start in zip((recalls, precisions), base[data], strict=True):
            middle = statistics.median(values)
            summary.append(
                f"{sum(value > 0 for value in values)} of {len(values)}, {min(values):+.3f}, "
                f"{middle:+.3f} ({middle / start:+.1%})"
            )
    head = ["loss", *(f"{Path(data).name}, {title}" for data in sets for title in _TITLES.values())]
    return markdown(head, [*rows, summary])


def _means(results: Sequence[Result]) -> tuple[float, float]:
    return _mean(results, "R_at_1"), _mean(results, "AP_at_R")


def _mean(results: Sequence[Result], key: str) -> float:
    return statistics.mean(float(str(one[key])) for one in results)


# ----------------------------------------------------------------- the command


def kept(path: Path) -> list[Result]:
    """What was measured before."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def measure(cases: Sequence[Case], path: Path, side: int | None, *, training: bool = True) -> Scores:
    """Run the cases that are not kept yet, one after the other, and keep them; without training leave them out.

    Args:
        side: of the images, in pixels; None: the set's own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [field.name for field in dataclasses.fields(Case)]
    done = {tuple(result.get(name) for name in fields): result for result in kept(path)}
    seen: dict[tuple[str, str, int, int | None], Seen] = {}
    for number, case in enumerate(cases, start=1):
        key = dataclasses.astuple(case)
        if key in done or not training:
            continue
        looked = (case.data, case.encoder, case.seed, case.fold)
        if looked not in seen:
            seen.clear()
            seen[looked] = Seen.of(case, load_data(DataChoice(source=_source(case.data), image_size=side), silent))
        done[key] = run(case, seen[looked])
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[key]) + "\n")
        say(f"{number}/{len(cases)} {case.data} {case.encoder} {case.loss} {_cell([done[key]])}")
    found: dict[tuple[str, str, str], list[Result]] = {}
    for case in cases:
        if (result := done.get(dataclasses.astuple(case))) is not None:
            found.setdefault((case.data, case.loss, case.encoder), []).append(result)
    return found


def _source(name: str) -> str:
    return str(SHARED / "data" / name) if name in KITS else name


def main() -> None:
    """Measure, print the table, and write it where that was asked for."""
    menu = [name for name, loss in LOSSES.items() if loss.alias_of is None]
    there = [name for name in KITS if Path(_source(name)).exists()]
    options = arguments(
        __doc__,
        encoders=([MetricLearningConfig().encoder.name], "'NAME[:PARAMETER=VALUE,...] [rate=RATE] [dim=NUMBERS]'"),
        losses=(menu, "of the catalogue", list(LOSSES)),
        data=(["drawn", *there], "kits, folders or catalogue names; NAME=SECONDS where they differ from --seconds"),
        seconds=(80.0, "processor seconds of training for each"),
        threads=(1, "of torch"),
        seeds=([0], "of weights and batches"),
        side=(int, "pixels to which images are read, in place of the set's own"),
        folds=(False, "score heads on training classes that are held out, one half after the other"),
        warm_up=(optimization.WARM_UP_STEPS, "steps"),
        kept=(Path("runs/encoders.jsonl"), "results, one a line"),
        no_training=(False, "print what is kept"),
        write=(Path, "put the table between this page's markers"),
        marker=("encoders", "name of those markers"),
    )
    torch.set_num_threads(options.threads)
    sets = {name: float(own or options.seconds) for name, _, own in (text.partition("=") for text in options.data)}
    frozen = all(ENCODERS[parse_choice(encoder.split()[0])[0]].frozen for encoder in options.encoders)
    losses = [name for name in options.losses if not frozen or LOSSES[name].labelled]
    if left := [LOSSES[name].title for name in options.losses if name not in losses]:
        say(f"Left out, because their only positives are views, and frozen features have one: {', '.join(left)}.")
    cases = [
        Case(data, encoder, loss, seconds, options.threads, seed, options.warm_up, fold)
        for data, seconds in sets.items()
        for encoder in options.encoders
        for seed in options.seeds
        for fold in ((0, 1) if options.folds else (None,))
        for loss in [*([FEATURES, BEGUN] if frozen else ()), *losses]
    ]
    found = measure(cases, options.kept, options.side, training=not options.no_training)
    tabled = heads if options.folds else against_features if frozen else table
    report(options.marker, tabled(found, losses, list(sets), options.encoders), options.write)


if __name__ == "__main__":
    main()
