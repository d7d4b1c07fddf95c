"""Searches a gallery for one query in several arms of several runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trainers.data import settings
from trainers.data.lru_cache import Cache
from trainers.data.query_image import decode_query
from trainers.errors import ParameterError, UserError
from trainers.hierarchy import class_path
from trainers.kinds import kind_of
from trainers.object_removal.reliance.forms import ALONE, WITHOUT
from trainers.parameters import Choice, entry
from trainers.progress import Progress, part_of, silent
from trainers.retrieval.asked import Asked, Removed, gallery_row, with_labels
from trainers.retrieval.built import Built, build
from trainers.retrieval.comparison import Comparison
from trainers.retrieval.encoders import check_arm, image_config, images_of, read_encoder
from trainers.retrieval.galleries import GALLERIES, Datasets, Gallery
from trainers.retrieval.indexes import INDEXES, Chosen, Size, choose
from trainers.retrieval.ranked import measured, nearest, ranking, reranked_order, whole_order
from trainers.retrieval.removed import Removals, seen
from trainers.retrieval.reranking import RERANKINGS
from trainers.retrieval.results import After, ArmResult, IndexUse, Query, Ranking, Retrieval, RunArm
from trainers.retrieval.stored import stored_vectors
from trainers.retrieval.vectors import Vectors, gallery_vectors
from trainers.runs import RunFolder
from trainers.runs.damage import reading
from trainers.training.image_encoder import ImageEncoder

MOST_RESULTS = 1000
RERANKED = 200
"""First results that are re-ranked, unless more are wanted."""
KEPT_VECTORS = 2**24
"""Most bytes of embeddings of galleries kept in memory for further searches, copies in float64 counted; small ones are
read again in milliseconds."""
_COMPARED = 8  # of so many arms searched last they are kept however large they are; large ones are mapped from disk
KEPT_INDEXES = 2**29
"""Most bytes of indexes kept in memory; the last one is kept however large it is."""
_AUTO = Choice(name="auto")  # an index chosen by size
_ENCODERS = 8  # kept in memory
_GALLERIES = 4


@dataclass(frozen=True, kw_only=True)
class _Wish:
    """The settings of a search."""

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
        if self.index.name != _AUTO.name:
            entry(INDEXES, self.index.name, "index").checked(self.index.parameters)
        if self.rerank is not None:
            entry(RERANKINGS, self.rerank.name, "re-ranking").checked(self.rerank.parameters)


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
        memory: bytes that an index may take; None: those for decoded images, see :mod:`trainers.data.settings`.
    """

    def __init__(self, memory: int | None = None) -> None:
        self._memory = settings.memory_bytes() if memory is None else memory
        self._datasets = Datasets()
        self._galleries: Cache[Gallery] = Cache(limit=_GALLERIES)
        self._encoders: Cache[ImageEncoder] = Cache(limit=_ENCODERS)
        self._comparisons: Cache[Comparison] = Cache(
            limit=min(self._memory, KEPT_VECTORS), cost=lambda comparison: comparison.bytes, least=_COMPARED
        )
        self._encoding = threading.Lock()
        self._removals = Removals()
        self._built: Cache[Built] = Cache(
            limit=min(self._memory, KEPT_INDEXES), cost=lambda built: built.bytes, least=1
        )

    def gallery(self, home: RunFolder, choice: Choice, progress: Progress = silent) -> Gallery:
        """Return a gallery: of the run ``home``, or another dataset.

        Raises:
            UserError: there is no such gallery, it cannot be read, or may not be opened here.
        """
        descriptor = entry(GALLERIES, choice.name, "gallery")
        parameters = descriptor.checked(choice.parameters)
        home.check()
        key = (home.path, choice.name, repr(parameters), home.probe() is not None)
        return self._galleries.get(key, lambda: descriptor.open(home, parameters, self._datasets, progress))

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
        wish = _Wish(k=k, index=index or _AUTO, rerank=rerank, step=step, scores=scores, curves=curves)
        wish.check()
        if not arms:
            raise ParameterError("A query needs a run; got none.")
        asked = self._ask(home, arms, query, gallery, part_of(progress, 0.0, 0.2))
        if step is not None and (asked.gallery.name != "probe" or asked.query_row is None):
            raise UserError(
                "Earlier steps are stored for the images on the maps alone. Choose the gallery probe and a row of it, "
                "or leave the step out."
            )
        if query.removal is not None:
            if step is not None:
                raise UserError("Earlier steps keep no weights to embed what is changed. Leave the step out.")
            asked = replace(asked, removed=self._removals.of(query.removal, asked))
        answers = []
        for number, arm in enumerate(arms):
            share = part_of(progress, 0.2 + 0.8 * number / len(arms), 0.2 + 0.8 * (number + 1) / len(arms))
            answers.append(self._answer(arm, asked, wish, share))
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

    def _ask(
        self, home: RunFolder | None, arms: Sequence[RunArm], query: Query, choice: Choice, progress: Progress
    ) -> Asked:
        gallery, home = self._first_gallery([home] if home else [arm.folder for arm in arms], choice, progress)
        if (query.row is None) == (query.image is None):
            raise ParameterError("A query is either a row or an image; got " + ("both." if query.image else "neither."))
        if query.row is None:
            decode_query(query.image or b"", channels=3, side=8)  # what is no image is refused before anything is read
            note = "The classes of the query are not known, so there are no severities and no scores."
            return Asked(
                gallery=gallery, query_row=None, collection=gallery, row=None, image=query.image, notes=(note,)
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
        return with_labels(asked)

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

    def _answer(self, arm: RunArm, asked: Asked, wish: _Wish, progress: Progress) -> ArmResult:
        title, folder = "", arm.folder
        try:
            folder.check()
            config = image_config(folder)
            check_arm(config, folder.id, arm.arm)
            title = kind_of(config).arms(config)[arm.arm].title
            return self._results(arm, title, asked, wish, progress)
        except UserError as error:
            return ArmResult(run=folder.id, arm=arm.arm, title=title, error=str(error))

    def _results(self, arm: RunArm, title: str, asked: Asked, wish: _Wish, progress: Progress) -> ArmResult:
        clock = _Clock()
        with clock.over("vectors"):
            compared, step = self._compared(arm, asked, wish, part_of(progress, 0.0, 0.8))
        vectors = compared.vectors
        with clock.over("encode"):
            query = self._query_vector(arm, asked, vectors)
        size = Size(count=len(vectors), dim=vectors.dim, memory=self._memory)
        chosen = choose(INDEXES, size, wish.index.name)
        with clock.over("index"):
            built = self._index(vectors, chosen, wish.index, part_of(progress, 0.8, 1.0))
        with clock.over("search"):
            whole = compared.similarities(query) if chosen.descriptor.exact or wish.scores else None
            depth = max(wish.k, RERANKED) if wish.rerank is not None else wish.k
            if chosen.descriptor.exact and whole is not None:
                rows, near = nearest(whole, depth, asked.query_row)
            else:
                rows, near = built.nearest(vectors, query, depth, asked.query_row)
        scored = whole if wish.scores else None
        with clock.over("score"):
            numbers = measured(asked, scored, None, curves=wish.curves)
            first = ranking(asked, rows[: wish.k], near[: wish.k], numbers)
        reranked = None
        if wish.rerank is not None:
            with clock.over("rerank"):
                order = reranked_order(wish.rerank, query, vectors.take(rows), near)
                ranked = None if scored is None else whole_order(scored, rows[order], asked.query_row)
                kept = order[: wish.k]
                numbers = measured(asked, scored, ranked, curves=wish.curves)
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

    def _after(self, arm: RunArm, asked: Asked, removed: Removed, compared: Comparison, first: Ranking) -> After:
        try:
            encoder = self._encoder(arm)
            with self._encoding:
                vectors = dict(zip((WITHOUT, ALONE), encoder.embed(seen(removed, asked, encoder)).numpy(), strict=True))
        except UserError as error:
            stored = asked.gallery.without(asked.query_row, removed.classes, removed.fill.name)
            if stored is None:
                return After(error=str(error))
            vectors = {WITHOUT: compared.vectors.take(np.array([stored]))[0]}
        before, rankings = [result.row for result in first.results], {}
        for form, vector in vectors.items():
            whole = compared.similarities(vector)
            whole[asked.gallery.twins(asked.query_row)] = -1.0
            rows, near = nearest(whole, len(before), asked.query_row)
            rankings[form] = ranking(asked, rows, near, measured(asked, whole, None, curves=False))
        stay = len({result.row for result in rankings[WITHOUT].results} & set(before))
        return After(rankings=rankings, stays=stay / len(before) if before else float("nan"))

    def _compared(self, arm: RunArm, asked: Asked, wish: _Wish, progress: Progress) -> tuple[Comparison, int]:
        if asked.gallery.name == "probe" and asked.query_row is not None and not self._embeds(arm, asked):
            stored = stored_vectors(arm.folder, arm.arm, asked.gallery, wish.step)
            if stored is not None:
                vectors, at = stored
                return self._comparisons.get(vectors.key, lambda: Comparison(vectors)), at
            if wish.step is not None:
                raise UserError(f"Run {arm.folder.id} keeps no embeddings of these images at earlier steps.")
        encoder = self._encoder(arm)
        key = (encoder.digest, asked.gallery.origin, asked.gallery.choice, asked.gallery.rows.tobytes())
        made = self._comparisons.get(key, lambda: Comparison(gallery_vectors(encoder, asked.gallery, progress)))
        return made, encoder.step

    def _embeds(self, arm: RunArm, asked: Asked) -> bool:
        """Return whether a changed query can be embedded: by weights that may be newer than the stored embeddings."""
        try:
            return asked.removed is not None and bool(self._encoder(arm))
        except UserError:
            return False

    def _encoder(self, arm: RunArm) -> ImageEncoder:
        """Return the arm's encoder, read again when its checkpoint is written again."""
        with reading(arm.folder.id, passed=UserError):
            path = arm.folder.path / "ckpt" / "last.safetensors"
            written = path.stat().st_mtime_ns if path.is_file() else 0

        def read() -> ImageEncoder:
            return read_encoder(arm.folder, arm.arm, lambda: _own_shape(arm.folder, self._datasets))

        return self._encoders.get((arm.folder.path, arm.arm, written), read)

    def _query_vector(self, arm: RunArm, asked: Asked, vectors: Vectors) -> np.ndarray:
        """Return the query's vector, float32 ``[D]``, unit."""
        if asked.query_row is not None:
            return vectors.take(np.array([asked.query_row]))[0]
        encoder = self._encoder(arm)
        if asked.image is not None:
            pixels = decode_query(asked.image, channels=encoder.channels, side=encoder.side)
        else:
            images, _ = asked.collection.images(encoder.channels, encoder.side)
            pixels = images[asked.row : asked.row + 1]  # type: ignore[operator]
        with self._encoding:  # torch gives all its threads to one query at a time
            embedded: np.ndarray = encoder.embed(pixels)[0].numpy()
        return embedded

    def _index(self, vectors: Vectors, chosen: Chosen, choice: Choice, progress: Progress) -> Built:
        parameters = chosen.descriptor.checked(choice.parameters if choice.name != _AUTO.name else {})
        if chosen.descriptor.open is None:  # nothing is built: to keep it would be to keep the vectors twice
            return build(chosen.descriptor, vectors, parameters, progress)
        key = (vectors.key, chosen.descriptor.name, repr(parameters))
        return self._built.get(key, lambda: build(chosen.descriptor, vectors, parameters, progress))


def _about(removed: Removed) -> dict[str, Any]:
    return {"forms": removed.forms, "covered": float(removed.mask.mean()), "removed": removed.classes}


def _own_shape(folder: RunFolder, datasets: Datasets) -> tuple[int, int]:
    """Return the channels and side of the images that a run is trained on."""
    _, channels, side, _ = datasets.load(images_of(folder)).train.images.shape
    return channels, side
