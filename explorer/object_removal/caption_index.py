"""Sentences as each model reads them: encoded once in the background, kept in memory and on disk.

Readings that go on at the same time go piece by piece together, so that two models under comparison have read the same
sentences, and these are cut into tokens once for both.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, Full, Queue

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from explorer.object_removal.gallery import Galleries, Gallery
from explorer.object_removal.models import PIECE, Loaded, Models
from explorer.server.library import MEGABYTE
from trainers.data import cache
from trainers.errors import DataError, UserError

KEPT_BYTES = 512 * MEGABYTE
WAITING = 8
"""Sentences of so many pairs of a model and a set may wait to be read."""
AT_ONCE = 2
"""Readings that go on at the same moment."""
SMALL = 20_000_000
"""Weights up to which a model reads on one core."""
CLOSING = 10.0
"""Seconds that closing waits for a thread."""
_KIND = "captions"
_log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class Reading:
    """The sentences of one set through one model.

    Attributes:
        model, group: names.
        message, fraction: how far it is.
        gallery: the sentences; None until they are gathered.
        pieces: float32 ``[n, D]`` each, unit rows, in the order of the sentences; they grow while it goes on.
        cut: how many of the sentences read are longer than the model reads, and the longest one's tokens.
        error: why it ended without vectors.
        done: set at the end, good or bad.
    """

    model: str
    group: str
    message: str = "waiting for its turn"
    fraction: float = 0.0
    gallery: Gallery | None = None
    pieces: list[Tensor] = field(default_factory=list)
    cut: tuple[int, int] = (0, 0)
    error: UserError | None = None
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def read(self) -> int:
        """How many sentences are read."""
        return sum(len(piece) for piece in tuple(self.pieces))

    def first(self, count: int) -> Tensor:
        """The first ``count`` sentences, float32 ``[count, D]``; they must have been read."""
        pieces = tuple(self.pieces)
        return pieces[0][:count] if len(pieces) == 1 else torch.cat(pieces)[:count]

    @property
    def bytes(self) -> int:
        """Memory it takes."""
        return sum(piece.numel() * piece.element_size() for piece in tuple(self.pieces))


class Index:
    """Reads the sentences of sets through models, in threads of its own.

    Args:
        models, galleries: what reads, and what is read.
        limit: bytes of vectors kept in memory; those used longest ago make way.
    """

    def __init__(self, models: Models, galleries: Galleries, limit: int = KEPT_BYTES) -> None:
        self._models = models
        self._galleries = galleries
        self._limit = limit
        self._readings: OrderedDict[tuple[str, str, int], Reading] = OrderedDict()
        self._queue: Queue[Reading | None] = Queue(maxsize=WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, model: str, group: str) -> Reading:
        """The reading of a set, begun now if it was not.

        Raises:
            GoneError: no such model.
            DataError: too many wait already.
        """
        key = (model, group, self._models.version(model))
        with self._lock:
            found = self._readings.get(key)
            if found is not None and found.error is None:
                self._readings.move_to_end(key)
                return found
            made = Reading(model=model, group=group)
            try:
                self._queue.put_nowait(made)
            except Full:
                raise DataError(
                    f"Sentences of {WAITING} models and sets wait to be read already; try again in a minute."
                ) from None
            self._readings[key] = made
            self._readings.move_to_end(key)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="sentences", daemon=True)
                self._thread.start()
        return made

    def has(self, models: Iterable[str], group: str) -> bool:
        """Whether all of these models have read all sentences of a set."""
        keys = [(model, group, self._models.version(model)) for model in models]
        with self._lock:
            found = [self._readings.get(key) for key in keys]
        return all(one is not None and one.done.is_set() and one.error is None for one in found)

    def going(self) -> list[Reading]:
        """Readings that are not done."""
        with self._lock:
            return [reading for reading in self._readings.values() if not reading.done.is_set()]

    def forget(self, group: str) -> None:
        """Drop what belongs to a set that was closed."""
        with self._lock:
            for key in [key for key in self._readings if key[1] == group]:
                if self._readings[key].done.is_set():
                    del self._readings[key]

    @property
    def bytes(self) -> int:
        """Memory of all vectors kept."""
        with self._lock:
            return sum(reading.bytes for reading in self._readings.values())

    def close(self) -> None:
        """End the thread; what is being read is given up after the piece it is at."""
        self._closed = True
        with contextlib.suppress(Full):
            self._queue.put_nowait(None)
        if self._thread is not None:
            self._thread.join(CLOSING)  # a thread inside torch must not outlive the interpreter

    def _work(self) -> None:
        """One piece of every reading, then the next of every one; new ones join as they come."""
        active: list[tuple[Reading, Iterator[None]]] = []
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="sentences") as readers:
            while not self._closed:
                try:
                    while (new := self._queue.get(block=not active)) is not None:
                        active.append((new, self._steps(new)))
                except Empty:
                    goes_on = readers.map(lambda pair: self._step(*pair), active)
                    active = [pair for pair, more in zip(active, goes_on, strict=True) if more]
                    continue
                return

    def _step(self, reading: Reading, steps: Iterator[None]) -> bool:
        """A little more of a reading; whether it goes on."""
        try:
            next(steps)
            return True
        except StopIteration:
            pass
        except UserError as error:
            reading.error = error
        except Exception as error:
            _log.exception("reading the sentences of %s with %s failed", reading.group, reading.model)
            reading.error = DataError(f"The sentences could not be read ({type(error).__name__}: {error}).")
        reading.done.set()
        self._trim()
        return False

    def _steps(self, reading: Reading) -> Iterator[None]:
        reading.message = "gathering sentences"
        gallery = reading.gallery = self._galleries.get(reading.group)
        reading.message = "loading the model"
        loaded = self._models.get(reading.model)
        key, total = _key(loaded, gallery), len(gallery.texts)
        kept = _kept(key, total)
        if kept is not None:
            reading.pieces, reading.cut = [kept[0]], kept[1]
        while reading.read < total:
            _read_on(reading, loaded, gallery.texts[reading.read : reading.read + PIECE])
            gallery.mentioned.first(reading.read)  # along the way, so that no answer has to wait for it
            reading.fraction = reading.read / total
            reading.message = f"reading sentences: {reading.read:,} of {total:,}"
            yield
        gallery.mentioned.first(total)
        reading.pieces = [reading.first(total)]
        if kept is None:
            _keep(key, reading.pieces[0], reading.cut)
        reading.fraction, reading.message = 1.0, ""

    def _trim(self) -> None:
        """Drop what was used longest ago until the rest fits; readings with an error are asked anew anyway."""
        with self._lock:
            total = sum(reading.bytes for reading in self._readings.values())
            for key in list(self._readings)[:-1]:
                reading = self._readings[key]
                if reading.error is not None:
                    del self._readings[key]
                elif total > self._limit and reading.done.is_set():
                    total -= reading.bytes
                    del self._readings[key]


def _read_on(reading: Reading, loaded: Loaded, texts: Sequence[str]) -> None:
    """Add the next sentences to a reading."""
    lengths = loaded.lengths(texts)
    over, longest = reading.cut
    reading.cut = (over + sum(length > loaded.context for length in lengths), max(longest, *lengths))
    # a small model's products are so short that a second core waits more than it works; the other reading can use it
    with threadpool_limits(1, user_api="openmp") if loaded.weights < SMALL else contextlib.nullcontext():
        reading.pieces.append(loaded.texts(texts))


def _key(loaded: Loaded, gallery: Gallery) -> str:
    return cache.content_key((loaded.digest, gallery.digest))


def _kept(key: str, count: int) -> tuple[Tensor, tuple[int, int]] | None:
    """Vectors in the disk cache and what was cut; None if they are not there."""
    entry = cache.read(_KIND, key)
    if entry is None or len(entry.tensors["vectors"]) != count:
        return None
    return entry.tensors["vectors"].float(), (entry.about["over"], entry.about["longest"])


def _keep(key: str, vectors: Tensor, cut: tuple[int, int]) -> None:
    if bool(torch.isfinite(vectors).all()):
        cache.write(_KIND, key, {"vectors": vectors}, {"over": cut[0], "longest": cut[1]})
