"""Evaluates arms during training: embeds and scores the probe and, less often, some training images."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from trainers.data.roles import Roles, choose_probe
from trainers.devices.host import equal, send
from trainers.distributed.group import meet, rank
from trainers.encoders import Encoder
from trainers.errors import ParameterError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses.contextual import contextual_term
from trainers.metrics import counts, evaluate
from trainers.metrics.catalogue.counts import LEFT_OUT
from trainers.metrics.catalogue.training import BATCH_AP, CONTEXTUAL_AP, CONTEXTUAL_LOSS, GAP, WHOLE_AP
from trainers.metrics.gap import inside_batches
from trainers.metrics.names import joined, measurable, own_metrics
from trainers.metrics.scores import score_roles
from trainers.progress import Progress, silent
from trainers.runs.probe import kept_queries
from trainers.runs.records import QueryScores
from trainers.runs.untrained import JUDGED
from trainers.samplers import SAMPLERS, Sampler
from trainers.training.embedding import embed, embedded, folded
from trainers.training.evaluation import Finish, HostCopy, ProbeResult

PER_CLASS = 4  # the paper's k, images of each class in a batch
CLASSES = 32  # at most: 128 images, the batch of the paper's code, so that the scale is the loss's own
LEAST_CLASSES = 3  # proposition 4.1 needs n > 2 k
EPS = 0.0  # as in proposition 4.1; with slack all embeddings of an untrained encoder are neighbours
SLOPE = 1.0  # of a backward pass that is not made


class ContextualSample:
    """Images of the probe, as many of each class as a neighbourhood holds.

    Liao et al. 2023, figure 3 (left): the contextual term of Eq. 5 against 1 - mAP over training. Which images the
    paper took is not known; the sample is ours. k is 4 and eps is 0.

    Args:
        labels: int64 ``[P, L]`` of the probe, finest first.
    """

    def __init__(self, labels: Tensor) -> None:
        finest = labels.reshape(len(labels), -1)[:, 0].numpy()
        classes, counts = np.unique(finest, return_counts=True)
        large = classes[counts >= PER_CLASS]
        spread = np.linspace(0, len(large) - 1, min(len(large), CLASSES)).round().astype(int)
        chosen = [np.flatnonzero(finest == label)[:PER_CLASS] for label in large[spread].tolist()]
        self.rows = torch.from_numpy(np.concatenate([*chosen, np.zeros(0, np.int64)]).astype(np.int64))
        self._labels = torch.from_numpy(finest.copy())[self.rows]
        self._enough = len(chosen) >= LEAST_CLASSES

    def numbers(self, embeddings: Tensor) -> dict[str, float]:
        """Return the contextual term and AP of the sample; nothing where fewer than three classes have four images.

        Args:
            embeddings: float32 ``[P, D]`` of the whole probe, on the CPU.
        """
        if not self._enough:
            return {}
        rows = embeddings[self.rows]
        unit = F.normalize(rows.float(), dim=1)
        similarity = unit @ unit.T
        same = equal(self._labels, self._labels, similarity.device)
        with torch.no_grad():
            term = contextual_term(similarity, same, PER_CLASS, EPS, SLOPE)
        ap = evaluate(rows, self._labels, metrics=["AP"])["AP"]
        return {CONTEXTUAL_LOSS: float(term), CONTEXTUAL_AP: float(ap)}


def gap_batches(labels: Tensor, config: MetricLearningConfig) -> Tensor | None:
    """Return the batch of each image: that in which the run's sampler would draw it first, were these all the images.

    Images that it never draws, alone in their class, make up a batch of their own. Where there are fewer classes than a
    batch has, a batch has all of them.

    Args:
        labels: int64 ``[N, L]``, finest first.

    Returns:
        int64 ``[N]``; None where the sampler can make no batch of them.
    """
    counts = torch.unique(labels[:, 0], return_counts=True)[1]
    usable = int((counts > 1).sum())
    size = config.images_per_class
    try:
        sampler = SAMPLERS[config.sampler].build(labels, min(config.classes_per_batch, usable), size, config.seed)
    except ParameterError:
        return None
    rounds = -(-int(counts.max()) // size)
    return _first_drawn(sampler, len(labels), rounds * sampler.batches_per_epoch)


def _first_drawn(sampler: Sampler, count: int, steps: int) -> Tensor:
    batch = torch.full((count,), -1)
    for step in range(steps):
        rows = sampler.batch(step)
        batch[rows[batch[rows] < 0]] = step
    return batch


class ShownImages:
    """Embeds the images that the maps show beside an evaluation of others.

    Args:
        images: uint8 ``[P, C, H, W]``, or frozen features ``[P, F]``.
        device: where the encoders live.
    """

    def __init__(self, images: Tensor, device: torch.device) -> None:
        self._images, self._device = send(images, device), device

    def beside(self, encoder: Encoder, evaluation: Finish) -> Finish:
        """Add the embeddings of these images to an evaluation; they are queued now."""
        parts = [HostCopy(part) for part in embedded(folded(encoder), self._images, self._device)]

        def finish() -> ProbeResult:
            return replace(evaluation(), embeddings=torch.cat([part.get() for part in parts]))

        return finish


TRAIN_PROBE = 800  # enough for a train R@1 good to about two points
TRAIN_KEY = "train_R_at_1"


@dataclass(frozen=True, kw_only=True)
class WholeTest:
    """The evaluation of an arm on the whole test set.

    Attributes:
        numbers: means over the queries, keyed ``test/<metric>``, and counts.
        queries: metric to float64 ``[Q]``, the queries that are kept; NaN where undefined.
        judged: :data:`trainers.runs.untrained.JUDGED` of the images that rows without training are scored on,
            float64 ``[M, T]``.
    """

    numbers: dict[str, float]
    queries: dict[str, np.ndarray]
    judged: np.ndarray


class ProbeEvaluator:
    """Holds the fixed images that arms are evaluated on.

    Args:
        train, test: uint8 images ``[N, C, H, W]``, or frozen features ``[N, F]``.
        train_labels, test_labels: int64 ``[N, L]``, finest first.
        train_truth: the labels of ``train`` without label noise, by which some are chosen, so that runs with and
            without noise are evaluated on the same ones; None: ``train_labels``.
        probe: rows of the test set, int64 ``[P]``.
        device: where the encoders live.
        test_before_cap: images of the test set before the cap on images; 0: as many as there are.
        metrics: names of further metrics; on the probe those that it is large enough for.
        batches: divides training images into batches by their labels, see :func:`.gap_batches.gap_batches`; None: the
            decomposability gap is not measured.
        fingerprint: of the test images, see :class:`trainers.runs.records.QueryScores`.
        roles: of the test images; None: each is a query against all others.
        chosen: rows of the test set that rows without training are scored on, int64 ``[T]``; None: all.
    """

    def __init__(
        self,
        *,
        train: Tensor,
        train_labels: Tensor,
        train_truth: Tensor | None = None,
        test: Tensor,
        test_labels: Tensor,
        probe: Tensor,
        device: torch.device,
        test_before_cap: int = 0,
        metrics: Sequence[str] = (),
        batches: Callable[[Tensor], Tensor | None] | None = None,
        fingerprint: str = "",
        roles: Roles | None = None,
        chosen: Tensor | None = None,
    ) -> None:
        rows = choose_probe(train_labels if train_truth is None else train_truth, TRAIN_PROBE, seed=0)
        self._train_batches = None if batches is None else batches(train_labels[rows])
        self._train = send(train[rows], device)
        self._train_labels = train_labels[rows]
        self._probe = send(test[probe], device)
        self._probe_labels = test_labels[probe]
        self._contextual = ContextualSample(self._probe_labels)
        self._test = test
        self._test_labels = test_labels
        self._test_before_cap = test_before_cap
        depth = test_labels.shape[1]
        self._names = joined(own_metrics(depth), metrics)
        self._roles, self._probe_roles = roles, None if roles is None else roles.take(probe.numpy())
        results = len(probe) if self._probe_roles is None else 1 + len(self._probe_roles.searched)
        self._probe_names = joined(own_metrics(depth), measurable(metrics, depth, results))
        self._fingerprint = fingerprint
        self._chosen = torch.arange(len(test)) if chosen is None else chosen
        self._kept = kept_queries(len(test)) if roles is None else roles.queries[kept_queries(len(roles.queries))]
        self._device = device

    def begin(self, encoder: Encoder, *, training: bool = True) -> Finish:
        """Begin an evaluation: the embeddings are queued on the device; the returned function scores their host copies.

        Args:
            training: also measure training images, whose embedding adds half as much work.
        """
        twin = folded(encoder)
        probe = [HostCopy(part) for part in embedded(twin, self._probe, self._device)]
        train = [HostCopy(part) for part in embedded(twin, self._train, self._device)] if training else None
        if rank():  # the first process alone scores
            return lambda: ProbeResult(embeddings=_joined(probe), numbers={})
        return lambda: self._scored(_joined(probe), None if train is None else _joined(train))

    def train_score(self, encoder: Encoder) -> dict[str, float]:
        """Compute the numbers of training images alone: R@1, and the decomposability gap with its two sides."""
        return self._train_numbers(embed(encoder, self._train, self._device))

    def _scored(self, probe: Tensor, train: Tensor | None) -> ProbeResult:
        names = self._probe_names
        scores = score_roles(probe, self._probe_labels, self._probe_roles, names)
        numbers = _means(scores.means(self._probe_labels.shape[1]), names)
        if train is not None:
            numbers |= self._train_numbers(train)
        return ProbeResult(embeddings=probe, numbers=numbers | self._contextual.numbers(probe))

    def _train_numbers(self, embeddings: Tensor) -> dict[str, float]:
        labels = self._train_labels
        per_query: Any = evaluate(embeddings, labels, metrics=["R_at_1", "AP"], per_query=True)
        numbers = {TRAIN_KEY: _mean(per_query["R_at_1"])}
        if self._train_batches is None:
            return numbers
        inside = inside_batches(embeddings, labels[:, :1], self._train_batches, "AP")
        gap = inside - per_query["AP"]
        defined = ~np.isnan(gap)
        sides = {BATCH_AP: inside[defined], WHOLE_AP: per_query["AP"][defined], GAP: gap[defined]}
        return numbers | {key: _mean(values) for key, values in sides.items() if len(values)}

    def whole_test(self, encoder: Encoder, progress: Progress = silent) -> WholeTest:
        """Compute the same numbers over the whole test set; with :data:`LEFT_OUT` and how many images. Of several
        processes the first alone has any.

        Every image is a query against all others, or every query against the gallery where they have roles. Besides the
        images it takes the embeddings and a few hundred MB.

        Args:
            progress: called with the progress; it may raise to give up.
        """
        labels, count = self._test_labels, len(self._test)
        names, roles = self._names, self._roles
        queries = count if roles is None else len(roles.queries)

        def tell(doing: str, done: int, of: int) -> None:
            progress(f"{doing} the whole test set: {done:,} of {of:,}", done / of)

        meet()
        embeddings = embed(encoder, self._test, self._device, lambda done: tell("embedding", done, count))
        if rank():
            return WholeTest(numbers={}, queries={}, judged=np.zeros((len(JUDGED), 0)))
        scores = score_roles(embeddings, labels, roles, names, progress=lambda done: tell("scoring", done, queries))
        values = _means(scores.means(labels.shape[1]), [*names, LEFT_OUT]) | {counts.IMAGES: float(count)}
        values |= counts.of_roles(roles)
        if self._test_before_cap > count:
            values[counts.BEFORE_CAP] = float(self._test_before_cap)
        numbers = {f"test/{name}": value for name, value in values.items()}
        if len(self._chosen) < count:
            roles = None if roles is None else roles.take(self._chosen.numpy())
            scores_of = score_roles(embeddings[self._chosen], labels[self._chosen], roles, JUDGED).values
        else:
            scores_of = scores.values
        return WholeTest(
            numbers=numbers,
            queries={name: scores.values[name][self._kept] for name in names},
            judged=np.stack([scores_of[name] for name in JUDGED]),
        )

    def query_scores(self, arms: Sequence[WholeTest]) -> QueryScores:
        """Return what a run keeps of every query, from :meth:`whole_test` of each of its arms."""
        return QueryScores(
            metrics=tuple(arms[0].queries),
            values=np.stack([np.stack(list(arm.queries.values())) for arm in arms]).astype(np.float32),
            labels=self._test_labels[:, 0].numpy()[self._kept].astype(np.int32),
            rows=self._kept,
            images=len(self._test),
            fingerprint=self._fingerprint,
        )

    def floor(self) -> dict[str, float]:
        """Count what is known before any training: :data:`LEFT_OUT`, the probe's images that are no query at the finest
        level, and how many images are evaluated.
        """
        roles, points = self._probe_roles, torch.zeros(len(self._probe), 1)
        left = score_roles(points, self._probe_labels, roles, ["R_at_1"]).means(self._probe_labels.shape[1])[LEFT_OUT]
        sizes = {counts.PROBE: float(len(self._probe)), counts.TRAIN: float(len(self._train)), LEFT_OUT: float(left)}
        return sizes | counts.of_roles(roles, counts.OF_PROBE)


def left_out(count: float, what: str, roles: Roles | None = None) -> str:
    """Write how many queries the means leave out, as a sentence for the log; with roles, of how many among how many."""
    if roles is not None:
        none = f"{count:.0f} of them have no image of their class to find, and the means over classes leave them out"
        return f"{roles.sentence(what)}; {none if count else 'each has an image of its class to find'}"
    if not count:
        return f"queries: every image {what} has another one of its class to find"
    return (
        f"queries: {count:.0f} images {what} have no second image of their class to find; "
        "R@1 and the other means over classes leave them out"
    )


def _joined(parts: Sequence[HostCopy]) -> Tensor:
    return torch.cat([part.get() for part in parts])


def _mean(values: np.ndarray) -> float:
    """Return the mean of what is defined; NaN if nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _means(result: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    return {name: result[name] for name in names}
