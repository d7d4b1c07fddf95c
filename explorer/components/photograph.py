"""A photograph of the visitor's own: by file, dropped, pasted, or from the camera."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.data_classes import ImageData


class Photograph(gr.Image):
    """Hands on the path of the file, which :class:`explorer.server.photographs.Photographs` opens.

    Gradio's own unpacks whatever an event brings before any function of the page sees it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(type="filepath", sources=["upload", "webcam", "clipboard"], **options)

    def get_block_name(self) -> str:
        """See Gradio."""
        return "image"

    def get_config(self, cls: type | None = None) -> dict[str, Any]:
        """See Gradio, which reads the names of the options from the constructor."""
        return super().get_config(cls or gr.Image)

    def preprocess(self, payload: ImageData | None) -> str | None:
        """Return the path, which is a stranger's word."""
        return None if payload is None else payload.path
