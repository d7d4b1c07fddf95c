"""The section "What did it look at?": measurements with objects removed, made beside the page."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from explorer.server.http import still_kept
from explorer.server.library import Library
from explorer.server.plain import finite
from explorer.server.tasks import Tasks
from explorer.server.visitors import NOBODY, Caller
from explorer.tabs.retrieve.bodies import MOST_QUERIES, Measure
from explorer.tabs.retrieve.searches import written
from trainers.data import SOURCES
from trainers.data.captioned.datasets import CAPTIONED
from trainers.data.lru_cache import Cache
from trainers.errors import DataError, ParameterError
from trainers.object_removal.fills import FILLS
from trainers.object_removal.reliance.measure import measure
from trainers.object_removal.reliance.results import BackgroundResult
from trainers.object_removal.reliance.settings import Settings
from trainers.parameters import entry
from trainers.progress import Progress
from trainers.retrieval.encoders import encoders_of_run

PUBLIC_QUERIES, PUBLIC_GALLERY = 200, 2000
"""Queries and images of a measurement on a public page."""
MOST_JOBS = 8
DRAWN = ("drawn", "drawn_scenes")
"""Datasets that are offered by name: what is drawn here knows its objects exactly."""
_KEPT = 16  # measurements
Reply = dict[str, Any]


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
        self._kept: Cache[BackgroundResult] = Cache(limit=_KEPT)

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
            result = measure(encoders_of_run(run.folder), settings, progress)
            if all(arm.error for arm in result.arms):
                raise DataError(str(result.arms[0].error))
            self._kept.get(key, lambda: result)
            return self._about(key)

        return self.jobs.reply(work, caller)

    def csv(self, key: str) -> bytes:
        """Return every number with its interval.

        Raises:
            GoneError: it is no longer kept.
        """
        return self._get(key).csv().encode()

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

    def _get(self, key: str) -> BackgroundResult:
        return still_kept(self._kept, key, "This measurement is no longer kept here. Measure again.")

    def _about(self, key: str) -> Reply:
        return {**finite(self._get(key).json()), "key": key}
