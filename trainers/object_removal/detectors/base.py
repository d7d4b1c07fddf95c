"""The descriptor of a detector, which checks its images and cleans and sorts the output of its network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.data.picture import check_image
from trainers.errors import UserError
from trainers.object_removal.regions import Box, clean_boxes
from trainers.registry import Descriptor

NO_CLASS = {"N/A", "__background__", "no-object"}  # unused entries of a network's list of classes
_OTHER_NAMES = {
    "aeroplane": "airplane",
    "motorbike": "motorcycle",
    "sofa": "couch",
    "pottedplant": "potted plant",
    "diningtable": "dining table",
    "tvmonitor": "tv",
}
"""Classes of COCO as Darknet's list spells them, and as COCO does."""


@dataclass(frozen=True, kw_only=True)
class Detections:
    """The objects of one image, highest score first.

    Attributes:
        boxes: corners in pixels, inside the image, with an area.
        names: class of each, as COCO spells it.
        scores: from 0 to 1.
    """

    boxes: tuple[Box, ...]
    names: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The output of a network for one image, in its own order.

    Attributes:
        boxes: float ``[N, 4]``, x0, y0, x1, y1 in pixels.
        names: N class names, unused entries of its list included.
        scores: float ``[N]``.
    """

    boxes: np.ndarray
    names: Sequence[str]
    scores: np.ndarray


Detector = Callable[[np.ndarray], Detections]
"""An image uint8 ``[H, W, 3]`` to its objects; raises UserError for anything else."""


@dataclass(frozen=True, kw_only=True)
class DetectorDescriptor(Descriptor):
    """One entry of the registry of detectors. Among its parameters is ``score``, the lowest that counts.

    Attributes:
        paper: where it comes from.
        make: called with checked parameters; gives a function from an image uint8 ``[H, W, 3]`` to :class:`Raw`.
    """

    paper: str
    make: Callable[[Any], Callable[[np.ndarray], Raw]]

    def build(self, parameters: Mapping[str, Any]) -> Detector:
        """Load the network, which takes seconds: keep the result.

        Raises:
            ParameterError: a parameter is wrong.
            UserError: weights or libraries are missing, or the weights do not fit.
        """
        chosen = self.checked(parameters)
        reason = self.missing(chosen)
        if reason is not None:
            raise UserError(reason)
        network = self.make(chosen)

        def detect(image: np.ndarray) -> Detections:
            check_image(image)
            return _sorted(network(np.ascontiguousarray(image)), chosen.score, image.shape[:2])

        return detect


def _sorted(raw: Raw, lowest: float, size: tuple[int, int]) -> Detections:
    """Select objects with at least the lowest score, a named class and a usable box; highest score first."""
    good = [
        index
        for index in np.argsort(-raw.scores, kind="stable").tolist()
        if raw.scores[index] >= lowest and raw.names[index] not in NO_CLASS
    ]
    clean = clean_boxes([raw.boxes[index].tolist() for index in good], size[1], size[0])
    kept = [good[index] for index in clean.kept]
    return Detections(
        boxes=clean.boxes,
        names=tuple(_OTHER_NAMES.get(raw.names[index], raw.names[index]) for index in kept),
        scores=tuple(float(raw.scores[index]) for index in kept),
    )
