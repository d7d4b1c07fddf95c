"""The severity of the results of a set of queries, by level and class, and over the training of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainers.data.roles import Roles
from trainers.errors import RunError
from trainers.hierarchy import Hierarchy, shared_levels, shares_when_wrong
from trainers.retrieval.probe_results import labelled_probe_of, probe_results, roles_of
from trainers.runs.reader import RunReader
from trainers.runs.records import Probe


@dataclass(frozen=True, kw_only=True)
class ClassResults:
    """The results of the queries of each class of one level.

    Attributes:
        level: 0 the finest.
        ids: int64 ``[C]``, classes that have queries, into the names of the level.
        queries: int64 ``[C]``.
        top1, topk: float64 ``[C, L + 1]``, share of first and of all results that agree on so many levels.
        of_class1, of_class: float64 ``[C]``, share of first and of all results that are of the query's
            class at this level.
        best: float64 ``[C]``, the highest ``of_class`` that the size of the class allows.
    """

    level: int
    ids: np.ndarray
    queries: np.ndarray
    top1: np.ndarray
    topk: np.ndarray
    of_class1: np.ndarray
    of_class: np.ndarray
    best: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Images of one class where images of another were wanted.

    Attributes:
        query_class, result_class: ids at the finest level.
        count: how many results.
        shared: levels that they agree on; ``missing`` of the L levels they do not.
        query, result: an example, the one nearest to the top: rows of the queries and of the gallery.
        rank: of the example, from 1.
    """

    query_class: int
    result_class: int
    count: int
    shared: int
    missing: int
    query: int
    result: int
    rank: int

    @property
    def cost(self) -> int:
        """Count times missing levels."""
        return self.count * self.missing


@dataclass(frozen=True, kw_only=True)
class Mistakes:
    """The result of :func:`mistakes`.

    Attributes:
        k: results of each query.
        queries: how many have an image of their class to find; ``left_out``: how many do not.
        top1, topk: float64 ``[L + 1]``, share of first and of all results that agree on so many levels.
        best: float64 ``[L + 1]``, ``topk`` of perfect lists; small classes do not fill k results.
        levels: the results by class, a table for each level.
        confusions: the costliest first.
    """

    k: int
    queries: int
    left_out: int
    top1: np.ndarray
    topk: np.ndarray
    best: np.ndarray
    levels: tuple[ClassResults, ...]
    confusions: tuple[Confusion, ...]

    @property
    def wrong1(self) -> np.ndarray | None:
        """``top1`` given a wrong first result, float64 ``[L]``: how bad the mistakes are, however many; None: none is
        wrong."""
        return shares_when_wrong(self.top1)


def mistakes(
    ids: np.ndarray,
    labels: np.ndarray,
    gallery_labels: np.ndarray | None = None,
    *,
    most: int | None = None,
    among: np.ndarray | None = None,
    roles: Roles | None = None,
) -> Mistakes:
    """Count the results of every query by severity.

    Queries without an image of their class are left out, as of the metrics' means. Among the confusions are the results
    of another class up to rank min(k, R), R being how many images of its class a query has to find: a perfect list has
    none.

    Args:
        ids: integers ``[Q, k]``, rows of the gallery, best first, the query not among them; k at least 1.
        labels: integers ``[Q, L]``, finest first.
        gallery_labels: ``[G, L]``; None: the gallery is the queries, each searched among the others.
        most: how many confusions; None: all.
        among: int64 ``[N]``, rows of the queries that are counted; None: all.
        roles: of the images where queries and gallery are together; those of the gallery alone are results, and only
            queries are counted.
    """
    kept = labels if gallery_labels is None else gallery_labels
    if roles is None:
        every, within = np.arange(len(labels)), gallery_labels is None
        wanted = np.stack([_wanted(*columns, within) for columns in zip(labels.T, kept.T, strict=True)], axis=1)
    else:
        every, wanted = roles.queries, roles.to_find(labels)
    every = every if among is None else np.intersect1d(every, among)
    asked, chosen = every[wanted[every, 0] > 0], len(every)
    ids, own_labels, wanted = ids[asked], labels[asked], wanted[asked]
    results = kept[ids]
    shared = shared_levels(results, own_labels[:, None])
    depth = labels.shape[1]
    return Mistakes(
        k=ids.shape[1],
        queries=len(asked),
        left_out=chosen - len(asked),
        top1=_shares(shared[:, :1], depth),
        topk=_shares(shared, depth),
        best=_best(wanted, ids.shape[1]),
        levels=tuple(_by_class(level, own_labels, results, shared, wanted) for level in range(depth)),
        confusions=_confusions(ids, asked, own_labels, results, shared, wanted[:, 0])[:most],
    )


def severity_shares(ids: np.ndarray, labels: np.ndarray, roles: Roles | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return ``top1`` and ``topk`` of :func:`mistakes` alone, for many frames."""
    if roles is None:
        asked = _wanted(labels[:, 0], labels[:, 0], within=True) > 0
    else:
        asked = roles.query & (roles.to_find(labels)[:, 0] > 0)
    shared = shared_levels(labels[ids[asked]], labels[asked][:, None])
    return _shares(shared[:, :1], labels.shape[1]), _shares(shared, labels.shape[1])


def find_classes(hierarchy: Hierarchy, text: str, most: int = 50) -> list[tuple[int, int]]:
    """Find the level and id of the classes whose names hold every word of ``text``, whatever the case.

    Names that begin with the text come first, then finer levels, then as the names are ordered.
    """
    words = text.lower().split()
    classes = [
        (not name.lower().startswith(text.strip().lower()), level, name.lower(), number)
        for level, names in enumerate(hierarchy.names)
        for number, name in enumerate(names)
        if all(word in name.lower() for word in words)
    ]
    return [(level, number) for _, level, _, number in sorted(classes)[:most]]


def _wanted(labels: np.ndarray, gallery: np.ndarray, within: bool) -> np.ndarray:
    """Count the images of its class that each query has to find, int64 ``[Q]``."""
    size = 1 + max(labels.max(initial=-1), gallery.max(initial=-1))
    counts: np.ndarray = np.bincount(gallery, minlength=size)[labels] - within
    return counts


def _shares(shared: np.ndarray, depth: int) -> np.ndarray:
    return np.bincount(shared.ravel(), minlength=depth + 1) / max(shared.size, 1)


def _best(wanted: np.ndarray, k: int) -> np.ndarray:
    """Return the shares of the severities of perfect lists, from the images each query has to find at each level."""
    reached = np.minimum(wanted, k)  # finest level first
    exactly = np.diff(np.concatenate([np.zeros_like(reached[:, :1]), reached], axis=1), axis=1).sum(0)
    shares = np.concatenate([[len(wanted) * k - exactly.sum()], exactly[::-1]])
    return shares / max(shares.sum(), 1)


def _by_class(
    level: int, labels: np.ndarray, results: np.ndarray, shared: np.ndarray, wanted: np.ndarray
) -> ClassResults:
    ids, number = np.unique(labels[:, level], return_inverse=True)
    queries, k, grades = np.bincount(number, minlength=len(ids)), shared.shape[1], labels.shape[1] + 1
    same = results[:, :, level] == labels[:, None, level]

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(number, values, minlength=len(ids)) / queries

    def grid(some: np.ndarray) -> np.ndarray:
        cells = (number[:, None] * grades + some).ravel()
        counted = np.bincount(cells, minlength=len(ids) * grades).reshape(-1, grades)
        return counted / (queries[:, None] * some.shape[1])

    return ClassResults(
        level=level,
        ids=ids.astype(np.int64),
        queries=queries,
        top1=grid(shared[:, :1]),
        topk=grid(shared),
        of_class1=mean(same[:, 0]),
        of_class=mean(same.mean(1)),
        best=mean(np.minimum(wanted[:, level], k) / k),
    )


def _confusions(
    ids: np.ndarray, asked: np.ndarray, labels: np.ndarray, results: np.ndarray, shared: np.ndarray, wanted: np.ndarray
) -> tuple[Confusion, ...]:
    query, rank = np.nonzero((results[:, :, 0] != labels[:, None, 0]) & (np.arange(ids.shape[1]) < wanted[:, None]))
    order = np.lexsort((query, rank))  # the first of each pair is its example
    query, rank = query[order], rank[order]
    triples = np.stack([labels[query, 0], results[query, rank, 0], shared[query, rank]], axis=1)
    size = triples.max(0, initial=0) + 1
    code = (triples[:, 0].astype(np.int64) * size[1] + triples[:, 1]) * size[2] + triples[:, 2]
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    missing = labels.shape[1] - triples[first, 2]
    ranked = np.lexsort((triples[first, 1], triples[first, 0], -counts, -counts * missing))
    return tuple(
        Confusion(
            query_class=int(triples[example, 0]),
            result_class=int(triples[example, 1]),
            count=int(counts[which]),
            shared=int(triples[example, 2]),
            missing=int(missing[which]),
            query=int(asked[query[example]]),
            result=int(ids[query[example], rank[example]]),
            rank=int(rank[example]) + 1,
        )
        for which in ranked
        for example in (first[which],)
    )


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The results of one arm at one frame: shares by levels agreed, float64 ``[L + 1]``, of the first and of k."""

    top1: np.ndarray
    topk: np.ndarray


Moments = list[Moment | None]
"""One per arm; None: its training had diverged."""


class MistakesOverTraining:
    """The shares of every stored frame of a run. A frame is read once; one that was written again is read again.

    Of a run whose maps were never drawn, the embeddings of its snapshots are read in their place.

    Args:
        folder: the run; nothing is written to it.
    """

    def __init__(self, folder: RunReader) -> None:
        self._folder = folder
        self._kept: dict[tuple[int, int], tuple[tuple[int, int], Moments]] = {}

    def series(self, k: int) -> list[tuple[int, int, Moments]]:
        """Return frame, step and a :class:`Moment` per arm, oldest first; frames that keep fewer than k results are
        left out.

        Raises:
            RunError: the run has no images with labels.
        """
        probe = labelled_probe_of(self._folder)
        moments = []
        drawn = self._folder.frame_steps()
        for frame, step in drawn or [(k, step) for k, step, _ in self._folder.snapshots()]:
            try:
                moments.append((frame, step, self._moments(frame, k, probe)))
            except RunError:
                self._kept.pop((frame, k), None)
        return moments

    def _moments(self, frame: int, k: int, probe: Probe) -> Moments:
        stamp = self._stamp(frame)
        kept = self._kept.get((frame, k))
        if kept is None or kept[0] != stamp:
            results, roles = probe_results(self._folder, frame, k), roles_of(probe)
            kept = self._kept[frame, k] = stamp, [_moment(ids, probe.labels, roles) for ids in results]
        return kept[1]

    def _stamp(self, frame: int) -> tuple[int, int]:
        folder = self._folder
        try:
            about = (folder.frame_path(frame) if folder.frames() else folder.embeddings_path(frame)).stat()
        except OSError as error:
            raise RunError(f"The run {folder.id} lacks frame {frame}.") from error
        return about.st_mtime_ns, about.st_size


def _moment(ids: np.ndarray | None, labels: np.ndarray, roles: Roles | None) -> Moment | None:
    if ids is None:
        return None
    top1, topk = severity_shares(ids, labels, roles)
    return Moment(top1=top1, topk=topk)
