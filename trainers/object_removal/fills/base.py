"""The descriptor of a fill, and the one place that checks pictures and masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.errors import UserError
from trainers.parameters import make

Fill = Callable[[np.ndarray, np.ndarray, Any], np.ndarray]
"""uint8 ``[H, W, 3]``, bool ``[H, W]`` (true: paint) and the parameters to uint8 ``[H, W, 3]``."""


@dataclass(frozen=True, kw_only=True)
class NoParameters:
    """A fill without choices."""


def always() -> str | None:
    """For fills that need nothing: always available."""
    return None


@dataclass(frozen=True, kw_only=True)
class FillDescriptor:
    """One entry of the catalogue of fills.

    Attributes:
        name: as written in settings.
        title: shown in lists.
        sentence: what it does.
        paper: where it comes from.
        fill: called with a checked picture and a mask that paints something, but not everything.
        parameters: frozen dataclass of its choices.
        missing: None if it can be used now, else a sentence with what to install or point to.
        order: place in lists, smaller first.
    """

    name: str
    title: str
    sentence: str
    paper: str
    fill: Fill
    parameters: type = NoParameters
    missing: Callable[[], str | None] = always
    order: int = 100


def paint(
    descriptor: FillDescriptor, picture: np.ndarray, mask: np.ndarray, parameters: Mapping[str, Any] | None = None
) -> np.ndarray:
    """Paint over the masked pixels; all others stay as they are.

    Args:
        picture: uint8 ``[H, W, 3]``.
        mask: bool ``[H, W]``, true where to paint. Empty: a copy comes back.
        parameters: of the fill, by name; missing ones take their defaults.

    Raises:
        UserError: shapes or types do not fit, the mask covers everything, or the fill is not available here.
    """
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise UserError(f"A picture uint8 [H, W, 3] was needed; {picture.dtype} {list(picture.shape)} came.")
    if mask.dtype != np.bool_ or mask.shape != picture.shape[:2]:
        raise UserError(f"A mask bool {list(picture.shape[:2])} was needed; {mask.dtype} {list(mask.shape)} came.")
    reason = descriptor.missing()
    if reason is not None:
        raise UserError(reason)
    values = make(descriptor.parameters, parameters or {}, descriptor.title)
    if not mask.any():
        return picture.copy()
    if mask.all():
        raise UserError("The region is the whole picture; nothing is left to paint it from. Choose a smaller one.")
    painted = descriptor.fill(np.ascontiguousarray(picture), np.ascontiguousarray(mask), values)
    return np.where(mask[..., None], painted, picture)
