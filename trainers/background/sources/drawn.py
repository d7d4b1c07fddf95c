"""The drawn pots: their pixels are known exactly, and every image can be drawn again without its pot or elsewhere."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from trainers.background.objects import ELSEWHERE, EMPTY, ObjectImages, fingerprint
from trainers.background.sources.base import ObjectRequest, ObjectSource
from trainers.data import load_data, named
from trainers.data.labelled.datasets import drawn
from trainers.data.labelled.datasets.drawn import Reliefs, Shot
from trainers.data.synthetic.engine.rng import Rng
from trainers.data.synthetic.pottery.background import WALLS
from trainers.retrieval.query_image import with_channels


def _load(request: ObjectRequest) -> ObjectImages | None:
    if named(request.data.source) is not drawn.DESCRIPTOR:
        return None
    choice = dataclasses.replace(request.data, image_size=request.side)
    data = load_data(choice, request.progress)
    shots = drawn.test_shots(choice)[: request.limit]
    images = with_channels(data.test.images[: request.limit], request.channels)
    labels = data.test.labels[: request.limit].numpy()
    again = _Again(shots, request.side, choice.seed, request.channels)
    return ObjectImages(
        title=data.title,
        images=images,
        labels=labels,
        hierarchy=data.hierarchy,
        rows=np.arange(len(shots)),
        masks=again.masks,
        redrawn={EMPTY: again.empty, ELSEWHERE: again.elsewhere},
        own=request.own,
        key=fingerprint(images, labels, "drawn", choice.seed, choice.held_out),
    )


class _Again:
    """Draws images again.

    Args:
        shots: what each image shows.
    """

    def __init__(self, shots: tuple[Shot, ...], size: int, seed: int, channels: int) -> None:
        self._shots, self._size, self._seed, self._channels = shots, size, seed, channels

    def masks(self, places: np.ndarray) -> np.ndarray:
        reliefs: Reliefs = {}
        masks = [drawn.pot_mask(self._shots[at], self._size, self._seed, reliefs) for at in places.tolist()]
        return np.stack(masks) if masks else np.zeros((0, self._size, self._size), dtype=bool)

    def empty(self, places: np.ndarray) -> Tensor:
        return self._drawn(places, empty=True)

    def elsewhere(self, places: np.ndarray) -> Tensor:
        return self._drawn(places, empty=False)

    def _drawn(self, places: np.ndarray, *, empty: bool) -> Tensor:
        reliefs: Reliefs = {}
        images = np.empty((len(places), 3, self._size, self._size), dtype=np.uint8)
        for image, at in zip(images, places.tolist(), strict=True):
            shot = self._shots[at]
            room = None if empty else self._other_room(shot)
            image[...] = drawn.draw_shot(shot, self._size, self._seed, reliefs, room=room, empty=empty)
        return with_channels(torch.from_numpy(images), self._channels)

    def _other_room(self, shot: Shot) -> int:
        """A room whose wall is not the one that the image has."""
        step = 1 + Rng(self._seed, "elsewhere", shot.pot_id, shot.number).below(len(WALLS) - 1)
        return (drawn.background_of(shot, self._seed) + step) % len(WALLS)


DESCRIPTOR = ObjectSource(
    name="drawn",
    title="Drawn pots",
    sentence="Drawn again without the pot, and with the same pot in another room.",
    load=_load,
    order=0,
)
