"""Captions as each model encodes them: once, in the background, kept in memory and on disk.

Captions of several models are encoded batch by batch in turns, so that two models under comparison have encoded the
same captions, and these are tokenised once for both.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from explorer.server.jobs import Job, Jobs
from explorer.server.library import MEGABYTE
from explorer.tabs.object_removal.datasets import Datasets
from explorer.tabs.object_removal.models import PIECE, Loaded, Models
from trainers.data import cache
from trainers.image_text.base import Download
from trainers.object_removal.captions import language_note
from trainers.object_removal.gallery import CaptionGallery
from trainers.object_removal.vocabulary import load_words

KEPT_BYTES = 512 * MEGABYTE
MOST = 9
"""Pairs of a model and a dataset whose captions may be encoded or wait for it."""
THREADS = 2
SMALL = 20_000_000
"""Weights up to which a model encodes on one core."""
HURRY = 0.5
"""After so many seconds a query is answered from the captions encoded so far, if these are at least ENOUGH."""
ENOUGH = 512
_KIND = "captions"


@dataclass(kw_only=True, eq=False)
class CaptionEncoding(Job):
    """The captions of one dataset encoded by one model.

    Attributes:
        model, dataset: names.
        own: the captions are a visitor's own; the dataset is the one that they stand in for.
        gallery: the captions; None until they are gathered.
        pieces: float32 ``[n, D]`` each, unit rows, in the order of the captions; they grow while it runs.
        cut: how many of the captions encoded are longer than the model reads, and the longest one's tokens.
    """

    model: str
    dataset: str
    own: bool = False
    gallery: CaptionGallery | None = None
    pieces: list[Tensor] = field(default_factory=list)
    cut: tuple[int, int] = (0, 0)

    @property
    def count(self) -> int:
        """How many captions are encoded."""
        return sum(len(piece) for piece in tuple(self.pieces))

    def first(self, count: int) -> Tensor:
        """Return the first ``count`` captions, float32 ``[count, D]``; they must have been encoded."""
        pieces = tuple(self.pieces)
        return pieces[0][:count] if len(pieces) == 1 else torch.cat(pieces)[:count]

    @property
    def bytes(self) -> int:
        """Memory it takes."""
        return sum(piece.nbytes for piece in tuple(self.pieces))


class CaptionIndex:
    """Encodes the captions of datasets in the background.

    Args:
        models, datasets: what encodes, and what is encoded.
        limit: bytes of vectors kept in memory; those used longest ago are dropped first.
    """

    def __init__(self, models: Models, datasets: Datasets, limit: int = KEPT_BYTES) -> None:
        self._models = models
        self._datasets = datasets
        self._limit = limit
        self._known: OrderedDict[tuple[str, str, int], CaptionEncoding] = OrderedDict()
        self._lock = threading.Lock()
        self._jobs: Jobs[CaptionEncoding] = Jobs(
            self._encode, noun="captions to encode", most=MOST, together=None, threads=THREADS, kept=0
        )

    def ask(self, model: str, dataset: str, own: Sequence[str] = ()) -> CaptionEncoding:
        """Return the encoding of a dataset's captions, or of a visitor's own, begun now if it was not.

        Raises:
            GoneError: no such model.
            DataError: too many wait already.
        """
        gallery = own_gallery(own) if own else None
        key = self._key(model, gallery.digest if gallery else dataset)
        with self._lock:
            encoding = self._known.get(key)
            if encoding is None or encoding.error is not None:
                job = CaptionEncoding(model=model, dataset=dataset, own=bool(own), gallery=gallery)
                encoding = self._known[key] = self._jobs.add(job)
            self._known.move_to_end(key)
        return encoding

    def enough(
        self, models: Sequence[str], dataset: str, patience: float, hurry: float, own: Sequence[str] = ()
    ) -> tuple[list[CaptionEncoding], int]:
        """Wait for the encoded captions of several models; return them and how many every one has, 0 if too few.

        Args:
            patience: seconds to wait for all captions.
            hurry: seconds after which :data:`ENOUGH` will do.
            own: captions in place of the dataset's.

        Raises:
            UserError: no such model, too many wait, or one of them failed with this error.
        """
        encodings = [self.ask(name, dataset, own) for name in models]
        start = time.monotonic()
        while True:
            finished = all(encoding.done.is_set() for encoding in encodings)
            for encoding in encodings:
                if encoding.error is not None:
                    raise encoding.error
            count, waited = min(encoding.count for encoding in encodings), time.monotonic() - start
            if finished or waited > patience or (waited > min(hurry, patience) and count >= ENOUGH):
                return encodings, count if finished or count >= ENOUGH else 0
            next(encoding for encoding in encodings if not encoding.done.is_set()).done.wait(0.05)

    def has(self, models: Iterable[str], dataset: str) -> bool:
        """Return whether all of these models have encoded all captions of a dataset."""
        keys = [self._key(model, dataset) for model in models]
        with self._lock:
            encodings = [self._known.get(key) for key in keys]
        return all(encoding is not None and encoding.phase == "done" for encoding in encodings)

    def going(self) -> list[CaptionEncoding]:
        """Return the encodings that wait or run."""
        return self._jobs.going()

    def forget(self, dataset: str) -> None:
        """Drop what belongs to a dataset that was closed."""
        with self._lock:
            for key in [key for key, encoding in self._known.items() if key[1] == dataset and encoding.done.is_set()]:
                del self._known[key]

    def close(self) -> None:
        """Stop after the batch that is being encoded."""
        self._jobs.close()

    def _key(self, model: str, dataset: str) -> tuple[str, str, int]:
        return model, dataset, self._models.version(model)

    def _encode(self, job: CaptionEncoding) -> Iterator[None]:
        """Encode the captions, one batch per step."""
        job.message = "gathering captions"
        gallery = job.gallery = job.gallery or self._datasets.get(job.dataset).gallery
        with _loading(job, self._models.known(job.model).fetched):
            loaded = self._models.get(job.model)
        key, total = _key(loaded, gallery), len(gallery.texts)
        kept = _kept(key, total)
        if kept is not None:
            job.pieces, job.cut = [kept[0]], kept[1]
        while job.count < total:
            _encode_more(job, loaded, gallery.texts[job.count : job.count + PIECE])
            gallery.mentioned.first(job.count)  # along the way, so that no answer has to wait for it
            job.tell(f"encoding captions: {job.count:,} of {total:,}", job.count / total)
            yield
        gallery.mentioned.first(total)
        job.pieces = [job.first(total)]
        if kept is None and not job.own:
            _keep(key, job.pieces[0], job.cut)
        self._trim(job)

    def _trim(self, spare: CaptionEncoding) -> None:
        """Drop what was used longest ago until the rest fits; ``spare`` stays."""
        with self._lock:
            total = sum(encoding.bytes for encoding in self._known.values())
            for key, encoding in list(self._known.items()):
                if encoding.error is not None:
                    del self._known[key]
                elif total > self._limit and encoding.done.is_set() and encoding is not spare:
                    total -= encoding.bytes
                    del self._known[key]


@contextlib.contextmanager
def _loading(job: CaptionEncoding, fetched: Download | None) -> Iterator[None]:
    """Say that the model is loaded, and how much has come of what is fetched for it."""
    job.message, over = "loading the model", threading.Event()

    def told() -> None:
        while fetched is not None and not over.wait(0.5):
            come = fetched.come()
            job.message = f"fetching {fetched.repository}: {come:,.0f} of {fetched.megabytes} MB"
            job.fraction = min(1.0, come / fetched.megabytes)

    thread = threading.Thread(target=told, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def own_gallery(texts: Sequence[str]) -> CaptionGallery:
    """Make a gallery of a visitor's own captions; equal ones are one."""
    texts, words = tuple(dict.fromkeys(texts)), load_words()
    said = language_note(texts, words)
    return CaptionGallery.of(texts, words, [] if said is None else [said])


def _encode_more(job: CaptionEncoding, loaded: Loaded, texts: Sequence[str]) -> None:
    """Add the next captions."""
    with loaded.use() as model:
        lengths = model.lengths(texts)
    over, longest = job.cut
    job.cut = (over + sum(length > loaded.context for length in lengths), max(longest, *lengths))
    # a small model's products are so short that a second core waits more than it works; the other job can use it
    with threadpool_limits(1, user_api="openmp") if loaded.weights < SMALL else contextlib.nullcontext():
        job.pieces.append(loaded.texts(texts))


def _key(loaded: Loaded, gallery: CaptionGallery) -> str:
    return cache.content_key((loaded.digest, gallery.digest))


def _kept(key: str, count: int) -> tuple[Tensor, tuple[int, int]] | None:
    """Read vectors from the disk cache and what was cut; None if they are not there."""
    entry = cache.read(_KIND, key)
    if entry is None or len(entry.tensors["vectors"]) != count:
        return None
    return entry.tensors["vectors"].float(), (entry.about["over"], entry.about["longest"])


def _keep(key: str, vectors: Tensor, cut: tuple[int, int]) -> None:
    if bool(torch.isfinite(vectors).all()):
        cache.write(_KIND, key, {"vectors": vectors}, {"over": cut[0], "longest": cut[1]})
