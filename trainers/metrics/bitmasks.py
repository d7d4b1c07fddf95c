"""Sets of classes as bit masks, 63 classes to an int64 word, and the verdict on captions by them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import send

BITS = 63  # the sign bit stays clear
CORRECT = 3
"""Verdicts, worst first: 0 names a removed class only, 1 names a removed and a present one, 2 neither, 3 correct."""


def pack(table: np.ndarray) -> np.ndarray:
    """Pack bool ``[N, C]`` into int64 ``[N, W]``, W = ceil(C / 63), at least 1."""
    words = np.zeros((len(table), max(1, -(-table.shape[1] // BITS))), np.int64)
    for column in range(table.shape[1]):
        words[:, column // BITS] |= table[:, column].astype(np.int64) << (column % BITS)
    return words


@dataclass(frozen=True, kw_only=True)
class CaptionMasks:
    """Captions by what they name, on the host.

    Attributes:
        masks: int64 ``[U, W]``, the distinct sets of classes.
        kind: int64 ``[G]``, which of them each caption has.
        counts: int64 ``[U]``, how many captions have it.
    """

    masks: np.ndarray
    kind: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, mentions: np.ndarray) -> CaptionMasks:
        """Make it from bool ``[G, C]``. There are few distinct sets (thousands for COCO): verdicts are made per set."""
        words = pack(mentions)
        kind = np.zeros(len(words), np.int64)
        for word in words.T:  # numbered word by word: far quicker than comparing whole rows
            values, number = np.unique(word, return_inverse=True)
            kind = np.unique(kind * len(values) + number, return_inverse=True)[1]
        counts = np.bincount(kind)
        masks = np.empty((len(counts), words.shape[1]), np.int64)
        masks[kind] = words
        return cls(masks=masks, kind=kind, counts=counts)

    def verdicts(self, present: np.ndarray, removed: np.ndarray, device: torch.device) -> Tensor:
        """Return verdict codes uint8 ``[U, b]`` of queries with masks ``present`` and ``removed``, int64 ``[b, W]``
        each.

        A caption is correct when it names no removed class and at least one present class (the paper's text, our
        reading of it). They are made on the device.
        """
        masks, here, gone = (send(table, device) for table in (self.masks, present, removed))
        shape = len(masks), len(here)
        hurt = torch.zeros(shape, dtype=torch.bool, device=device)
        fits = torch.zeros(shape, dtype=torch.bool, device=device)
        for word, mask in enumerate(masks.T):
            hurt |= (mask[:, None] & gone[None, :, word]) != 0
            fits |= (mask[:, None] & here[None, :, word]) != 0
        return torch.where(hurt, fits.to(torch.uint8), 2 + fits.to(torch.uint8))


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The first K captions of Q queries.

    Attributes:
        verdicts: uint8 ``[Q, K]``, best ranked first; see :data:`trainers.metrics.bitmasks.CORRECT`.
        relevant: int64 ``[Q]``, correct captions in the whole gallery.
        removed, present: bool ``[Q]``, whether the query has a removed class, and one still in the image.
    """

    verdicts: np.ndarray
    relevant: np.ndarray
    removed: np.ndarray
    present: np.ndarray

    @property
    def scored(self) -> np.ndarray:
        """Whether a query counts for ODmAP: bool ``[Q]``."""
        scored: np.ndarray = self.removed & self.present & (self.relevant > 0)
        return scored

    @cached_property
    def hits(self) -> np.ndarray:
        """Whether each caption is correct: bool ``[Q, K]``."""
        hits: np.ndarray = self.verdicts == CORRECT
        return hits
