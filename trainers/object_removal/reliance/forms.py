"""The forms of a query: their names, and how pixels of an image are changed for them."""

from __future__ import annotations

import numpy as np
import torch
from scipy.ndimage import distance_transform_edt
from torch import Tensor

from trainers.object_removal.fills.base import FillDescriptor, paint

WHOLE, RELIT, PLACEBO, SILHOUETTE = "whole", "relit", "placebo", "silhouette"
WITHOUT, ALONE, MOVED = "without", "alone", "elsewhere"
NEW, HOME, AWAY = "new", "home", "away"
TITLES = {
    WHOLE: "whole image",
    RELIT: "other light",
    PLACEBO: "as much filled beside the object",
    SILHOUETTE: "object filled flat",
    WITHOUT: "background alone",
    ALONE: "object alone",
    MOVED: "object before another background",
    NEW: "new image of a training class",
    HOME: "training class in its tied background",
    AWAY: "training class in another background",
}
"""The forms of a query in words, in order."""
TIED = (NEW, HOME, AWAY)
"""Those of the classes that were trained on, which have queries and a gallery of their own."""
_EXPOSURE, _TINT = (0.6, 1.3), 0.25  # of other light: factors of linear light, about those of the drawn images


def filled(image: Tensor, mask: np.ndarray, fill: FillDescriptor) -> Tensor:
    """Paint over the object under ``mask`` in an image uint8 ``[C, S, S]``.

    Raises:
        UserError: the mask covers everything, or the fill cannot be used.
    """
    colour = np.ascontiguousarray(image.expand(3, -1, -1).permute(1, 2, 0).numpy())
    painted = paint(fill, colour, mask)
    return torch.from_numpy(np.ascontiguousarray(painted.transpose(2, 0, 1)))[: len(image)]


def mean_colour(images: Tensor) -> Tensor:
    """Return the mean colour uint8 ``[C]`` of at most 2,000 images spread over a gallery uint8 ``[N, C, S, S]``."""
    rows = torch.linspace(0, len(images) - 1, min(len(images), 2000)).long()
    return images[rows].double().mean(dim=(0, 2, 3)).round().to(torch.uint8)


def beside(mask: np.ndarray) -> np.ndarray | None:
    """Choose as many pixels as an object has, none of them its own: bool ``[S, S]``; None: it covers more than half.

    They are its shape moved to where it overlaps the object least, sideways if that will do, and going on at the
    opposite edge; pixels far from the object make up for what overlaps.
    """
    area = int(mask.sum())
    if 2 * area > mask.size:
        return None
    spectrum = np.fft.rfft2(mask.astype(np.float64))
    overlap = np.rint(np.fft.irfft2(np.abs(spectrum) ** 2, s=mask.shape)).astype(np.int64)
    down, right = (np.minimum(np.arange(side), side - np.arange(side)) for side in mask.shape)
    ranked = np.lexsort((np.tile(-right, len(down)), np.repeat(down, len(right)), overlap.ravel()))
    moved: np.ndarray = np.roll(mask, np.unravel_index(ranked[0], mask.shape), (0, 1)) & ~mask
    lacking = area - int(moved.sum())
    if lacking:
        far = np.where(mask | moved, -1.0, distance_transform_edt(~mask)).ravel()
        moved.ravel()[np.argsort(-far, kind="stable")[:lacking]] = True
    return moved


def in_other_light(images: Tensor, indices: np.ndarray) -> Tensor:
    """Change photographs uint8 ``[n, C, S, S]`` as if the light were brighter or darker and of another colour; the same
    for the same index.
    """
    changed = torch.empty_like(images)
    for at, index in enumerate(indices.tolist()):
        draws = np.random.default_rng((1, index))
        factors = draws.uniform(*_EXPOSURE) * (1 + draws.uniform(-_TINT, _TINT, len(images[at])))
        linear = (images[at].double() / 255) ** 2 * torch.from_numpy(factors)[:, None, None]
        changed[at] = (linear.clamp(0, 1).sqrt() * 255).round().to(torch.uint8)
    return changed
