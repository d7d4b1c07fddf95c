"""An image whose objects can be pressed, and on which boxes and strokes can be drawn."""

from __future__ import annotations

from typing import Any

from explorer.components.drawn import Drawn

_EVENTS = """
  remove: (what) => trigger("remove", what),
  draw: (region) => trigger("draw", region),
  tool: (which) => trigger("tool", which),
"""


class ObjectPicker(Drawn):
    """Its value is ``{"image": ..., "removed": [classes]}``, None before there is an image.

    ``remove`` brings ``{"classes": [name]}`` of a pressed object, ``draw`` what was drawn, in fractions of the image:
    ``{"boxes": ...}`` or ``{"strokes": ...}``, the box ``around`` it and whether it ``stays``; ``tool`` the ``name`` of
    what presses do now.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("object_picker", "rs-object rs-picker", "The image", _EVENTS, **options)
