"""The query that a retriever is asked, and its answer, in order, as a table and as curves of precision and recall."""

from __future__ import annotations

import dataclasses
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from trainers.cells import csv_text, encodable
from trainers.hierarchy import Ancestor
from trainers.metrics.catalogue.ranking import graded
from trainers.metrics.neighbours import on_grid
from trainers.metrics.ranked_lists import Column, RankedBlock
from trainers.object_removal.removal import Target
from trainers.parameters import Choice
from trainers.runs import RunFolder

if TYPE_CHECKING:
    import pyarrow


POINTS = 300
"""Steps of a curve for a page."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A step function of recall: ``precision[i]`` from ``recall[i - 1]`` (0 before the first) to ``recall[i]``.

    Attributes:
        recall: float64 ``[n]``, rising to 1.
        precision: float64 ``[n]``, from 0 to 1.
    """

    recall: np.ndarray
    precision: np.ndarray

    @property
    def area(self) -> float:
        """AP of a plain curve, H-AP of a hierarchical one."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def as_json(self) -> dict[str, Any]:
        """Return it as lists of numbers, thinned; the area is that of all steps."""
        drawn = self.thinned()
        steps = {"recall": drawn.recall, "precision": drawn.precision}
        return {"area": self.area, **{name: np.round(values, 5).tolist() for name, values in steps.items()}}

    def thinned(self, most: int = POINTS) -> Curve:
        """Return a curve of the same area with at most ``most`` steps, more of them where the precision changes.

        Neighbouring steps are joined to one of their mean height.
        """
        width = np.diff(self.recall, prepend=0.0)
        if len(width) <= most:
            return self
        jump = np.abs(np.diff(self.precision, prepend=self.precision[0]))
        length = np.cumsum(width + jump / max(jump.sum(), 1e-300))
        group = np.minimum((length / length[-1] * most).astype(np.int64), most - 1)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        joined = np.add.reduceat(width, first)
        mean = np.add.reduceat(width * self.precision, first) / joined
        return Curve(recall=self.recall[np.append(first[1:], len(width)) - 1], precision=mean)


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Both curves of a ranked list.

    Attributes:
        plain: precision against recall, the finest level of the labels saying what is relevant; None: nothing is.
        hierarchical: its counterpart over the label tree; None: nothing shares any level.
    """

    plain: Curve | None
    hierarchical: Curve | None

    def as_json(self) -> dict[str, Any]:
        """Recall, precision and area of each, or None; of a few hundred steps at most."""
        curves = {"plain": self.plain, "hierarchical": self.hierarchical}
        return {name: None if curve is None else curve.as_json() for name, curve in curves.items()}


def curves_of(block: RankedBlock) -> Curves:
    """Return the curves of a block of one list, as :func:`trainers.metrics.scores.query_block` makes it.

    Plain: at each relevant result, the share of results so far that are relevant, against the share of the relevant
    ones found. Hierarchical (Ramzi et al. 2022, section on H-AP): with rel of a result as in H-AP, HR(r) = sum_{j up to
    r} rel_j / sum_j rel_j and HP(r) = sum_{j up to r} min(rel_r, rel_j) / (r rel_r).
    """
    return Curves(plain=_plain(block), hierarchical=_hierarchical(block))


def _plain(block: RankedBlock) -> Curve | None:
    column = Column(block, 0)
    precision = column.precision[column.hit > 0].cpu().numpy()
    return _curve(np.ones(len(precision)), precision)


def _hierarchical(block: RankedBlock) -> Curve | None:
    relevance, hrank, _ = graded(block)
    return _curve(relevance.cpu().numpy(), (hrank / (block.rank * relevance)).cpu().numpy())


def _curve(weight: np.ndarray, precision: np.ndarray) -> Curve | None:
    """Make a curve from the weight and precision ``[P]`` of each item of a list; None: it has none."""
    total = np.cumsum(weight)
    return Curve(recall=total / total[-1], precision=precision) if len(total) else None


def with_equals(rows: np.ndarray, similarity: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Add to some rows all others that are as similar as one of them, but those ``left_out``; in no order.

    Args:
        rows: int64 ``[n]``.
        similarity: float ``[G]``, of the whole gallery.
    """
    rounded = on_grid(similarity)
    equal = np.isin(rounded, rounded[rows])
    equal[left_out] = False
    return np.flatnonzero(equal)


def largest_tie(similarity: np.ndarray) -> int:
    """Count the results of the largest group of similarities that are equal in float32; 1: no two are, 0: there are
    none.
    """
    return int(np.unique(on_grid(similarity.astype(np.float32)), return_counts=True)[1].max(initial=0))


@dataclass(frozen=True, kw_only=True)
class RunArm:
    """An arm of a run, counted from 0."""

    folder: RunFolder
    arm: int


@dataclass(frozen=True, kw_only=True)
class Removal:
    """A removal from a query: classes or a region, and the fill that takes its place, by name."""

    target: Target
    fill: str = "telea"


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query: a row or an image.

    Attributes:
        row: of the gallery, or of ``collection``.
        collection: name and parameters of another gallery that ``row`` counts in; None: the gallery that is searched.
        image: the content of an image file.
        removal: the image is also searched for without this, and with nothing but this.
    """

    row: int | None = None
    collection: Choice | None = None
    image: bytes | None = None
    removal: Removal | None = None


@dataclass(frozen=True, kw_only=True)
class FoundImage:
    """An image that was found.

    Attributes:
        row: of the gallery.
        similarity: cosine with the query.
        severity: levels on which it agrees with the query, 0 (unrelated) to L (same finest class); None: not known.
        classes: names of its classes, finest first.
        ancestor: the finest class that it shares with the query; None: none, or not known.
    """

    row: int
    similarity: float
    severity: int | None
    classes: tuple[str, ...]
    ancestor: Ancestor | None


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The first results, and the metrics of the query over the whole gallery.

    Attributes:
        results: best first; never the query itself.
        scores: metric name to value, those of :data:`trainers.retrieval.retriever.SCORES` that are defined.
        curves: precision against recall; None: not asked for, or the classes are not known.
    """

    results: tuple[FoundImage, ...]
    scores: Mapping[str, float]
    curves: Curves | None = None

    @property
    def tied(self) -> str:
        """A sentence where results are equally similar to the query, the order of which says nothing; else empty."""
        count = largest_tie(np.array([result.similarity for result in self.results]))
        if count < 2:
            return ""
        first = "; the less related stand first, as the metrics count them" if self.scores else ""
        which = "All" if count == len(self.results) else f"{count} of these"
        return f"{which} {len(self.results)} results are equally similar to the query{first}."

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists, dictionaries, texts and numbers."""
        curves = None if self.curves is None else self.curves.as_json()
        plain = dataclasses.asdict(dataclasses.replace(self, curves=None))
        return {**plain, "curves": curves, "tied": self.tied}


@dataclass(frozen=True, kw_only=True)
class IndexUse:
    """The index that was searched.

    Attributes:
        name, title: of the index.
        reason: why it was chosen, one sentence.
        recall: share of the ten nearest vectors that it finds, on a sample of the gallery; 1 for an exact one.
        seconds: that building took, also if it was built earlier; 0: nothing was built.
    """

    name: str
    title: str
    reason: str
    recall: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class After:
    """The results once something is removed from the query.

    Attributes:
        rankings: without what was removed, and for it alone, by form; empty where ``error`` says why.
        stays: share of the results of the whole image that stay without it; NaN: there are none.
    """

    rankings: Mapping[str, Ranking] = field(default_factory=dict)
    stays: float = float("nan")
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists, dictionaries, texts and numbers."""
        rankings = {form: ranking.as_json() for form, ranking in self.rankings.items()}
        stays = None if math.isnan(self.stays) else self.stays
        return {"rankings": rankings, "stays": stays, "error": self.error}


@dataclass(frozen=True, kw_only=True)
class ArmResult:
    """The answer of one arm.

    Attributes:
        run, arm, title: which arm; the title is that of its loss or method, empty if the run cannot be read.
        error: a sentence if there is no answer; the other fields then say nothing.
        step: of the weights.
        ranking: by similarity; ``reranked``: after re-ranking, None without.
        after: without what is removed; None: nothing is.
        index: what was searched.
        seconds: what was done, to its duration: ``vectors``, ``index``, ``encode``, ``search``, ``score``, ``rerank``.
    """

    run: str
    arm: int
    title: str = ""
    error: str | None = None
    step: int = 0
    ranking: Ranking | None = None
    reranked: Ranking | None = None
    after: After | None = None
    index: IndexUse | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def final(self) -> Ranking | None:
        """The ranking after re-ranking if there was one, else by similarity."""
        return self.ranking if self.reranked is None else self.reranked

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists, dictionaries, texts and numbers."""
        rankings = {"ranking": self.ranking, "reranked": self.reranked}
        about = dataclasses.asdict(dataclasses.replace(self, ranking=None, reranked=None, after=None))
        plain: dict[str, Any] = {
            name: None if ranking is None else ranking.as_json() for name, ranking in rankings.items()
        }
        if self.after is not None:
            plain["after"] = self.after.as_json()
        return {**about, **plain, "seconds": dict(self.seconds)}


@dataclass(frozen=True, kw_only=True)
class Retrieval:
    """The answers of all arms to one query.

    Attributes:
        gallery, title: name of the gallery, and in words.
        count: images in it.
        levels: names of the label tree's levels, finest first.
        query: row in the gallery if the query is in it, else None.
        classes: names of the query's classes, finest first; None: they are not known.
        notes: sentences on what is not known, and why.
        arms: in the order in which they were asked for.
        forms: the query whole, without what is removed, and that alone, uint8 ``[C, S, S]`` by name; empty: nothing is.
        covered: share of the query that is removed.
        removed: the classes that go, if classes were named.
    """

    gallery: str
    title: str
    count: int
    levels: tuple[str, ...]
    query: int | None
    classes: tuple[str, ...] | None
    notes: tuple[str, ...]
    arms: tuple[ArmResult, ...]
    forms: Mapping[str, Tensor] = field(default_factory=dict)
    covered: float = 0.0
    removed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists, dictionaries, texts and numbers."""
        about = dataclasses.asdict(dataclasses.replace(self, arms=(), forms={}))
        del about["forms"]
        return {**about, "arms": [arm.as_json() for arm in self.arms]}


COLUMNS = ("run", "arm", "title", "step", "rank", "row", "similarity", "severity", "ancestor", "classes", "error")
"""Ranks count from 1, after re-ranking if there was one; severity and ancestor are empty where they are not known."""


def rows(answer: Retrieval) -> list[tuple[Any, ...]]:
    """Return a row of :data:`COLUMNS` per result, and one per arm without any."""
    lines: list[tuple[Any, ...]] = []
    for arm in answer.arms:
        head = (arm.run, arm.arm, arm.title, arm.step)
        if arm.final is None:
            lines.append((*head, None, None, None, None, None, None, arm.error))
            continue
        lines += [
            (
                *head,
                rank,
                result.row,
                result.similarity,
                result.severity,
                None if result.ancestor is None else result.ancestor.name,
                " < ".join(result.classes),
                None,
            )
            for rank, result in enumerate(arm.final.results, start=1)
        ]
    return lines


def csv_file(answer: Retrieval) -> bytes:
    """Write CSV."""
    return csv_text(COLUMNS, rows(answer)).encode()


def parquet_file(answer: Retrieval) -> bytes:
    """Write Parquet."""
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(table(answer), out, compression="zstd")
    return out.getvalue()


def table(answer: Retrieval) -> pyarrow.Table:
    """Return the same as a table of Arrow."""
    import pyarrow

    columns = zip(*rows(answer), strict=True)
    texts = [[encodable(value) if isinstance(value, str) else value for value in column] for column in columns]
    return pyarrow.table(dict(zip(COLUMNS, texts, strict=True)))


FILES = {"csv": csv_file, "parquet": parquet_file}
"""Writers by the ending of the file."""
