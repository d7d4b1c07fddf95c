"""The descriptor of a detector, and the one place that checks pictures and sorts out what a network says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.errors import UserError
from trainers.object_removal.regions import Box, clean_boxes
from trainers.registry import Descriptor

NO_CLASS = {"N/A", "__background__", "no-object"}  # places that a network's list of classes keeps empty
_OTHER_NAMES = {
    "aeroplane": "airplane",
    "motorbike": "motorcycle",
    "sofa": "couch",
    "pottedplant": "potted plant",
    "diningtable": "dining table",
    "tvmonitor": "tv",
}
"""The same classes of COCO, as networks that go back to Darknet's list spell them."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The objects of one photo, surest first.

    Attributes:
        boxes: corners in pixels, inside the photo, with an area.
        names: class of each, as COCO spells it.
        scores: from 0 to 1.
        masks: bool ``[N, H, W]`` silhouettes; None if the detector draws boxes only.
    """

    boxes: tuple[Box, ...]
    names: tuple[str, ...]
    scores: tuple[float, ...]
    masks: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Raw:
    """What a network says of one photo, in its own order.

    Attributes:
        boxes: float ``[N, 4]``, x0, y0, x1, y1 in pixels.
        names: N class names, empty places of its list among them.
        scores: float ``[N]``.
        masks: bool ``[N, H, W]`` or None.
    """

    boxes: np.ndarray
    names: Sequence[str]
    scores: np.ndarray
    masks: np.ndarray | None = None


Detector = Callable[[np.ndarray], Found]
"""A photo uint8 ``[H, W, 3]`` to its objects; raises UserError for anything else."""


@dataclass(frozen=True, kw_only=True)
class DetectorDescriptor(Descriptor):
    """One entry of the registry of detectors. Among its parameters is ``score``, the lowest that counts.

    Attributes:
        paper: where it comes from.
        make: called with checked parameters; gives a function from an image uint8 ``[H, W, 3]`` to :class:`Raw`.
        masks: whether it also gives a mask for each object.
    """

    paper: str
    make: Callable[[Any], Callable[[np.ndarray], Raw]]
    masks: bool = False

    def build(self, parameters: Mapping[str, Any]) -> Detector:
        """Load the network; keep what comes back, loading takes seconds.

        Raises:
            ParameterError: a parameter is wrong.
            UserError: weights or libraries cannot be had, or the weights do not fit.
        """
        chosen = self.checked(parameters)
        reason = self.missing(chosen)
        if reason is not None:
            raise UserError(reason)
        look = self.make(chosen)

        def detect(picture: np.ndarray) -> Found:
            if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or picture.size == 0:
                raise UserError(f"A picture uint8 [H, W, 3] was needed; {picture.dtype} {list(picture.shape)} came.")
            return _sorted(look(np.ascontiguousarray(picture)), chosen.score, picture.shape[:2])

        return detect


def _sorted(raw: Raw, lowest: float, size: tuple[int, int]) -> Found:
    """Objects at or above a score, of a class that has a name, with boxes that can be used; surest first."""
    good = [
        place
        for place in np.argsort(-raw.scores, kind="stable").tolist()
        if raw.scores[place] >= lowest and raw.names[place] not in NO_CLASS
    ]
    clean = clean_boxes([raw.boxes[place].tolist() for place in good], size[1], size[0])
    kept = [good[place] for place in clean.kept]
    return Found(
        boxes=clean.boxes,
        names=tuple(_OTHER_NAMES.get(raw.names[place], raw.names[place]) for place in kept),
        scores=tuple(float(raw.scores[place]) for place in kept),
        masks=None if raw.masks is None else raw.masks[np.asarray(kept, dtype=np.int64)],
    )
