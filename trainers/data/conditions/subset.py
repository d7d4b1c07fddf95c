"""Some images of a split, in memory or on disk as the split's own are."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import torch
from torch import Tensor

from trainers.data import cache, settings
from trainers.data.base import ImageSet

_AT_ONCE = 256  # images copied at a time


def subset(part: ImageSet, rows: np.ndarray) -> ImageSet:
    """Return the images of ascending ``rows`` int64 [n]."""
    if len(rows) == len(part):
        return part
    chosen = torch.from_numpy(rows)
    mark = hashlib.blake2b(f"{part.chosen} ".encode() + np.ascontiguousarray(rows, np.int64).tobytes(), digest_size=8)
    return dataclasses.replace(
        part,
        images=_copied(part.images, rows),
        labels=part.labels[chosen],
        true_labels=None if part.true_labels is None else part.true_labels[chosen],
        attributes={name: values[chosen] for name, values in part.attributes.items()},
        before_cap=0,
        names=tuple(part.names[row] for row in rows.tolist()) if part.names else (),
        chosen=f"/{mark.hexdigest()}",
    )


def _copied(images: Tensor, rows: np.ndarray) -> Tensor:
    """Copy the images of ``rows``; too many for the memory go to a file of the disk cache, which nothing else reads and
    which is gone with the process.
    """
    if len(rows) * images[0].numel() <= settings.memory_bytes():
        return images[torch.from_numpy(rows)]
    with cache.draft("subsets") as draft:
        if draft is None:  # without a disk all images are in memory already, and so are these
            return images[torch.from_numpy(rows)]
        pixels = draft.allocate("images", (len(rows), *images.shape[1:]))
        source = images.numpy()
        for first in range(0, len(rows), _AT_ONCE):
            pixels[first : first + _AT_ONCE] = source[rows[first : first + _AT_ONCE]]
        return draft.read(settings.memory_bytes())["images"]
