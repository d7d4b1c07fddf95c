"""What each model answers before and after: the nearest sentences, which of them are wrong, which are new."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from explorer.object_removal.caption_index import Index, Reading
from explorer.object_removal.datasets import DRAWN
from explorer.object_removal.fields import Fields
from explorer.object_removal.first import FILL, K
from explorer.object_removal.gallery import Gallery
from explorer.object_removal.images import Photo, Photos
from explorer.object_removal.models import STRANGER, UNTRAINED, Known, Loaded, Models
from explorer.object_removal.parts import parts, verdict
from explorer.object_removal.recorded import Recorded
from explorer.object_removal.removal import Filled, Fills, Wanted, about, read_objects, read_wanted
from trainers.metrics.counterfactual import counterfactual
from trainers.object_removal.overlap import Judgement

MOST_K = 50
MOST_MODELS = 2
PATIENCE = 20
"""Seconds that a question waits for its sentences unless it says how many; after that it says how far they are."""
HURRY = 0.5
"""After so many seconds it is answered from what is read, if that is at least ENOUGH sentences."""
ENOUGH = 512


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question: ``group`` names the set whose sentences answer."""

    photo: Photo
    wanted: Wanted
    fill: str
    models: tuple[str, ...]
    k: int
    group: str


class Answers:
    """Answers questions; everything that a reply needs is in the question."""

    def __init__(self, photos: Photos, fills: Fills, models: Models, index: Index, recorded: Recorded) -> None:
        self._photos = photos
        self._fills = fills
        self._models = models
        self._index = index
        self._recorded = recorded

    def read(self, fields: Fields) -> Question:
        """A question from the values of a request.

        Raises:
            UserError: something is wrong with it, in a sentence.
        """
        photo = self._photos.get(fields.text("photo"))
        if fields.has("objects") and photo.upload is not None:
            photo = read_objects(fields, photo)
        return Question(
            photo=photo,
            wanted=read_wanted(fields.inner("remove")),
            fill=fields.text("fill", FILL),
            models=tuple(dict.fromkeys(fields.texts("models", MOST_MODELS))),
            k=fields.whole("k", K, 1, 10**9),
            group=photo.group.name if photo.group is not None else fields.text("set", DRAWN),
        )

    def answer(self, question: Question, patience: float = PATIENCE, hurry: float | None = None) -> dict[str, Any]:
        """The reply, as plain values.

        Args:
            patience: seconds to wait for the sentences to be read.
            hurry: seconds after which enough of them will do; None: the page's own.

        Raises:
            UserError: it cannot be done, in a sentence.
        """
        found = self._known(question)
        if found is not None:
            return found
        readings = [self._index.ask(name, question.group) for name in question.models]
        filled = self._fills.take_out(question.photo, question.wanted, question.fill)
        read = _enough(readings, patience, HURRY if hurry is None else hurry)
        models, notes, words = [], [], {}
        for name, reading in zip(question.models, readings, strict=True):
            known = self._models.known(name)
            if reading.gallery is None or not read:
                models.append(_waiting(known, reading))
                continue
            gallery = _read_with(reading.gallery.first(read), filled.judgement, question.wanted)
            notes, words = _notes(gallery, question.k), _words(gallery, filled.judgement)
            models.append(self._one(known, reading, gallery, question, filled))
        return _reply(question, filled, {"notes": notes, "words": words, "models": models}, recorded=False)

    def _known(self, question: Question) -> dict[str, Any] | None:
        """The reply to the page's first question, as long as the sentences are not read; None to any other."""
        if not self._recorded.is_about(question) or self._index.has(question.models, question.group):
            return None
        filled = self._fills.take_out(question.photo, question.wanted, question.fill)
        told = self._recorded.told(filled)
        return None if told is None else _reply(question, filled, told, recorded=True)

    def _one(
        self, known: Known, reading: Reading, gallery: Gallery, question: Question, filled: Filled
    ) -> dict[str, Any]:
        loaded, total = self._models.get(known.name), len(gallery.texts)
        queries = loaded.photos([filled.original, filled.pixels])
        k = min(question.k, MOST_K, len(gallery.texts))
        before, after = ranked(gallery, reading.first(total), queries, filled.judgement, k)
        original, removed = [one["row"] for one in before], [one["row"] for one in after]
        ranks = {row: rank for rank, row in enumerate(original)}
        for rank, one in enumerate(after):
            one["move"] = ranks[one["row"]] - rank if one["row"] in ranks else "new"
        partial = _partial(reading, total)
        notes = model_notes(known, loaded, reading, question.photo)
        if partial is not None:
            notes.append(f"It {partial['message']}.")
        return {
            "name": known.name,
            "title": known.title,
            "notes": notes,
            "original": [_shown(one) for one in before],
            "removed": [_shown(one) for one in after],
            "entered": [rank for rank, row in enumerate(removed) if row not in original],
            "left": [rank for rank, row in enumerate(original) if row not in removed],
            "partial": partial,
        }


def _reply(question: Question, filled: Filled, told: dict[str, Any], *, recorded: bool) -> dict[str, Any]:
    """What was done to the photo and what is ``told`` about it."""
    reply = about(filled)
    notes = [*reply["notes"], *told["notes"]]
    return {"photo": question.photo.ref, "set": question.group, **reply, **told, "notes": notes, "recorded": recorded}


def _enough(readings: Sequence[Reading], patience: float, hurry: float) -> int:
    """Wait until the sentences are read, or enough of them; returns how many every model has read, 0 if too few.

    Raises:
        UserError: a reading ended with this error.
    """
    start = time.monotonic()
    while True:
        finished = all(reading.done.is_set() for reading in readings)
        for reading in readings:
            if reading.error is not None:
                raise reading.error
        read, waited = min(reading.read for reading in readings), time.monotonic() - start
        if finished or waited > patience or (waited > min(hurry, patience) and read >= ENOUGH):
            return read if finished or read >= ENOUGH else 0
        next(reading for reading in readings if not reading.done.is_set()).done.wait(0.05)


def _partial(reading: Reading, read: int) -> dict[str, Any] | None:
    """How far the sentences are read, where the lists come from a part of them."""
    total = 0 if reading.gallery is None else len(reading.gallery.texts)
    if read >= total:
        return None
    message = f"answers from the first {read:,} of {total:,} sentences; the rest is being read"
    return {"read": read, "total": total, "message": message, "fraction": round(read / total, 3)}


def ranked(
    gallery: Gallery, vectors: torch.Tensor, queries: torch.Tensor, judgement: Judgement, k: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The ``k`` best sentences of the original and of the photo without the object, as ODmAP ranks and judges them.

    Args:
        gallery: G sentences; must name every class of the judgement.
        vectors: float32 ``[G, D]``.
        queries: float32 ``[2, D]``, original and painted.
    """
    kept, gone = judgement.kept, judgement.removed
    columns = {name: column for column, name in enumerate(gallery.matcher.classes)}
    present = torch.zeros(2, len(columns), dtype=torch.bool)
    removed = torch.zeros_like(present)
    present[0, [columns[name] for name in (*kept, *gone)]] = True
    present[1, [columns[name] for name in kept]] = True
    removed[1, [columns[name] for name in gone]] = True
    found = counterfactual(queries, vectors, torch.from_numpy(gallery.mentions), present, removed, ks=(k,))
    both = []
    for row, (there, away) in enumerate((((*kept, *gone), ()), (kept, gone))):
        similarity = (vectors[found.top[row]] @ queries[row]).tolist()
        both.append(
            [
                {
                    "row": int(place),
                    "text": gallery.texts[place],
                    "similarity": round(float(near), 4),
                    "verdict": verdict(int(code), original=row == 0),
                    "move": None,
                    "parts": [part.json() for part in parts(gallery.texts[place], gallery.matcher, there, away)],
                }
                for place, near, code in zip(found.top[row], similarity, found.verdicts[row], strict=True)
            ]
        )
    return both[0], both[1]


def model_notes(known: Known, loaded: Loaded, reading: Reading, photo: Photo) -> list[str]:
    """What a reader of this model's answers should know."""
    notes = []
    if not known.trained:
        notes.append(UNTRAINED)
    if not known.photos and photo.source != "drawn":
        notes.append(STRANGER)
    over, longest = reading.cut
    if over:
        what = "1 sentence is" if over == 1 else f"{over:,} sentences are"
        notes.append(
            f"{what} longer than the {loaded.context} tokens that this model reads (the longest has {longest}); only "
            "their beginning counts."
        )
    return notes


def _read_with(gallery: Gallery, judgement: Judgement, wanted: Wanted) -> Gallery:
    """The gallery with every class of the photo looked for."""
    for name in (*judgement.kept, *judgement.removed):
        gallery = gallery.naming(name, wanted.words if name == wanted.name else ())
    return gallery


def _notes(gallery: Gallery, k: int) -> list[str]:
    notes = list(gallery.notes)
    if k > min(MOST_K, len(gallery.texts)):
        most = min(MOST_K, len(gallery.texts))
        notes.append(f"{k:,} sentences were asked for; {most} are shown, the most there are.")
    return notes


def _words(gallery: Gallery, judgement: Judgement) -> dict[str, list[str]]:
    table = gallery.matcher.words
    return {name: [name, *table[name]] for name in (*judgement.removed, *judgement.kept)}


def _waiting(known: Known, reading: Reading) -> dict[str, Any]:
    """The place of a model that is still reading the sentences."""
    said = f"{known.title} is not ready ({reading.message}). Ask again in a moment."
    waiting = {"message": reading.message, "fraction": round(reading.fraction, 3)}
    empty: Sequence[Any] = []
    return {
        "name": known.name,
        "title": known.title,
        "notes": [said],
        "original": empty,
        "removed": empty,
        "entered": empty,
        "left": empty,
        "waiting": waiting,
    }


def _shown(one: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name != "row"}
