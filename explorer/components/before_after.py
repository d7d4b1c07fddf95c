"""An image without an object over the image as it is; a divider, which the keyboard moves too, shows how much of each.

Gradio's ImageSlider listens to the pointer alone, and lays two images over each other that do not lie the same.
"""

from __future__ import annotations

from typing import Any

from explorer.components.drawn import Drawn


class BeforeAfter(Drawn):
    """Its value is ``{"image": ..., "prompt": ..., "removed": [...]}`` while nothing is filled, then ``{"image": ...,
    "reply": ...}``."""

    def __init__(self, **options: Any) -> None:
        super().__init__("before_after", "rs-object rs-beforeafter", "The image", "", **options)
