"""Heat maps over a query: which patches a similarity hangs on."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

SIDE = 360
_FALLS, _RISES = (255, 40, 0), (0, 110, 255)
_STRONGEST = 0.78
"""Opacity of the patch that matters most."""


def overlaid(pixels: np.ndarray, falls: Sequence[Sequence[float]], side: int = SIDE) -> Image.Image:
    """Lay a map over a query: red where the similarity falls while the patch is covered, blue where it rises.

    Args:
        pixels: the query, uint8 ``[C, S, S]``.
        falls: rows from the top.
    """
    opened = Image.fromarray(np.ascontiguousarray(np.broadcast_to(pixels, (3, *pixels.shape[1:])).transpose(1, 2, 0)))
    query = opened.resize((side, side), Image.Resampling.BICUBIC)
    values = np.asarray(falls, np.float64)
    share = values / max(float(np.abs(values).max()), 1e-12)
    strength = Image.fromarray((np.abs(share) * _STRONGEST * 255).round().astype(np.uint8))
    colours = np.where((share >= 0)[..., None], _FALLS, _RISES).astype(np.uint8)
    size, plain = (side, side), Image.Resampling.NEAREST
    over = Image.fromarray(colours).resize(size, plain)
    return Image.composite(over, query.convert("L").convert("RGB"), strength.resize(size, plain))


def shown(pixels: np.ndarray, arms: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each loss its picture, as a data URL, and what it is of in words; one that failed stays as it is."""
    return [
        arm if "falls" not in arm else {**arm, "picture": _picture(pixels, arm), "words": caption(arm)} for arm in arms
    ]


def _picture(pixels: np.ndarray, arm: dict[str, Any]) -> str:
    out = io.BytesIO()
    overlaid(pixels, arm["falls"]).save(out, "png")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode("ascii")


def caption(arm: dict[str, Any]) -> str:
    """Say how much the similarity falls at most, and where."""
    values = np.asarray(arm["falls"])
    down, right = divmod(int(values.argmax()), len(values))
    where = f"row {down + 1}, column {right + 1}"
    return f"similarity {arm['similarity']:.3f}; it falls by at most {values.max():.3f}, at {where}"
