"""The section "What did it look at?": measurements with objects removed, in the background, and their images."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from explorer.server.http import GoneError, still_kept
from explorer.server.image_files import encoded
from explorer.server.library import MEGABYTE, Library
from explorer.server.plain import finite
from explorer.server.tasks import Tasks
from explorer.server.visitors import NOBODY, Caller
from explorer.tabs.retrieve.bodies import MOST_QUERIES, Measure
from explorer.tabs.retrieve.searches import written
from trainers.data import SOURCES
from trainers.data.captioned.datasets import CAPTIONED
from trainers.data.lru_cache import Cache
from trainers.errors import DataError, ParameterError
from trainers.hierarchy import Hierarchy, common_ancestor, severity_words, shared_levels
from trainers.object_removal.fills import FILLS
from trainers.object_removal.reliance.measure import measure, read_queries
from trainers.object_removal.reliance.objects import ObjectImages
from trainers.object_removal.reliance.queries import Queries
from trainers.object_removal.reliance.results import BackgroundResult
from trainers.object_removal.reliance.settings import Settings
from trainers.parameters import entry
from trainers.progress import Progress, part_of
from trainers.retrieval.encoders import encoders_of_run

PUBLIC_QUERIES, PUBLIC_GALLERY = 200, 2000
"""Queries and images of a measurement on a public page."""
MOST_JOBS = 8
LISTED = 48
"""Queries of an arm in an answer, those that notice least first."""
DRAWN = ("drawn", "drawn_scenes")
"""Datasets that are offered by name: what is drawn here knows its objects exactly."""
_KEPT = 384 * MEGABYTE
_TILE = 128
Reply = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A measurement with the images behind it."""

    result: BackgroundResult
    objects: ObjectImages
    queries: Queries

    @property
    def size(self) -> int:
        """Bytes of its images."""
        return self.objects.images.numel() + sum(each.numel() for each in self.queries.forms.values())


class Backgrounds:
    """Measures runs one after the other, and keeps the last measurements.

    Args:
        each: measurements of one address or login that may wait or run; None: no limit.
        public: only datasets that are drawn here and a run's own, and bounded sizes.
    """

    def __init__(self, library: Library, *, each: int | None, public: bool) -> None:
        self._library = library
        self._public = public
        self.jobs = Tasks(noun="measurements", most=MOST_JOBS, each=each)
        self._kept: Cache[Measurement] = Cache(limit=_KEPT, cost=lambda measurement: measurement.size, least=1)

    def start(self) -> Reply:
        """Return what can be chosen."""
        titles = {descriptor.name: descriptor.title for descriptor in (*SOURCES.values(), *CAPTIONED.values())}
        return {
            "datasets": [{"name": name, "title": titles[name]} for name in DRAWN],
            "fills": [fill.json() | {"redraws": fill.redraw is not None} for fill in FILLS.values()],
            "queries": PUBLIC_QUERIES if self._public else MOST_QUERIES,
        }

    def measure(self, asked: Measure, caller: Caller = NOBODY) -> Reply:
        """Measure: ``{"answer": ...}`` if it is kept, or ``{"job": id}`` whose result the answer will be.

        Raises:
            UserError: there is no such run or fill, the dataset may not be read here, or too many wait.
        """
        run = self._library.get(asked.run)
        settings = self._settings(asked)
        stamp = repr((run.id, written(run), settings))
        key = hashlib.blake2b(stamp.encode(), digest_size=12).hexdigest()
        if key in self._kept:
            return {"answer": self._about(key)}

        def work(progress: Progress) -> Reply:
            encoders = encoders_of_run(run.folder)
            objects, queries = read_queries(encoders, settings, part_of(progress, 0.0, 0.5))
            result = measure(encoders, settings, part_of(progress, 0.5, 1.0), prepared=(objects, queries))
            if all(arm.error for arm in result.arms):
                raise DataError(str(result.arms[0].error))
            self._kept.get(key, lambda: Measurement(result=result, objects=objects, queries=queries))
            return self._about(key)

        return self.jobs.reply(work, caller)

    def query(self, key: str, number: int) -> Reply:
        """Return what every arm finds for each form of a query.

        Raises:
            GoneError: the measurement is no longer kept, or has no such query.
        """
        result = self._get(key).result
        if number >= len(result.indices):
            raise GoneError(f"The measurement has {len(result.indices):,} queries, numbered from 0; got {number}.")
        index = int(result.indices[number])
        answer = {
            "query": number,
            "place": index,
            "row": int(result.rows[index]),
            "id": result.ids[index] if result.ids else "",
            "classes": result.classes(index),
            "covered": float(result.covered[number]),
            "arms": [
                {
                    "title": arm.title,
                    "error": arm.error,
                    "forms": {
                        form: {"stays": float(scores.stays[number]), "similarity": float(scores.similarity[number])}
                        | {"results": _results(result, index, scores.nearest[number])}
                        for form, scores in arm.scores.items()
                    },
                }
                for arm in result.arms
            ],
        }
        plain: Reply = finite(answer)
        return plain

    def form(self, key: str, form: str, number: int) -> bytes:
        """Return a form of a query as a JPEG.

        Raises:
            GoneError: it is no longer kept, or there is none.
        """
        forms = self._get(key).queries.forms
        if form not in forms or number >= len(forms[form]):
            raise GoneError(f"There is no image {number} of the form {form[:40]!r}.")
        return encoded(forms[form][number].numpy())

    def image(self, key: str, index: int) -> bytes:
        """Return an image of the gallery of a measurement as a JPEG.

        Raises:
            GoneError: it is no longer kept, or there is none.
        """
        images = self._get(key).objects.images
        if index >= len(images):
            raise GoneError(f"The gallery has {len(images):,} images, numbered from 0; there is no {index}.")
        return encoded(images[index].numpy(), _TILE)

    def csv(self, key: str) -> bytes:
        """Return every number with its interval.

        Raises:
            GoneError: it is no longer kept.
        """
        return self._get(key).result.csv().encode()

    def _settings(self, asked: Measure) -> Settings:
        if asked.fill:
            entry(FILLS, asked.fill, "fill")
        settings = Settings(data=asked.data or None, fill=asked.fill or None, queries=asked.queries)
        if not self._public:
            return settings
        if asked.data and asked.data not in DRAWN:
            raise DataError("On a public page objects are removed from the run's own test set or from drawn images.")
        if asked.queries > PUBLIC_QUERIES:
            raise ParameterError(f"On this page there are {PUBLIC_QUERIES} queries at most; got {asked.queries}.")
        return replace(settings, gallery=PUBLIC_GALLERY)

    def _get(self, key: str) -> Measurement:
        return still_kept(self._kept, key, "This measurement is no longer kept here. Measure again.")

    def _about(self, key: str) -> Reply:
        measured = self._get(key)
        result = measured.result
        words = severity_words(Hierarchy(levels=result.levels, names=result.names))
        return {**finite(result.json(LISTED)), "key": key, "words": words, "pictured": list(measured.queries.forms)}


def _results(result: BackgroundResult, query: int, indices: np.ndarray) -> list[Reply]:
    shared = shared_levels(result.labels[indices], result.labels[query])
    hierarchy = Hierarchy(levels=result.levels, names=result.names)
    results = []
    for index, severity in zip(indices.tolist(), shared.tolist(), strict=True):
        ancestor = common_ancestor(result.labels[index], result.labels[query], hierarchy)
        about = None if ancestor is None else {"name": ancestor.name, "level_name": ancestor.level_name}
        results.append({"row": index, "severity": severity, "classes": result.classes(index), "ancestor": about})
    return results
