"""ODmAP@k and recall of models on a dataset, for the page: checks the request, reports progress, keeps a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from explorer.server.http import GoneError
from explorer.server.jobs import Job
from explorer.tabs.object_removal.bodies import Score
from explorer.tabs.object_removal.caption_index import CaptionIndex
from explorer.tabs.object_removal.datasets import Datasets, OpenDataset
from explorer.tabs.object_removal.models import BATCH, PIECE, Known, Loaded, Models
from trainers.cells import csv_text
from trainers.errors import DataError
from trainers.metrics.bootstrap import Interval
from trainers.object_removal.benchmark import KS, Benchmark, ModelResult, in_random_order, make_benchmarks
from trainers.object_removal.benchmark_measures import measures_json
from trainers.object_removal.fills import fill_named
from trainers.object_removal.gallery import CaptionGallery
from trainers.object_removal.ranked_captions import parts, verdict
from trainers.progress import Progress, Stages

MOST_QUERIES = 2000
PUBLIC_QUERIES = 500
MOST_JOBS = 9
"""Scores that may wait or be computed."""
RECALL_IMAGES = 1000
"""Images that recall is measured over."""
FAILING = 48
COLUMNS = (
    *("model", "captions", "dataset_captions", "image", "image_id", "removed", "kept", "verdict_at_1", "caption_at_1"),
    *(f"{name}_at_{k}" for name in ("ODmAP", "hallucination", "present") for k in KS),
)
"""The columns of the CSV file, a line per model and query: the model's name, how many captions were searched and how
many the dataset has, the image's address on the page and its id in the dataset, the classes removed and kept, the
verdict on the nearest caption and its text, and the metrics of the query at 1, 5 and 10 (empty where a query does not
count)."""
_FILLING, _EVALUATING = 0.3, 0.7  # shares of the work


@dataclass(kw_only=True, eq=False)
class ScoreJob(Job):
    """A score; ``rows``: lines of its table."""

    asked: Score
    rows: list[list[Any]] = field(default_factory=list)


class Scorer:
    """Checks and computes scores.

    Args:
        public: fewer queries are allowed.
    """

    def __init__(self, datasets: Datasets, models: Models, index: CaptionIndex, *, public: bool = False) -> None:
        self._datasets = datasets
        self._models = models
        self._index = index
        self._most = PUBLIC_QUERIES if public else MOST_QUERIES

    def check(self, asked: Score) -> Score:
        """Check what is asked for, and return it with at most as many queries as are allowed here.

        Raises:
            UserError: it cannot be computed; the message says why.
        """
        dataset = self._datasets.get(asked.dataset)
        fill, models = fill_named(asked.fill), list(dict.fromkeys(asked.models))
        unfit = fill.unfit(next(iter(dataset.scenes), None))
        for reason in (unfit, fill.lacking(), *(self._models.known(name).missing for name in models)):
            if reason is not None:
                raise DataError(reason)
        return asked.model_copy(update={"queries": min(asked.queries, self._most), "models": models})

    def score(self, job: ScoreJob) -> dict[str, Any]:
        """Compute a score.

        Raises:
            UserError: it cannot be computed; the message says why.
            StoppedError: somebody stopped it.
        """
        asked = job.asked
        dataset = self._datasets.get(asked.dataset)
        job.tell("gathering captions", 0.0)
        gallery = dataset.gallery
        sides = {}
        for name in asked.models:
            job.tell(f"loading {self._models.known(name).title}", 0.0)
            sides[name] = self._models.get(name).side
        stages = Stages(job.tell, (_FILLING, *(_EVALUATING / len(sides) for _ in sides)))
        benchmarks = make_benchmarks(
            in_random_order(dataset.scenes, asked.seed),
            gallery,
            sorted(set(sides.values())),
            title=dataset.data.title,
            fill=asked.fill,
            limit=asked.queries,
            every=asked.every,
            seed=asked.seed,
            recall_images=RECALL_IMAGES,
            rerender=False,
            progress=stages.next(),
        )
        models = [self._evaluated(job, name, dataset, benchmarks[side], stages.next()) for name, side in sides.items()]
        benchmark = next(iter(benchmarks.values()))
        return {
            "dataset": dataset.name,
            "fill": asked.fill,
            "fill_title": fill_named(asked.fill).title,
            "scope": benchmark.scope,
            "gallery": len(gallery.texts),
            "gallery_total": gallery.total,
            "queries": len(benchmark.removals),
            "images": len(benchmark.scenes),
            "captions": len(benchmark.captions),
            "skipped": _reasons(benchmark.tally.left_out()),
            "notes": [*gallery.notes, *_notes(benchmark, asked.queries)],
            "models": models,
            "measures": measures_json(dict.fromkeys(key for model in models for key in model["values"])),
        }

    def _evaluated(
        self, job: ScoreJob, name: str, dataset: OpenDataset, benchmark: Benchmark, progress: Progress
    ) -> dict[str, Any]:
        known, gallery = self._models.known(name), dataset.gallery
        stages = Stages(progress, (0.5, 0.1, 0.1, 0.3))
        encoding = self._index.ask(name, dataset.name)
        tell = stages.next()
        while not encoding.done.wait(0.2):
            tell(f"{known.title}: {encoding.message}", encoding.fraction)
        encoding.wait()
        vectors = encoding.first(encoding.count)
        loaded = self._models.get(name)
        result = benchmark.score(
            queries=_images(loaded, benchmark.queries, stages.next()),
            images=_images(loaded, benchmark.images, stages.next()),
            gallery=vectors,
            captions=_captions(loaded, benchmark.captions, gallery, vectors, stages.next()),
        )
        table = _Table(dataset, gallery, benchmark, result)
        job.rows += table.rows(known)
        return {
            "name": name,
            "title": known.title,
            "notes": known.notes(dataset.drawn),
            "values": {key: _plain(interval) for key, interval in result.intervals().items()},
            "skipped": _reasons(result.left_out()),
            "failing": table.failing(),
        }


def _images(loaded: Loaded, images: Tensor, tell: Progress) -> Tensor:
    """Embed images uint8 ``[N, 3, S, S]`` as float32 ``[N, D]``; requests of visitors come between the batches."""
    embeddings, total = [], len(images)
    for start in range(0, total, BATCH):
        tell(f"{loaded.known.title} encodes images: {start:,} of {total:,}", start / total)
        embeddings.append(loaded.images(images[start : start + BATCH]))
    return torch.cat(embeddings)


def _captions(
    loaded: Loaded, captions: tuple[str, ...], gallery: CaptionGallery, vectors: Tensor, tell: Progress
) -> Tensor | None:
    """Embed the images' own captions; those of the gallery are known already."""
    missing = [text for text in dict.fromkeys(captions) if text not in gallery.row_of]
    extra: dict[str, Tensor] = {}
    for start in range(0, len(missing), PIECE):
        tell(f"{loaded.known.title} encodes more captions: {start:,} of {len(missing):,}", start / len(missing))
        part = missing[start : start + PIECE]
        extra |= dict(zip(part, loaded.texts(part), strict=True))
    embeddings = [extra[text] if text in extra else vectors[gallery.row_of[text]] for text in captions]
    return torch.stack(embeddings) if embeddings else None


class _Table:
    """The results of each query, by the addresses of the page."""

    def __init__(
        self, dataset: OpenDataset, gallery: CaptionGallery, benchmark: Benchmark, result: ModelResult
    ) -> None:
        numbers = {id(scene): index for index, scene in enumerate(dataset.scenes)}
        self._refs = [f"{dataset.name}.{numbers[id(removal.scene)]}" for removal in benchmark.removals]
        self._judgements = [removal.judgement for removal in benchmark.removals]
        self._image_ids = [removal.scene.image_id for removal in benchmark.removals]
        self._matcher, self._values = gallery.matcher, result.filled.values
        self._sizes = len(gallery.texts), gallery.total
        self._first = [gallery.texts[index] for index in result.filled.top[:, 0]]
        self._codes = result.filled.verdicts[:, 0].tolist()

    def failing(self) -> list[dict[str, Any]]:
        """Return the first queries whose nearest caption names what was removed."""
        return [self._answer(row) for row, code in enumerate(self._codes) if code < 2][:FAILING]

    def rows(self, known: Known) -> list[list[Any]]:
        """Return one line per query, as :data:`COLUMNS` says."""
        lines = []
        for row, judgement in enumerate(self._judgements):
            about = [known.name, *self._sizes, self._refs[row], self._image_ids[row], "; ".join(judgement.removed)]
            about += ["; ".join(judgement.kept), verdict(self._codes[row]), self._first[row]]
            lines.append([*about, *(self._cell(name, row) for name in COLUMNS[len(about) :])])
        return lines

    def _answer(self, row: int) -> dict[str, Any]:
        judgement, text = self._judgements[row], self._first[row]
        return {
            "image": self._refs[row],
            "removed": list(judgement.removed),
            "text": text,
            "verdict": verdict(self._codes[row]),
            "parts": parts(text, self._matcher, judgement.kept, judgement.removed),
        }

    def _cell(self, name: str, row: int) -> float | str:
        values = self._values.get(name)
        return "" if values is None or math.isnan(values[row]) else round(float(values[row]), 6)


def _notes(benchmark: Benchmark, queries: int) -> list[str]:
    """Return what a reader of the numbers should know."""
    notes = [f"Recall is measured over {len(benchmark.scenes):,} images with {len(benchmark.captions):,} captions."]
    if len(benchmark.removals) < queries:
        notes.append(f"{queries:,} queries were asked for; the dataset gives {len(benchmark.removals):,}.")
    return notes


def _reasons(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"reason": reason, "count": count} for reason, count in counts.items()]


def _plain(interval: Interval) -> dict[str, Any]:
    """Return an interval as JSON; null where no query counts."""
    numbers = asdict(interval)
    return {name: None if math.isnan(value) else round(value, 6) for name, value in numbers.items()}


def csv_table(job: ScoreJob) -> bytes:
    """Write the finished score as a CSV file.

    Raises:
        GoneError: it is not finished.
    """
    if job.phase != "done":
        raise GoneError("This score is not finished, so there is no table yet.")
    return csv_text(COLUMNS, job.rows).encode()
