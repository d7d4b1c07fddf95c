"""The drawn pots: their pixels are known exactly, and every image can be drawn again without its pot or elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from trainers.config import DataChoice, SceneChoice
from trainers.data import load_data, named
from trainers.data.labelled.datasets import drawn
from trainers.data.labelled.datasets.drawn import Reliefs, Shot
from trainers.data.query_image import with_channels
from trainers.data.synthetic.engine.rng import Rng
from trainers.data.synthetic.pottery.background import WALLS
from trainers.object_removal.reliance.objects import ELSEWHERE, EMPTY, RELIT, ObjectImages, TiedClasses, fingerprint
from trainers.object_removal.reliance.sources.base import ObjectRequest, ObjectSource

_EACH = 10
"""Most new images of a class that was trained on."""


def _load(request: ObjectRequest) -> ObjectImages | None:
    if isinstance(request.data, SceneChoice) or named(request.data.source) is not drawn.DESCRIPTOR:
        return None
    choice = dataclasses.replace(request.data, image_size=request.side)
    data = load_data(choice, request.progress)
    shots = drawn.test_shots(choice)[: request.limit]
    images = with_channels(data.test.images[: request.limit], request.channels)
    labels = data.test.labels[: request.limit].numpy()
    again = _Again(shots, request, choice.seed)
    return ObjectImages(
        title=data.title,
        images=images,
        labels=labels,
        hierarchy=data.hierarchy,
        rows=np.arange(len(shots)),
        masks=again.masks,
        redrawn={EMPTY: again.empty, ELSEWHERE: again.elsewhere, RELIT: again.relit},
        tied=_tied(choice, request) if request.trained else None,
        test_set=request.test_set,
        key=fingerprint(images, labels, "drawn", drawn.drawing_code(), choice.seed, choice.held_out),
    )


def _tied(choice: DataChoice, request: ObjectRequest) -> TiedClasses | None:
    """Draw new images of the pots that were trained on; None: two of each are more than may be searched."""
    pots = len(drawn.new_shots(choice, 1))
    each = min(_EACH, request.limit // pots, choice.max_images // pots)
    if each < 2:
        return None
    shots = drawn.new_shots(choice, each)
    again = _Again(shots, request, choice.seed)
    homes = drawn.home_rooms(1 + max(shot.pot_id for shot in shots), choice.seed)
    images = again.drawn(np.arange(len(shots)))
    labels = np.array([(shot.pot_id, shot.pot.shape, shot.pot.shelf) for shot in shots])

    def home(indices: np.ndarray) -> Tensor:
        return again.drawn(indices, room=lambda shot: homes[shot.pot_id])

    def away(indices: np.ndarray) -> Tensor:
        return again.drawn(indices, room=lambda shot: _another(homes[shot.pot_id], "away", shot, choice.seed))

    key = fingerprint(images, labels, "tied", drawn.drawing_code(), choice.seed, choice.held_out)
    return TiedClasses(images=images, labels=labels, home=home, away=away, key=key)


class _Again:
    """Draws images again.

    Args:
        shots: what each image shows.
        request: says how an encoder takes them.
    """

    def __init__(self, shots: Sequence[Shot], request: ObjectRequest, seed: int) -> None:
        self._shots, self._size, self._seed, self._channels = shots, request.side, seed, request.channels

    def masks(self, indices: np.ndarray) -> np.ndarray:
        reliefs: Reliefs = {}
        masks = [drawn.pot_mask(self._shots[at], self._size, self._seed, reliefs) for at in indices.tolist()]
        return np.stack(masks) if masks else np.zeros((0, self._size, self._size), dtype=bool)

    def empty(self, indices: np.ndarray) -> Tensor:
        return self.drawn(indices, empty=True)

    def relit(self, indices: np.ndarray) -> Tensor:
        return self.drawn(indices, relit=True)

    def elsewhere(self, indices: np.ndarray) -> Tensor:
        """Draw the images in a room whose wall is not the one that the image has."""

        def room(shot: Shot) -> int:
            return _another(drawn.background_of(shot, self._seed), "elsewhere", shot, self._seed)

        return self.drawn(indices, room=room)

    def drawn(
        self,
        indices: np.ndarray,
        *,
        room: Callable[[Shot], int] | None = None,
        relit: bool = False,
        empty: bool = False,
    ) -> Tensor:
        reliefs: Reliefs = {}
        images = np.empty((len(indices), 3, self._size, self._size), dtype=np.uint8)
        for image, at in zip(images, indices.tolist(), strict=True):
            shot = self._shots[at]
            there = None if room is None else room(shot)
            image[...] = drawn.draw_shot(shot, self._size, self._seed, reliefs, room=there, relit=relit, empty=empty)
        return with_channels(torch.from_numpy(images), self._channels)


def _another(room: int, purpose: str, shot: Shot, seed: int) -> int:
    """Choose a room with another wall than ``room`` has."""
    return (room + 1 + Rng(seed, purpose, shot.pot_id, shot.number).below(len(WALLS) - 1)) % len(WALLS)


DESCRIPTOR = ObjectSource(
    name="drawn",
    title="Drawn pots",
    sentence="Drawn again without the pot, with the same pot in another room, and in other light.",
    load=_load,
    order=0,
)
