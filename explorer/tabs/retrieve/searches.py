"""Searches in the arms of several runs: at once where everything is there, else in the background."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from explorer.server.http import still_kept
from explorer.server.image_files import data_url
from explorer.server.library import Library
from explorer.server.run import Run
from explorer.server.tasks import Tasks
from explorer.server.visitors import NOBODY, Caller
from explorer.tabs.retrieve import heat
from explorer.tabs.retrieve.bodies import GalleryBody, Known, Look, Open, QueryBody, Search
from explorer.tabs.retrieve.galleries import STORED, Galleries
from explorer.tabs.retrieve.uploads import Uploads
from trainers.data.lru_cache import Cache
from trainers.errors import ParameterError, RunError, UserError
from trainers.hierarchy import severity_words
from trainers.metrics import describe
from trainers.object_removal.fills import FILLS
from trainers.object_removal.reliance.queries import TITLES
from trainers.parameters import Choice, entry
from trainers.progress import Progress, silent
from trainers.retrieval.encoders import images_of, searched_config
from trainers.retrieval.galleries.base import origin
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.looked_at import look
from trainers.retrieval.reranking import RERANKINGS
from trainers.retrieval.results import ArmResult, Query, Removal, Retrieval, RunArm
from trainers.retrieval.retriever import SCORES, Retriever

PUBLIC_K = 30
MOST_JOBS = 12
"""Searches and openings of all visitors that may wait or run."""
CURVES = {
    "AP": {
        "name": "plain",
        "title": "Precision against recall",
        "note": "Of the results so far, the share of the query's own finest class. The area is AP.",
    },
    "HAP": {
        "name": "hierarchical",
        "title": "Hierarchical precision against recall",
        "note": "A result counts for as much of the label tree as it shares with the query. The area is H-AP; long "
        "lists are drawn as means over fortieths of recall.",
    },
}
"""The curves of a query, by the metric that their area is."""
_ANSWERS = 64
_READY = 512
_RERANKING = "re-ranking"
"""It is compiled at its first use."""
Reply = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """A search, checked.

    Attributes:
        arms: those of runs that can be read; lost: the answers of the others.
        order: ids of the runs as they were asked for.
        needs: what has to be made for each arm before it answers at once.
    """

    asked: Search
    home: Run
    gallery: Choice
    query: Query
    arms: tuple[RunArm, ...]
    lost: tuple[ArmResult, ...]
    order: tuple[str, ...]
    needs: tuple[tuple[object, ...], ...]


class Searches:
    """Answers searches.

    Args:
        each: searches of one address or login that may wait or run; None: no limit.
        public: fewer results may be asked for.
    """

    def __init__(
        self,
        library: Library,
        retriever: Retriever,
        galleries: Galleries,
        uploads: Uploads,
        *,
        each: int | None,
        public: bool,
    ) -> None:
        self._library = library
        self._retriever = retriever
        self._galleries = galleries
        self._uploads = uploads
        self._public = public
        self.jobs = Tasks(noun="searches", most=MOST_JOBS, each=each)
        self._ready: Cache[bool] = Cache(limit=_READY)
        self._answers: Cache[Retrieval] = Cache(limit=_ANSWERS)

    def open(self, asked: Open, caller: Caller = NOBODY) -> Reply:
        """Read a gallery: ``{"answer": ...}``, or ``{"job": id}`` if it takes longer.

        Raises:
            UserError: there is no such run or gallery, it may not be opened here, or too many wait.
        """
        run, choice = asked.run, self._allowed(asked.gallery)
        self._library.get(run)

        def work(progress: Progress) -> Reply:
            return self._galleries.about(self._galleries.open(run, choice, progress))

        return self._reply(work, caller, at_once=self._galleries.is_open(run, choice))

    def objects(self, asked: Known, caller: Caller = NOBODY) -> Reply:
        """List the classes that can be removed from an image by name; replies as :meth:`open`.

        Raises:
            UserError: there is no such run, the gallery may not be opened here, or too many wait.
        """
        choice = self._allowed(asked.gallery)
        self._library.get(asked.run)

        def work(_progress: Progress) -> Reply:
            return self._galleries.objects(asked.run, choice, asked.row)

        return self._reply(work, caller, at_once=False)

    def search(self, asked: Search, caller: Caller = NOBODY) -> Reply:
        """Search: ``{"answer": ...}`` as :meth:`answer` gives it, or ``{"job": id}`` whose result it is.

        Raises:
            UserError: something about it is wrong, or too many wait.
        """
        plan = self._plan(asked)
        at_once = all(need in self._ready for need in plan.needs)
        return self._reply(lambda progress: self._answered(plan, progress), caller, at_once=at_once)

    def look(self, asked: Look, caller: Caller = NOBODY) -> Reply:
        """Cover a query patch by patch in every loss of some runs; replies as :meth:`open`.

        Raises:
            UserError: something about it is wrong, or too many wait.
        """
        gallery, query = self._allowed(asked.gallery), self._query(asked.query, asked.gallery)
        runs = [self._library.get(name) for name in dict.fromkeys(asked.runs)]
        arms = [RunArm(folder=run.folder, arm=arm) for run in runs for arm in range(searched_config(run.folder).arms)]

        def work(progress: Progress) -> Reply:
            home = runs[0].folder
            maps = look(
                self._retriever,
                arms,
                query,
                gallery,
                result=asked.result,
                grid=asked.grid,
                home=home,
                progress=progress,
            )
            answer = maps.as_json()
            return answer | {"arms": heat.shown(maps.image.numpy(), answer["arms"])}

        return self.jobs.reply(work, caller)

    def answer(self, name: str) -> Retrieval:
        """Return what was found, by the ``table`` of the answer.

        Raises:
            GoneError: it is no longer kept.
        """
        return still_kept(self._answers, name, "These results are no longer kept here. Search again.")

    def _reply(self, work: Callable[[Progress], Reply], caller: Caller, *, at_once: bool) -> Reply:
        return {"answer": work(silent)} if at_once else self.jobs.reply(work, caller)

    def _allowed(self, gallery: GalleryBody) -> Choice:
        return self._galleries.allowed(gallery.choice())

    def _plan(self, asked: Search) -> _Plan:
        if self._public and asked.k > PUBLIC_K:
            raise ParameterError(f"On this page a search has {PUBLIC_K} results at most; got {asked.k}.")
        if asked.index != "auto":
            entry(INDEXES, asked.index, "index")
        if asked.rerank:
            entry(RERANKINGS, asked.rerank, "re-ranking")
        order = tuple(dict.fromkeys(asked.runs))
        home, gallery = self._library.get(order[0]), self._allowed(asked.gallery)
        arms: list[RunArm] = []
        lost: list[ArmResult] = []
        needs: list[tuple[object, ...]] = []
        for name in order:
            try:
                run = self._library.get(name)
                of_run = [RunArm(folder=run.folder, arm=arm) for arm in range(searched_config(run.folder).arms)]
            except UserError as error:
                lost.append(ArmResult(run=name, arm=0, error=str(error)))
                continue
            arms += of_run
            if not self._stored(asked, gallery, home, run):
                made = (gallery.name, repr(gallery.parameters), home.id if gallery.name != "dataset" else "")
                needs += [(name, arm.arm, written(run), *made, asked.index) for arm in of_run]
            elif asked.query.remove is not None:
                needs += [(name, arm.arm, written(run), "embeds") for arm in of_run]
        if asked.rerank:
            needs.append((_RERANKING, asked.rerank))
        return _Plan(
            asked=asked,
            home=home,
            gallery=gallery,
            query=self._query(asked.query, asked.gallery),
            arms=tuple(arms),
            lost=tuple(lost),
            order=order,
            needs=tuple(needs),
        )

    def _query(self, query: QueryBody, gallery: GalleryBody) -> Query:
        if query.upload and query.row is not None:
            raise ParameterError("A query is a row of a gallery, or an image of your own; got both.")
        removal = None
        if query.remove is not None:
            entry(FILLS, query.fill, "fill")
            removal = Removal(target=query.remove.target(), fill=query.fill)
        if query.upload:
            return Query(image=self._uploads.get(query.upload).data, removal=removal)
        if query.row is None:
            raise ParameterError("A query is a row of a gallery, or an image of your own; got neither.")
        collection = None if query.gallery is None else self._allowed(query.gallery)
        same = query.gallery == gallery
        return Query(row=query.row, collection=None if same else collection, removal=removal)

    def _stored(self, asked: Search, gallery: Choice, home: Run, run: Run) -> bool:
        """Return whether a run keeps the embeddings that are searched: of the query and of the images on the maps."""
        first, other = home.probe, run.probe
        if gallery.name != STORED or asked.query.upload or first is None or other is None:
            return False
        if asked.query.gallery is not None and asked.query.gallery != asked.gallery:
            return False
        if origin(images_of(home.folder), first.part) != origin(images_of(run.folder), other.part):
            return False
        return np.array_equal(first.rows, other.rows) and bool(steps_of(run))

    def _answered(self, plan: _Plan, progress: Progress) -> Reply:
        asked, begin = plan.asked, time.perf_counter()
        if not plan.arms:
            raise RunError(plan.lost[0].error or "No run can be searched.")
        progress("searching", 0.0)
        retrieval = self._retriever.retrieve(
            plan.arms,
            plan.query,
            plan.gallery,
            k=asked.k,
            index=Choice(name=asked.index),
            rerank=Choice(name=asked.rerank) if asked.rerank else None,
            step=asked.step,
            curves=True,
            home=plan.home.folder,
            progress=progress,
        )
        there = {(arm.run, arm.arm) for arm in retrieval.arms if arm.error is None} | {(_RERANKING, asked.rerank)}
        for need in plan.needs:
            if need[:2] in there:
                self._ready.get(need, lambda: True)
        number = {name: index for index, name in enumerate(plan.order)}
        arms = sorted((*retrieval.arms, *plan.lost), key=lambda arm: (number[arm.run], arm.arm))
        retrieval = replace(retrieval, arms=tuple(arms))
        collection = plan.gallery if plan.query.collection is None else plan.query.collection
        levels = self._galleries.open(plan.home.id, collection).hierarchy
        name = secrets.token_hex(12)
        self._answers.get(name, lambda: retrieval)
        return {
            **retrieval.as_json(),
            "forms": [
                {"name": form, "title": TITLES[form], "image": data_url(pixels.numpy())}
                for form, pixels in retrieval.forms.items()
            ],
            "levels": list(levels.levels),
            "words": severity_words(levels),
            "scores": [{"key": key, "title": describe(key).title} for key in SCORES],
            "curves": [{**curve, "score": key} for key, curve in CURVES.items()],
            "seconds": round(time.perf_counter() - begin, 4),
            "table": name,
        }


def steps_of(run: Run) -> list[int]:
    """Return the steps at which the embeddings of the probe are kept."""
    return [step for k, step, _ in run.folder.snapshots() if run.folder.embeddings_path(k).is_file()]


def written(run: Run) -> int:
    """Return when the newest checkpoint was written, ns; 0: there is none."""
    path = run.folder.path / "ckpt" / "last.safetensors"
    return path.stat().st_mtime_ns if path.is_file() else 0
