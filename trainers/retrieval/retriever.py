"""Searches a gallery for one query in several arms of several runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trainers.data.decode import decode_query
from trainers.errors import ParameterError, UserError
from trainers.hierarchy import class_path, common_ancestor, shared_levels
from trainers.kinds import kind_of
from trainers.metrics.neighbours import best, order
from trainers.metrics.scores import query_block, score_query
from trainers.object_removal.reliance.queries import ALONE, WITHOUT
from trainers.parameters import Choice, entry
from trainers.progress import Progress, part_of, silent
from trainers.retrieval.encoders import check_arm, searched_config
from trainers.retrieval.galleries import Gallery
from trainers.retrieval.indexes import AUTO, INDEXES, Size, choose
from trainers.retrieval.query import Asked, Removals, RemovedObject, among_gallery, gallery_row, seen, with_labels
from trainers.retrieval.reranking import RERANKINGS
from trainers.retrieval.results import (
    After,
    ArmResult,
    Curves,
    FoundImage,
    IndexUse,
    Query,
    Ranking,
    Retrieval,
    RunArm,
    curves_of,
    with_equals,
)
from trainers.retrieval.search_cache import Kept
from trainers.retrieval.vectors import QueryComparison, Vectors, stored_vectors
from trainers.runs import RunFolder

SCORES = ("AP", "HAP", "NDCG")
"""Metrics of a query against the whole gallery."""


def ranking(
    asked: Asked, rows: np.ndarray, near: np.ndarray, measured: tuple[dict[str, float], Curves | None]
) -> Ranking:
    gallery, labels, classes = asked.gallery, asked.labels, asked.classes
    known = labels is not None and classes is not None
    severity = shared_levels(labels[rows], classes) if known else None  # type: ignore[index, arg-type]
    results = tuple(
        FoundImage(
            row=int(row),
            similarity=float(near[index]),
            severity=None if severity is None else int(severity[index]),
            classes=class_path(gallery.labels[row], gallery.hierarchy) if gallery.labelled else (),
            ancestor=common_ancestor(labels[row], classes, asked.collection.hierarchy) if known else None,  # type: ignore[index, arg-type]
        )
        for index, row in enumerate(rows.tolist())
    )
    return Ranking(results=results, scores=measured[0], curves=measured[1])


def measured(
    asked: Asked, whole: np.ndarray | None, ranked: np.ndarray | None, *, curves: bool
) -> tuple[dict[str, float], Curves | None]:
    """Return scores of the query over the whole gallery, and its curves."""
    if asked.match is None or whole is None:
        return {}, None
    match, similarity = asked.match, whole
    if len(left_out := asked.left_out):  # at the end of the list as irrelevant items, which no metric notices
        match, similarity = match.copy(), whole.copy()
        match[left_out], similarity[left_out] = False, -2.0
    scores = score_query(match, SCORES, similarity=similarity, order=ranked)
    return scores, curves_of(query_block(match, similarity=similarity, order=ranked)) if curves else None


def whole_order(
    whole: np.ndarray, first: np.ndarray, left_out: np.ndarray, match: np.ndarray | None = None
) -> np.ndarray:
    """Order all rows: those that were re-ranked, then the others by similarity, then those ``left_out``."""
    values = whole.copy()
    values[first] = np.inf
    values[left_out] = -np.inf
    rest = order(values, np.arange(len(values)), match)[len(first) :]
    return np.concatenate([first, rest])


def reranked_order(choice: Choice, query: np.ndarray, candidates: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    descriptor = entry(RERANKINGS, choice.name, "re-ranking")
    parameters = descriptor.checked(choice.parameters)
    ranked: np.ndarray = descriptor.rerank(query, candidates, similarity.astype(np.float32), parameters)
    return ranked


MOST_RESULTS = 1000


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """What a search is asked for beside its query; see :meth:`trainers.retrieval.retriever.Retriever.retrieve`."""

    k: int
    index: Choice
    rerank: Choice | None
    step: int | None
    scores: bool
    curves: bool

    def check(self) -> None:
        """Raise ParameterError for what no search can be made with."""
        if not 1 <= self.k <= MOST_RESULTS:
            raise ParameterError(f"k needs a whole number from 1 to {MOST_RESULTS:,}; got {self.k}.")
        if self.step is not None and self.step < 0:
            raise ParameterError(f"Steps are counted from 0; got {self.step}.")
        if self.index.name != AUTO:
            entry(INDEXES, self.index.name, "index").checked(self.index.parameters)
        if self.rerank is not None:
            entry(RERANKINGS, self.rerank.name, "re-ranking").checked(self.rerank.parameters)


RERANKED = 200
"""First results that are re-ranked, unless more are wanted."""
_EXACT = "flat"


@dataclass
class _Clock:
    """Adds up what was done to its seconds."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def over(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - started


class Retriever:
    """Keeps datasets, encoders and indexes between queries; any number of threads may ask at once.

    Args:
        memory: see :class:`trainers.retrieval.search_cache.Kept`.
    """

    def __init__(self, memory: int | None = None) -> None:
        self.kept = Kept(memory)
        self._removals = Removals()

    def gallery(self, home: RunFolder, choice: Choice, progress: Progress = silent) -> Gallery:
        """Return a gallery; see :meth:`trainers.retrieval.search_cache.Kept.gallery`."""
        return self.kept.gallery(home, choice, progress)

    def retrieve(
        self,
        arms: Sequence[RunArm],
        query: Query,
        gallery: Choice,
        *,
        k: int = 10,
        index: Choice | None = None,
        rerank: Choice | None = None,
        step: int | None = None,
        scores: bool = True,
        curves: bool = False,
        home: RunFolder | None = None,
        progress: Progress = silent,
    ) -> Retrieval:
        """Find the first results of a query in every arm. An arm that cannot answer says why; the others answer.

        Args:
            gallery: name and parameters of one of :data:`trainers.retrieval.galleries.GALLERIES`.
            k: results wanted of each arm.
            index: one of :data:`trainers.retrieval.indexes.INDEXES`; None: chosen by size.
            rerank: one of the re-rankings; None: by similarity alone.
            step: of the probe alone, the embeddings stored at or before this step; None: the newest.
            scores: also measure the query against the whole gallery; curves: and draw its curves.
            home: the run whose gallery it is; None: the first that can be read.
            progress: told what is done and the fraction; it may raise to stop.

        Raises:
            UserError: the query or the gallery cannot be read, or a parameter is wrong.
        """
        settings = SearchSettings(
            k=k, index=index or Choice(name=AUTO), rerank=rerank, step=step, scores=scores, curves=curves
        )
        settings.check()
        if not arms:
            raise ParameterError("A query needs a run; got none.")
        asked = self.ask(home, arms, query, gallery, part_of(progress, 0.0, 0.2))
        if step is not None:
            _check_stored(asked, query)
        if query.removal is not None:
            asked = replace(asked, removed=self._removals.of(query.removal, asked))
        answers = []
        for number, arm in enumerate(arms):
            share = part_of(progress, 0.2 + 0.8 * number / len(arms), 0.2 + 0.8 * (number + 1) / len(arms))
            answers.append(self._answer(arm, asked, settings, share))
        return Retrieval(
            gallery=asked.gallery.name,
            title=asked.gallery.title,
            count=len(asked.gallery),
            levels=asked.gallery.hierarchy.levels,
            query=asked.query_row,
            classes=None if asked.classes is None else class_path(asked.classes, asked.collection.hierarchy),
            notes=asked.notes,
            arms=tuple(answers),
            **({} if asked.removed is None else _about(asked.removed)),
        )

    def known_objects(self, home: RunFolder, choice: Choice, row: int) -> dict[str, float]:
        """Return the classes whose objects are known in an image of a gallery, and the share of it that they cover.

        Raises:
            UserError: there is no such image, or it cannot be read.
        """
        gallery = self.gallery(home, choice)
        if not 0 <= row < len(gallery):
            raise UserError(f"{gallery.title}: {len(gallery):,} images, numbered from 0; got {row}.")
        return {name: float(mask.mean()) for name, mask in self._removals.known(gallery, row).items()}

    # --------------------------------------------------------------- the query

    def ask(
        self, home: RunFolder | None, arms: Sequence[RunArm], query: Query, choice: Choice, progress: Progress
    ) -> Asked:
        gallery, home = self._first_gallery([home] if home else [arm.folder for arm in arms], choice, progress)
        if (query.row is None) == (query.image is None):
            raise ParameterError("A query is either a row or an image; got " + ("both." if query.image else "neither."))
        if query.row is None:
            decode_query(query.image or b"", channels=3, side=8)  # what is no image is refused before anything is read
            note = "The classes of the query are not known, so there are no severities and no scores."
            return among_gallery(
                Asked(gallery=gallery, query_row=None, collection=gallery, row=None, image=query.image, notes=(note,))
            )
        collection = gallery if query.collection is None else self.gallery(home, query.collection, progress)
        if not 0 <= query.row < len(collection):
            raise UserError(f"{collection.title}: {len(collection):,} images, numbered from 0; got {query.row}.")
        asked = Asked(
            gallery=gallery,
            query_row=gallery_row(gallery, collection, query.row),
            collection=collection,
            row=query.row,
            image=None,
        )
        return with_labels(among_gallery(asked))

    def _first_gallery(
        self, homes: Sequence[RunFolder], choice: Choice, progress: Progress
    ) -> tuple[Gallery, RunFolder]:
        """Return the gallery of the first run that can be read, and the run; if none can, raise the first error."""
        errors = []
        for home in homes:
            try:
                return self.gallery(home, choice, progress), home
            except UserError as error:
                errors.append(error)
        raise errors[0]

    # ----------------------------------------------------------------- an arm

    def _answer(self, arm: RunArm, asked: Asked, settings: SearchSettings, progress: Progress) -> ArmResult:
        title, folder = "", arm.folder
        try:
            folder.check()
            config = searched_config(folder)
            check_arm(config, folder.id, arm.arm)
            title = kind_of(config).arms(config)[arm.arm].title
            return self._results(arm, title, asked, settings, progress)
        except UserError as error:
            return ArmResult(run=folder.id, arm=arm.arm, title=title, error=str(error))

    def _results(
        self, arm: RunArm, title: str, asked: Asked, settings: SearchSettings, progress: Progress
    ) -> ArmResult:
        clock = _Clock()
        with clock.over("vectors"):
            compared, step = self._compared(arm, asked, settings, part_of(progress, 0.0, 0.8))
        vectors = compared.vectors
        with clock.over("encode"):
            query = self._query_vector(arm, asked, vectors)
        size = Size(count=len(vectors), dim=vectors.dim, memory=self.kept.memory)
        index = settings.index if asked.hidden is None else Choice(name=_EXACT)  # no other leaves many images out
        chosen = choose(INDEXES, size, index.name)
        if asked.hidden is not None:
            chosen = replace(chosen, reason="The gallery is a part of these images, which no other index searches.")
        with clock.over("index"):
            built = self.kept.index(vectors, chosen, index, part_of(progress, 0.8, 1.0))
        with clock.over("search"):
            whole = compared.similarities(query) if chosen.descriptor.exact or settings.scores else None
            depth = max(settings.k, RERANKED) if settings.rerank is not None else settings.k
            if chosen.descriptor.exact and whole is not None:
                rows, near = best(whole, depth, asked.left_out, asked.match)
            else:
                rows, near = built.nearest(vectors, query, depth, asked.query_row)
                if whole is not None:  # an index finds some of many equal ones, whatever their classes
                    rows = with_equals(rows, whole, asked.left_out)
                    near = whole[rows]
                ordered = order(near, rows, asked.match)[:depth]
                rows, near = rows[ordered], near[ordered]
        scored = whole if settings.scores else None
        with clock.over("score"):
            numbers = measured(asked, scored, None, curves=settings.curves)
            first = ranking(asked, rows[: settings.k], near[: settings.k], numbers)
        reranked = None
        if settings.rerank is not None:
            with clock.over("rerank"):
                again = reranked_order(settings.rerank, query, vectors.take(rows), near)
                ranked = None if scored is None else whole_order(scored, rows[again], asked.left_out, asked.match)
                kept = again[: settings.k]
                numbers = measured(asked, scored, ranked, curves=settings.curves)
                reranked = ranking(asked, rows[kept], near[kept], numbers)
        after = None
        if asked.removed is not None:
            with clock.over("removal"):
                after = self._after(arm, asked, asked.removed, compared, first)
        return ArmResult(
            run=arm.folder.id,
            arm=arm.arm,
            title=title,
            step=step,
            ranking=first,
            reranked=reranked,
            after=after,
            index=IndexUse(
                name=chosen.descriptor.name,
                title=chosen.descriptor.title,
                reason=chosen.reason,
                recall=built.recall,
                seconds=built.seconds,
            ),
            seconds=clock.seconds,
        )

    def _after(
        self, arm: RunArm, asked: Asked, removed: RemovedObject, compared: QueryComparison, first: Ranking
    ) -> After:
        try:
            encoder = self.kept.encoder(arm)
            embedded = self.kept.embed(encoder, seen(removed, asked, encoder))
            vectors = dict(zip((WITHOUT, ALONE), embedded, strict=True))
        except UserError as error:
            stored = asked.gallery.without(asked.query_row, removed.classes, removed.fill.name)
            if stored is None:
                return After(error=str(error))
            vectors = {WITHOUT: compared.vectors.take(np.array([stored]))[0]}
        before, rankings = [result.row for result in first.results], {}
        for form, vector in vectors.items():
            whole = compared.similarities(vector)
            whole[asked.gallery.twins(asked.query_row)] = -1.0
            rows, near = best(whole, len(before), asked.left_out, asked.match)
            rankings[form] = ranking(asked, rows, near, measured(asked, whole, None, curves=False))
        stay = len({result.row for result in rankings[WITHOUT].results} & set(before))
        return After(rankings=rankings, stays=stay / len(before) if before else float("nan"))

    def _compared(
        self, arm: RunArm, asked: Asked, settings: SearchSettings, progress: Progress
    ) -> tuple[QueryComparison, int]:
        if asked.gallery.name == "probe" and asked.query_row is not None and not self._embeds(arm, asked):
            stored = stored_vectors(arm.folder, arm.arm, asked.gallery, settings.step)
            if stored is not None:
                vectors, at = stored
                return self.kept.comparison(vectors), at
            if settings.step is not None:
                raise UserError(f"Run {arm.folder.id} keeps no embeddings of these images at earlier steps.")
        encoder = self.kept.encoder(arm)
        return self.kept.compared(encoder, asked.gallery, progress), encoder.step

    def _embeds(self, arm: RunArm, asked: Asked) -> bool:
        """Return whether a changed query can be embedded: by weights that may be newer than the stored embeddings."""
        try:
            return asked.removed is not None and bool(self.kept.encoder(arm))
        except UserError:
            return False

    def _query_vector(self, arm: RunArm, asked: Asked, vectors: Vectors) -> np.ndarray:
        """Return the query's vector, float32 ``[D]``, unit."""
        if asked.query_row is not None:
            return vectors.take(np.array([asked.query_row]))[0]
        encoder = self.kept.encoder(arm)
        if asked.image is not None:
            pixels = decode_query(asked.image, channels=encoder.channels, side=encoder.side, pixels=encoder.pixel_range)
        else:
            images, _ = asked.collection.images(encoder.channels, encoder.side)
            pixels = images[asked.row : asked.row + 1]  # type: ignore[operator]
        embedded: np.ndarray = self.kept.embed(encoder, pixels)[0]
        return embedded


def _about(removed: RemovedObject) -> dict[str, Any]:
    return {"forms": removed.forms, "covered": float(removed.mask.mean()), "removed": removed.classes}


def _check_stored(asked: Asked, query: Query) -> None:
    """Raise UserError unless embeddings of earlier steps are stored for this query."""
    if asked.gallery.name != "probe" or asked.query_row is None:
        raise UserError(
            "Earlier steps are stored for the images on the maps alone. Choose the gallery probe and a row of it, or "
            "leave the step out."
        )
    if query.removal is not None:
        raise UserError("Earlier steps keep no weights to embed what is changed. Leave the step out.")
