"""Objects of a visitor's own image: found by a detector, or named by an image-text model in a box that was drawn."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch import Tensor

from explorer.server.http import RequestError
from explorer.tabs.object_removal import bodies
from explorer.tabs.object_removal.images import SHOWN, InputImages, judged
from explorer.tabs.object_removal.models import Models
from trainers.data.lru_cache import Cache
from trainers.object_removal.drawing import read_boxes
from trainers.object_removal.regions import Box
from trainers.object_removal.vocabulary import load_words
from trainers.object_removal.zero_shot import class_embeddings, name_box
from trainers.registry import importing

if TYPE_CHECKING:
    from trainers.object_removal.detectors import Detector, DetectorDescriptor

NAMES = 5
_PROMPTS = 8  # pairs of a model and a list of classes whose prompts are kept


class Detection:
    """Detects and names; the detector used last stays loaded."""

    def __init__(self, images: InputImages, models: Models) -> None:
        self._images = images
        self._models = models
        self._loaded: Cache[Detector] = Cache(limit=1)
        self._prompts: Cache[Tensor] = Cache(limit=_PROMPTS)
        self._lock = threading.Lock()

    def listed(self) -> list[dict[str, Any]]:
        """List every detector, and what is missing for it."""
        return [detector.json() for detector in detectors().values()]

    def detect(self, asked: bodies.Detect) -> dict[str, Any]:
        """Detect the objects of an image, and judge them.

        Raises:
            UserError: no such image or detector, or it cannot be had here.
        """
        image = self._images.get(asked.image)
        name = asked.detector
        known = detectors()
        if name not in known:
            raise RequestError(f"There is no detector {name[:40]!r}; choose from {', '.join(known)}.")
        picture = self._images.picture(image, SHOWN)
        with self._lock:  # a network serves one thread at a time
            detected = self._loaded.get(name, lambda: known[name].build({}))(picture.pixels)
        boxes: list[Box] = []
        for box in detected.boxes:
            x0, y0, x1, y1 = (value / picture.scale for value in box)
            boxes.append((x0, y0, x1, y1))
        marked = replace(image, boxes=tuple(boxes), classes=detected.names)
        notes = [] if detected.names else ["Nothing was found. Draw a box around what to remove, and say what it is."]
        scores: dict[str, list[float]] = {}
        for label, score in zip(detected.names, detected.scores, strict=True):
            scores.setdefault(label, []).append(round(score, 3))
        return {
            "objects": [{**judgement, "scores": scores[judgement["class"]]} for judgement in judged(marked)],
            "notes": notes,
        }

    def name(self, asked: bodies.NameBox) -> dict[str, Any]:
        """Name the classes that a model sees in a box, likeliest first.

        Raises:
            UserError: no such image or model, or the box is too small.
        """
        image = self._images.get(asked.image)
        boxes, _ = read_boxes([asked.box])
        if not boxes:
            raise RequestError("The box has no area inside the image. Draw it over the object.")
        picture = self._images.picture(image, SHOWN)
        height, width = picture.pixels.shape[:2]
        x0, y0, x1, y1 = boxes[0]
        box = (x0 * width, y0 * height, x1 * width, y1 * height)
        known = self._models.known(asked.model)
        loaded = self._models.get(known.name)
        listed = image.dataset.matcher.classes if image.dataset is not None else ()
        classes = tuple(dict.fromkeys((*listed, *load_words().classes)))
        with loaded.use() as model:
            prompts = self._prompts.get((loaded.digest, classes), lambda: class_embeddings(model, classes))
            likeliest = name_box(model, picture.pixels, box, classes, prompts, top=NAMES)
        names = [{"class": name, "score": round(float(score), 4)} for name, score in likeliest]
        return {"names": names, "notes": known.notes(image.source == "drawn")}


def detectors() -> Mapping[str, DetectorDescriptor]:
    """Import the catalogue when somebody looks: torchvision takes seconds that a start need not wait for."""
    with importing():
        from trainers.object_removal.detectors import DETECTORS

    return DETECTORS
