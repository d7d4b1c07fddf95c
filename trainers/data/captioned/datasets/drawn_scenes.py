"""Drawn scenes: objects that often occur together, with captions and boxes, for use without a network."""

from __future__ import annotations

from trainers.data.captioned.base import CaptionedDescriptor, CaptionedRequest
from trainers.data.captioned_images import CaptionedDataset
from trainers.data.synthetic.scenes import DrawnScenes, drawn_scenes
from trainers.data.synthetic.scenes.build import TITLE


def load(request: CaptionedRequest) -> CaptionedDataset:
    """Return the scenes of the requested parameters; each is drawn when it is looked at."""
    request.progress("drawing scenes", 0.0)
    return drawn_scenes(request.parameters, request.limit)


DESCRIPTOR = CaptionedDescriptor(
    name="drawn_scenes",
    title=TITLE,
    sentence="Twelve classes of drawn objects, five of them mostly with the same companion; needs no network.",
    load=load,
    parameters=DrawnScenes,
    order=0,
)
