"""The way of one object removal from request to answer: image, removal, captions encoded so far, retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from explorer.tabs.object_removal import bodies
from explorer.tabs.object_removal.caption_index import HURRY, CaptionEncoding, CaptionIndex
from explorer.tabs.object_removal.images import InputImage, InputImages
from explorer.tabs.object_removal.models import UNTRAINED, Known, Models
from explorer.tabs.object_removal.recorded import Recorded
from explorer.tabs.object_removal.removal import FilledImage, FilledImages
from explorer.tabs.object_removal.seen import Seen
from trainers.image_text.encoding import squash
from trainers.object_removal.gallery import CaptionGallery
from trainers.object_removal.ranked_captions import compared

MOST_K = 50


class Answers:
    """Answers queries; everything that a reply needs is in the query."""

    def __init__(
        self, images: InputImages, fills: FilledImages, models: Models, index: CaptionIndex, recorded: Recorded
    ) -> None:
        self._images = images
        self._fills = fills
        self._models = models
        self._index = index
        self._recorded = recorded
        self._seen = Seen()

    def answer(self, query: bodies.Query, wait: float | None = None) -> dict[str, Any]:
        """Answer a query with plain values.

        Args:
            query: what the page asks.
            wait: seconds to wait until all captions are encoded; None: as the query says, and less if enough are.

        Raises:
            UserError: it cannot be done; the message says why.
        """
        image = self._images.asked(query.image, query.objects or ())
        filled = self._fills.remove(image, query.remove, query.fill)
        dataset = image.dataset.name if image.dataset is not None else query.dataset
        models = tuple(dict.fromkeys(query.models))
        own = query.captions or ()
        known = bool(own) or self._index.has(models, dataset)
        ranked = None if known else self._recorded.answer(dataset, filled, models, query.k)
        recorded = ranked is not None
        if ranked is None:
            patience, hurry = (query.patience, HURRY) if wait is None else (wait, wait)
            enough = self._index.enough(models, dataset, patience, hurry, own)
            ranked = self._ranked(query.k, image, filled, *enough)
        reply = filled.json()
        about = {
            "image": image.ref,
            "dataset": dataset,
            "recorded": recorded,
            "seen": self._classes(image, filled, models),
        }
        return {"pool": None, **reply, **ranked, **about, "notes": [*reply["notes"], *ranked["notes"]]}

    def _classes(self, image: InputImage, filled: FilledImage, models: Sequence[str]) -> dict[str, Any] | None:
        """Return what the shipped classifier sees in a photograph; it knows no drawings.

        It comes ``first`` unless a model is asked that knows photographs.
        """
        seen = None if image.source == "drawn" else self._seen.classes(image.ref, filled)
        first = not any(self._models.known(name).natural_images for name in models)
        return None if seen is None else {**seen, "first": first}

    def _ranked(
        self, k: int, image: InputImage, filled: FilledImage, encodings: Sequence[CaptionEncoding], count: int
    ) -> dict[str, Any]:
        """Return what the models retrieve, from the first ``count`` captions."""
        models, notes, words, pool = [], [], {}, None
        for encoding in encodings:
            known = self._models.known(encoding.model)
            if encoding.gallery is None or not count:
                models.append(_waiting(known, encoding))
                continue
            gallery = _naming(encoding.gallery.first(count), filled)
            notes, words, pool = _notes(gallery, k), _words(gallery, filled), _pool(gallery, filled, encoding.own)
            models.append(self._of_model(known, encoding, gallery, k, image, filled))
        return {"notes": notes, "words": words, "models": models, "pool": pool}

    def _of_model(
        self,
        known: Known,
        encoding: CaptionEncoding,
        gallery: CaptionGallery,
        k: int,
        image: InputImage,
        filled: FilledImage,
    ) -> dict[str, Any]:
        loaded, total = self._models.get(known.name), len(gallery.texts)
        pair = [squash(pixels, loaded.side) for pixels in (filled.original, filled.pixels)]
        k = min(k, MOST_K, total)
        partial = _partial(encoding, total)
        notes = [] if known.trained else [UNTRAINED]
        notes += [*known.notes(image.source == "drawn"), *_cut(encoding, loaded.context)]
        if partial is not None:
            notes.append(f"It {partial['message']}.")
        queries, annotated = loaded.images(torch.stack(pair)), image.dataset is not None
        lists = compared(gallery, encoding.first(total), queries, filled.judgement, k, annotated=annotated)
        return {"name": known.name, "title": known.title, "notes": notes, **lists, "partial": partial}


def _partial(encoding: CaptionEncoding, count: int) -> dict[str, Any] | None:
    """Return the progress, where the lists come from a part of the captions."""
    total = 0 if encoding.gallery is None else len(encoding.gallery.texts)
    if count >= total:
        return None
    message = f"answers from the first {count:,} of {total:,} captions; the others are being encoded"
    return {"encoded": count, "total": total, "message": message, "fraction": round(count / total, 3)}


def _cut(encoding: CaptionEncoding, context: int) -> list[str]:
    over, longest = encoding.cut
    if not over:
        return []
    what = "1 caption is" if over == 1 else f"{over:,} captions are"
    return [
        f"{what} longer than the {context} tokens that this model reads (the longest has {longest}); only their "
        "beginning counts."
    ]


def _naming(gallery: CaptionGallery, filled: FilledImage) -> CaptionGallery:
    """Match the gallery with every class of the image."""
    for name in (*filled.judgement.kept, *filled.judgement.removed):
        gallery = gallery.naming(name, filled.target.words if name == filled.target.name else ())
    return gallery


def _notes(gallery: CaptionGallery, k: int) -> list[str]:
    most = min(MOST_K, len(gallery.texts))
    asked = [f"{k:,} captions were asked for; {most} are shown, the most there are."] if k > most else []
    return [*gallery.notes, *asked]


def _pool(gallery: CaptionGallery, filled: FilledImage, own: bool) -> dict[str, Any]:
    """Return what a verdict needs: how many captions there are, and how many of them name what is gone."""
    columns = [gallery.matcher.classes.index(name) for name in filled.judgement.removed]
    naming = int(gallery.mentions[:, columns].any(axis=1).sum())
    return {"captions": len(gallery.texts), "naming": naming, "own": own}


def _words(gallery: CaptionGallery, filled: FilledImage) -> dict[str, list[str]]:
    table = gallery.matcher.words
    return {name: [name, *table[name]] for name in (*filled.judgement.removed, *filled.judgement.kept)}


def _waiting(known: Known, encoding: CaptionEncoding) -> dict[str, Any]:
    """Return what stands for a model whose captions are being encoded."""
    said = f"{known.title} is not ready ({encoding.message}). Ask again in a moment."
    waiting = {"message": encoding.message, "fraction": round(encoding.fraction, 3)}
    lists: dict[str, Any] = {name: [] for name in ("original", "removed", "entered", "left")}
    return {"name": known.name, "title": known.title, "notes": [said], **lists, "waiting": waiting}
