"""What is shown before a visitor chooses: the first image, what is removed from it, which models are asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from explorer.tabs.object_removal.datasets import OpenDataset
from explorer.tabs.object_removal.images import InputImages, judged
from trainers.errors import UserError
from trainers.object_removal.captions import classes_of

OPENING, TAKEN = "test-000091", "car"
"""The drawn scene to open with, and what is removed: a car under a traffic light, where the two shipped models differ
(a test asks them)."""
CHOSEN = ("tiny_clip", "tiny_clip_mended")
_LOOKED_AT = 48
_NOTICEABLE = 0.015  # share of the image


def instructive(dataset: OpenDataset, images: InputImages) -> tuple[str, str | None]:
    """Choose an image, by its reference, and the class to remove: :data:`OPENING`, else the first image whose captions
    mention a small object that may be removed; without such an image any, and None.
    """
    index = next((index for index, scene in enumerate(dataset.scenes) if scene.image_id == OPENING), None)
    if index is not None:
        return f"{dataset.name}.{index}", TAKEN
    refs = [f"{dataset.name}.{index}" for index in range(min(_LOOKED_AT, len(dataset.scenes)))]
    for ref in refs:
        try:
            image = images.get(ref)
        except UserError:
            continue
        named = [classes_of(caption, dataset.matcher) for caption in image.captions]
        for judgement in judged(image):
            often = sum(judgement["class"] in names for names in named)
            if judgement["allowed"] and 0.005 <= judgement["share"] <= 0.15 and often > len(named) / 2:
                return ref, judgement["class"]
    return (refs[0] if refs else ""), None


def suggestion(objects: Sequence[dict[str, Any]]) -> list[str]:
    """Choose what is removed from an image at first, of its judged objects: the smallest one that may be removed and is
    large enough to be seen, since small ones show best whether a model guesses.
    """
    allowed = sorted((one for one in objects if one["allowed"]), key=lambda one: one["share"])
    seen = [one for one in allowed if one["share"] >= _NOTICEABLE]
    best = [*seen[:1], *allowed[-1:], *objects[:1]]
    return [best[0]["class"]] if best else []
