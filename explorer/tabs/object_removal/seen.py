"""What the shipped encoder sees in a photograph, before and after something is taken out of it; no captions needed."""

from __future__ import annotations

import threading
from typing import Any

import torch

from explorer.tabs.object_removal.removal import FilledImage
from trainers.data.lru_cache import Cache
from trainers.encoders import shipped
from trainers.image_text.encoding import squash
from trainers.image_text.imagenet import SIDE, ImageNetClassifier, most_probable

MOST = 5
"""Classes that are shown."""
_KEPT = 32  # answers


class Seen:
    """Asks the classifier, which is loaded when it is first asked."""

    def __init__(self) -> None:
        self._kept: Cache[dict[str, Any]] = Cache(limit=_KEPT)
        self._classifier: ImageNetClassifier | None = None
        self._lock = threading.Lock()

    def classes(self, ref: str, filled: FilledImage) -> dict[str, Any] | None:
        """Return the most probable classes of an image as it is and without the object; None: the weights are not here.

        Args:
            ref: of the image.
        """
        if shipped.missing() is not None:
            return None
        return self._kept.get((ref, filled.key), lambda: self._asked(filled))

    def _asked(self, filled: FilledImage) -> dict[str, Any]:
        pair = torch.stack([squash(pixels, SIDE) for pixels in (filled.original, filled.pixels)])
        with self._lock:
            self._classifier = self._classifier or ImageNetClassifier().eval().requires_grad_(False)
            before, after = most_probable(self._classifier, pair, MOST)
        return {"title": shipped.TITLE, "original": _plain(before), "removed": _plain(after)}


def _plain(classes: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"name": name, "share": round(share, 4)} for name, share in classes]
