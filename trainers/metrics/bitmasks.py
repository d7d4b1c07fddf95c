"""Sets of classes as bit masks, 63 classes to an int64 word, and the verdict on each sentence for each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Present = Literal["any", "all"]
BITS = 63  # the sign bit stays clear
CORRECT = 3
"""Verdicts, worst first: 0 names a removed class only, 1 names a removed and a present one, 2 neither, 3 correct."""


def pack(table: Tensor) -> Tensor:
    """Bool ``[N, C]`` to int64 ``[N, W]``, W = ceil(C / 63), at least 1."""
    words = [
        (part.long() << torch.arange(part.shape[1], device=table.device)).sum(1) for part in table.split(BITS, dim=1)
    ]
    return torch.stack(words or [torch.zeros(len(table), dtype=torch.int64, device=table.device)], dim=1)


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Sentences by what they name.

    Attributes:
        masks: int64 ``[U, W]``, the distinct sets of classes.
        kind: int64 ``[G]``, which of them each sentence has.
        counts: int64 ``[U]``, how many sentences have it.
    """

    masks: Tensor
    kind: Tensor
    counts: Tensor

    @classmethod
    def of(cls, mentions: Tensor) -> Gallery:
        """From bool ``[G, C]``. There are few distinct sets (thousands for COCO), so verdicts are made per set."""
        words = pack(mentions)
        kind = torch.zeros(len(words), dtype=torch.int64, device=words.device)
        for word in words.T:  # numbered word by word: far quicker than comparing whole rows
            values, number = word.unique(return_inverse=True)
            kind = (kind * len(values) + number).unique(return_inverse=True)[1]
        counts = kind.bincount()
        masks = words.new_empty(len(counts), words.shape[1]).index_copy_(0, kind, words)
        return cls(masks=masks, kind=kind, counts=counts)

    def verdicts(self, present: Tensor, removed: Tensor, reading: Present) -> Tensor:
        """Verdict codes uint8 ``[U, b]`` of queries with masks ``present`` and ``removed``, int64 ``[b, W]`` each.

        A sentence is correct when it names no removed class and at least one present class (``any``) or every present
        class (``all``).
        """
        shape = len(self.masks), len(present)
        hurt = torch.zeros(shape, dtype=torch.bool, device=present.device)
        fits = torch.full(shape, reading == "all", device=present.device)
        for word, mask in enumerate(self.masks.T):
            hurt |= (mask[:, None] & removed[None, :, word]) != 0
            common = mask[:, None] & present[None, :, word]
            if reading == "all":
                fits &= common == present[None, :, word]
            else:
                fits |= common != 0
        if reading == "all":
            fits &= (present != 0).any(1)[None]
        return torch.where(hurt, fits.to(torch.uint8), 2 + fits.to(torch.uint8))
