"""The sets of photos that are open: the drawn scenes always, and the last few that somebody opened."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from explorer.server.http import GoneError
from trainers.data.base import Progress, silent
from trainers.data.captioned.loader import load_captioned, named
from trainers.data.captioned.scenes import Scene, SceneSet
from trainers.data.sources import resolve
from trainers.errors import DataError
from trainers.object_removal.captions import language_note
from trainers.object_removal.matching import Matcher, matcher_of
from trainers.object_removal.vocabulary import load_words

DRAWN = "drawn_scenes"
KEPT = 3
"""Sets of visitors that stay open; the one used longest ago makes way."""
MOST_PHOTOS = 5000
PUBLIC_PHOTOS = 1000
"""Photos of each split that are read, on one's own machine and on a public page."""
WAITING = "waiting until another set is read"
_TURN = 0.2  # seconds between two looks at whether whoever waits has left
_ODD = re.compile(r"[^A-Za-z0-9]+")
Load = Callable[..., SceneSet]


@dataclass(frozen=True, kw_only=True)
class PhotoSet:
    """An open set.

    Attributes:
        name: short and safe in an address; tells nothing about where the set lies.
        source, captions_from, limit: what it was opened with.
        data: what was read.
        notes: plain sentences for whoever opens it.
    """

    name: str
    source: str
    captions_from: str | None
    limit: int | None
    data: SceneSet
    notes: tuple[str, ...]

    @property
    def drawn(self) -> bool:
        """Whether the program drew the photos itself."""
        return named(self.source) is not None

    @cached_property
    def split(self) -> str:
        """The split whose photos are shown and scored: the test split if there is one."""
        return self.data.test_split

    @cached_property
    def scenes(self) -> Sequence[Scene]:
        """Its photos."""
        return self.data.splits.get(self.split, ())

    @cached_property
    def matcher(self) -> Matcher:
        """Says which classes its sentences name: by their annotation, or by the word table with the set's classes."""
        return matcher_of(self.data, load_words())

    def about(self) -> dict[str, Any]:
        """What the page is told."""
        licence = self.data.licence
        told = f" Licence: {licence}." if licence and licence != "unknown" else ""
        return {
            "name": self.name,
            "title": self.data.title,
            "note": f"{len(self.scenes):,} photos of the {self.split} split.{told}",
            "photos": len(self.scenes),
            "classes": list(self.data.classes),
            "notes": list(self.notes),
        }


class Sets:
    """Opens sets and keeps the last few.

    Args:
        public: fewer photos are read of each.
        load: reads a set; :func:`trainers.data.captioned.loader.load_captioned` in life.
        dropped: told the name of a set that was closed.
    """

    def __init__(
        self, *, public: bool = False, load: Load = load_captioned, dropped: Callable[[str], None] | None = None
    ) -> None:
        self._public = public
        self._load = load
        self._dropped = dropped
        self._open: OrderedDict[str, PhotoSet] = OrderedDict()
        self._drawn: PhotoSet | None = None
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        self._drawing = threading.Lock()  # its own: a set that takes minutes to open must not keep the drawn one away

    def get(self, name: str) -> PhotoSet:
        """An open set.

        Raises:
            GoneError: it is not open, or no longer.
            DataError: the drawn scenes cannot be had.
        """
        if name == DRAWN:
            return self.drawn()
        with self._lock:
            found = self._open.get(name)
            if found is not None:
                self._open.move_to_end(name)
                return found
        raise GoneError(f"The set {name[:80]!r} is not open, or no longer: open it again.")

    def listed(self) -> list[PhotoSet]:
        """The drawn scenes, then the others, used last first."""
        with self._lock:
            others = list(self._open.values())[::-1]
        return [self.drawn(), *others]

    def drawn(self) -> PhotoSet:
        """The drawn scenes, made when first asked for."""
        with self._drawing:
            if self._drawn is None:
                data = self._load(DRAWN)
                self._drawn = PhotoSet(
                    name=DRAWN, source=DRAWN, captions_from=None, limit=None, data=data, notes=data.notes
                )
            return self._drawn

    def open(
        self,
        source: str,
        captions_from: str | None = None,
        limit: int | None = None,
        progress: Progress = silent,
    ) -> PhotoSet:
        """Open a set of the Hub or of a folder; slow. The same one twice is read once.

        Args:
            progress: told what is being read; may raise to give it up.

        Raises:
            DataError: with the reason and what to do.
        """
        if source.strip() == DRAWN:
            return self.drawn()
        self._check(source)
        if captions_from:
            self._check(captions_from)
        most = PUBLIC_PHOTOS if self._public else MOST_PHOTOS
        limit = min(limit or most, most)
        name = _name(source, captions_from, limit)
        with self._turn(progress):
            with self._lock:
                known = self._open.get(name)
            if known is not None:
                return known
            progress("opening the set", 0.0)
            data = self._load(source, captions_from=captions_from, limit=limit, progress=progress)
            progress("looking at the sentences", 1.0)
            made = _made(name, source, captions_from, limit, data)
        self._keep(made)
        return made

    @contextmanager
    def _turn(self, progress: Progress) -> Iterator[None]:
        """One at a time: reading takes memory, and two visitors often want the same. ``progress`` may end the wait."""
        while not self._reading.acquire(timeout=_TURN):
            progress(WAITING, 0.0)
        try:
            yield
        finally:
            self._reading.release()

    def _check(self, source: str) -> None:
        if named(source) is None:
            resolve(source)  # refuses what may not be opened here

    def _keep(self, made: PhotoSet) -> None:
        gone = []
        with self._lock:
            self._open[made.name] = made
            self._open.move_to_end(made.name)
            while len(self._open) > KEPT:
                gone.append(self._open.popitem(last=False)[0])
        for name in gone:
            if self._dropped is not None:
                self._dropped(name)


def _made(name: str, source: str, captions_from: str | None, limit: int, data: SceneSet) -> PhotoSet:
    notes = list(data.notes)
    photos = [len(scenes) for scenes in data.splits.values()]
    if not any(photos):
        raise DataError("This set has no photos that can be shown. Give another one.")
    if max(photos) >= limit:
        notes.append(f"At most {limit:,} photos of each split are read here.")
    made = PhotoSet(name=name, source=source, captions_from=captions_from, limit=limit, data=data, notes=tuple(notes))
    said = language_note([caption for scene in made.scenes[:1000] for caption in scene.captions][:1000], made.matcher)
    if said is None:
        return made
    return PhotoSet(name=name, source=source, captions_from=captions_from, limit=limit, data=data, notes=(*notes, said))


def _name(source: str, captions_from: str | None, limit: int) -> str:
    """The last part of the source and a digest of all of it: no path of this machine is told to visitors."""
    last = source.strip().rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
    plain = _ODD.sub("-", last).strip("-")[:40] or "set"
    mark = hashlib.sha256(f"{source.strip()}\n{captions_from}\n{limit}".encode()).hexdigest()[:10]
    return f"{plain}-{mark}"
