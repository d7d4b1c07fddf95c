"""The questions of one score: photos with an object painted over, the photos as they were, and their sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.object_removal.datasets import PhotoSet
from explorer.object_removal.gallery import Gallery
from explorer.object_removal.models import Known
from explorer.object_removal.parts import parts, verdict
from explorer.object_removal.removal import RERENDER, redrawn
from trainers.data.captioned.scenes import Scene
from trainers.errors import DataError
from trainers.image_text.encoding import squash
from trainers.metrics.counterfactual import Counterfactual
from trainers.metrics.image_text import numbered
from trainers.object_removal.fills import FILLS
from trainers.object_removal.image import LONGEST, read_picture
from trainers.object_removal.pairs import Removal, Tally, class_tables, removals

KS = (1, 5, 10)
FAILING = 48
RECALL_PHOTOS = 1000
"""Photos that recall is measured over."""
COLUMNS = (
    *("model", "photo", "image_id", "removed", "kept", "verdict_at_1", "sentence_at_1"),
    *(f"{name}_at_{k}" for name in ("ODmAP", "hallucination", "present") for k in KS),
)
Tell = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be scored.

    Attributes:
        group: name of the set.
        models: names.
        fill: what is painted, or ``rerender``.
        queries: at most so many removals.
        every: each allowed class of a photo in turn instead of one.
        seed: of the choice of photos and classes.
    """

    group: str
    models: tuple[str, ...]
    fill: str
    queries: int
    every: bool
    seed: int


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Q removals of photos ``refs``, N whole photos with M sentences of their own, G sentences that may answer.

    Attributes:
        done: the Q removals, without pixels.
        queries: side to uint8 ``[Q, 3, S, S]``, one entry per size that the models take.
        photos: side to uint8 ``[N, 3, S, S]``, those of the removals first.
        origin: int64 ``[Q]``, the whole photo of each removal.
        present, removed: bool ``[Q, C]``.
        own: the M sentences; owner: int64 ``[M]``, their photos; said: int64 ``[M]``, equal for equal ones.
        tally: what was left out, and why.
    """

    done: tuple[Removal, ...]
    refs: tuple[str, ...]
    gallery: Gallery
    queries: Mapping[int, Tensor]
    photos: Mapping[int, Tensor]
    origin: Tensor
    present: Tensor
    removed: Tensor
    own: tuple[str, ...]
    owner: Tensor
    said: Tensor
    tally: Tally

    def notes(self, order: Order) -> list[str]:
        """What a reader of the numbers should know."""
        photos = len(next(iter(self.photos.values())))
        notes = [f"Recall is measured over {photos:,} photos with {len(self.own):,} sentences."]
        if len(self.done) < order.queries:
            notes.append(f"{order.queries:,} queries were asked for; the set gives {len(self.done):,}.")
        return notes

    def failing(self, found: Counterfactual) -> list[dict[str, Any]]:
        """The first queries whose nearest sentence names what is gone."""
        wrong = [row for row in range(len(self.done)) if found.verdicts[row, 0] < 2][:FAILING]
        return [self._answer(row, found) for row in wrong]

    def rows(self, known: Known, found: Counterfactual) -> list[list[Any]]:
        """One line per query for the table to take home, as :data:`COLUMNS` says."""
        lines = []
        for row, removal in enumerate(self.done):
            judgement, text = removal.judgement, self.gallery.texts[found.top[row, 0]]
            about = [known.name, self.refs[row], removal.scene.image_id, "; ".join(judgement.removed)]
            about += ["; ".join(judgement.kept), verdict(int(found.verdicts[row, 0])), text]
            lines.append([*about, *(_cell(found.values.get(name), row) for name in COLUMNS[len(about) :])])
        return lines

    def _answer(self, row: int, found: Counterfactual) -> dict[str, Any]:
        judgement, text = self.done[row].judgement, self.gallery.texts[found.top[row, 0]]
        named = parts(text, self.gallery.matcher, judgement.kept, judgement.removed)
        return {
            "photo": self.refs[row],
            "removed": list(judgement.removed),
            "text": text,
            "verdict": verdict(int(found.verdicts[row, 0])),
            "parts": [part.json() for part in named],
        }


def make_sheet(order: Order, group: PhotoSet, gallery: Gallery, sides: Sequence[int], tell: Tell) -> Sheet:
    """Remove objects from photos of the shown split, in an order of their own for each seed.

    Args:
        sides: sizes of photos that the models take.
        tell: told the progress, 0 to 1; may raise to give up.

    Raises:
        DataError: nothing may be removed.
    """
    places = [int(place) for place in np.random.default_rng(order.seed).permutation(len(group.scenes))]
    scenes = [group.scenes[place] for place in places]
    place_of = {id(scene): place for place, scene in zip(places, scenes, strict=True)}
    tally, done = Tally(), []
    queries: dict[int, list[Tensor]] = {side: [] for side in sides}
    for found in _asked(scenes, order, tally):
        tell(f"painting over objects: {len(done):,} of {order.queries:,}", 0.6 * len(done) / order.queries)
        for side, images in queries.items():
            images.append(squash(found.pixels, side))
        done.append(found.without_pixels())
        if len(done) >= order.queries:
            break
    if not done:
        raise DataError(
            f"Nothing may be removed from {tally.photos} photos of {group.data.title}: {tally.one_class} have fewer "
            f"than two classes, {tally.no_allowed_class} no class that the overlap rules allow."
        )
    whole, photos = _whole(done, scenes, sides, tell)
    number = {id(scene): place for place, scene in enumerate(whole)}
    own = [(text, place) for place, scene in enumerate(whole) for text in scene.captions]
    present, removed = class_tables([found.judgement for found in done], gallery.matcher.classes)
    return Sheet(
        done=tuple(done),
        refs=tuple(f"{group.name}.{place_of[id(found.scene)]}" for found in done),
        gallery=gallery,
        queries={side: torch.stack(images) for side, images in queries.items()},
        photos=photos,
        origin=torch.tensor([number[id(found.scene)] for found in done], dtype=torch.int64),
        present=torch.from_numpy(present),
        removed=torch.from_numpy(removed),
        own=tuple(text for text, _ in own),
        owner=torch.tensor([place for _, place in own], dtype=torch.int64),
        said=numbered([text for text, _ in own]),
        tally=tally,
    )


def _asked(scenes: Sequence[Scene], order: Order, tally: Tally) -> Iterator[Removal]:
    """The removals of an order, painted as a single question paints them."""
    again = order.fill == RERENDER
    fill = FILLS["zero" if again else order.fill]  # black costs nothing; it is replaced at once
    for found in removals(scenes, fill, every=order.every, seed=order.seed, longest=LONGEST, tally=tally):
        side = found.scene.width
        yield replace(found, pixels=redrawn(found.scene, found.judgement.removed, side)) if again else found


def _whole(
    done: Sequence[Removal], scenes: Sequence[Scene], sides: Sequence[int], tell: Tell
) -> tuple[list[Scene], dict[int, Tensor]]:
    """The photos as they are: those of the removals, then others with sentences for recall."""
    wanted = {id(found.scene): found.scene for found in done}
    first = len(wanted)
    for scene in scenes:
        if scene.captions:
            wanted.setdefault(id(scene), scene)
    kept: list[Scene] = []
    photos: dict[int, list[Tensor]] = {side: [] for side in sides}
    most = max(first, RECALL_PHOTOS)
    for scene in wanted.values():
        if len(kept) >= most:
            break
        tell(f"reading photos: {len(kept):,}", 0.6 + 0.4 * len(kept) / min(most, len(wanted)))
        try:
            pixels = read_picture(scene.load() or b"").pixels
        except DataError:
            continue  # it cannot be one of the removals: those were read before
        kept.append(scene)
        for side, images in photos.items():
            images.append(squash(pixels, side))
    return kept, {side: torch.stack(images) for side, images in photos.items()}


def _cell(values: np.ndarray | None, row: int) -> float | str:
    if values is None or math.isnan(values[row]):
        return ""
    return round(float(values[row]), 6)
