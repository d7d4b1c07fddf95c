"""Captions that models retrieve for an image and for the image without an object, their words marked."""

from __future__ import annotations

from typing import Any

from explorer.components.drawn import Drawn

_EVENTS = """
  again: () => trigger("again"),
  read: () => trigger("read"),
"""


class Captions(Drawn):
    """Its value is ``{"k": ..., "titles": [...], "reply": ...}``; without a reply nothing was asked yet.

    ``again`` wants a reply in which a model had not read all captions, ``read`` wants them read for what is asked next.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("captions", "rs-object rs-nearest", "The captions", _EVENTS, **options)
