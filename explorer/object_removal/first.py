"""Which photo a visitor sees first, what is taken out of it, and who is asked."""

from __future__ import annotations

from explorer.object_removal.datasets import PhotoSet
from explorer.object_removal.images import Photos, judged
from trainers.errors import UserError
from trainers.object_removal.captions import classes_of

OPENING, TAKEN = "test-000091", "car"
"""The drawn scene to open with, and what goes: a car under a traffic light, where the two shipped models differ (a
test asks them)."""
CHOSEN = ("tiny_clip", "tiny_clip_mended")
FILL = "telea"
K = 5
"""Sentences of each model."""
_LOOKED_AT = 48


def instructive(group: PhotoSet, photos: Photos) -> tuple[str, str | None]:
    """A photo's reference and the class to take out of it: :data:`OPENING`, else the first photo whose sentences
    mention a small object that may go; without such a photo any, and None."""
    place = next((place for place, scene in enumerate(group.scenes) if scene.image_id == OPENING), None)
    if place is not None:
        return f"{group.name}.{place}", TAKEN
    refs = [f"{group.name}.{place}" for place in range(min(_LOOKED_AT, len(group.scenes)))]
    for ref in refs:
        try:
            photo = photos.get(ref)
        except UserError:
            continue
        named = [classes_of(caption, group.matcher) for caption in photo.captions]
        for found in judged(photo):
            often = sum(found["class"] in names for names in named)
            if found["allowed"] and 0.005 <= found["share"] <= 0.15 and often > len(named) / 2:
                return ref, found["class"]
    return (refs[0] if refs else ""), None
