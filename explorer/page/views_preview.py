"""A button that shows augmented views of some images, as an encoder would see them."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from gradio.components import Component
from PIL import Image
from torch import Tensor

from explorer.page.blocks import QUIET
from explorer.page.inspection import failed
from trainers.errors import UserError

LARGEST_TILE = 160  # pixels sent of a larger view; it is shown at about 60
AT_ONCE = 2
"""Previews that are made at the same time; the others wait."""
_BEGIN = """(shown, ...values) => [shown || '<p class="rs-sentence" role="status">Making the views …</p>', ...values]"""

Make = Callable[[Mapping[str, Any]], tuple[Tensor, str]]
"""From the values of fields to views float ``[N, V, C, S, S]`` in 0..1 and a plain sentence about them."""


def views_preview(fields: Mapping[str, Component], make: Make) -> None:
    """Add the button and the place under it, where errors appear too.

    Args:
        fields: what ``make`` needs, by name.
    """
    button = gr.Button("Preview the views", size="sm")
    shown = gr.HTML("", apply_default_css=False, elem_classes=["rs-views"])

    def preview(*values: object) -> str:
        try:
            return drawn_views(*make(dict(zip(fields, values, strict=True))))
        except UserError as error:
            return failed(str(error))

    button.click(fn=None, inputs=[shown], outputs=[shown], js=_BEGIN).then(
        preview, list(fields.values()), [shown], concurrency_limit=AT_ONCE, trigger_mode="once", **QUIET
    )


def drawn_views(views: Tensor, sentence: str) -> str:
    """Return HTML of the views ``[N, V, C, S, S]``: those of an image side by side, the sentence below."""
    groups = []
    for number, image in enumerate(views, start=1):
        tiles = "".join(
            f'<img src="{_address(view)}" alt="Image {number}, view {place}">'
            for place, view in enumerate(image, start=1)
        )
        groups.append(f'<li class="rs-viewgroup">{tiles}</li>')
    return (
        f'<ul class="rs-viewlist" role="list">{"".join(groups)}</ul>'
        f'<p class="rs-sentence" role="status">{html.escape(sentence)}</p>'
    )


def _address(view: Tensor) -> str:
    """Encode one view float ``[C, S, S]`` as a data address."""
    pixels = (view * 255).round().byte().expand(3, -1, -1).permute(1, 2, 0).numpy()
    picture, buffer = Image.fromarray(pixels), io.BytesIO()
    picture.thumbnail((LARGEST_TILE, LARGEST_TILE))
    picture.save(buffer, "WEBP", quality=90)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
