"""Measures the contextual loss and AP of a fixed sample of the probe, so that one can be plotted against the other."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from trainers.devices.host import equal
from trainers.losses.contextual import contextual_term
from trainers.metrics import evaluate
from trainers.metrics.catalogue.contextual import CONTEXTUAL_AP, CONTEXTUAL_LOSS

PER_CLASS = 4  # the paper's k, images of each class in a batch
CLASSES = 32  # at most: 128 images, the batch of the paper's code, so that the scale is the loss's own
LEAST_CLASSES = 3  # proposition 4.1 needs n > 2 k
EPS = 0.0  # as in proposition 4.1; with slack all embeddings of an untrained encoder are neighbours
SLOPE = 1.0  # of a backward pass that is not made


class ContextualSample:
    """Images of the probe, as many of each class as a neighbourhood holds.

    Liao et al. 2023, figure 3 (left): the contextual term of Eq. 5 against 1 - mAP over training. Which images the
    paper took is not known; the sample is ours. k is 4 and eps is 0.

    Args:
        labels: int64 ``[P, L]`` of the probe, finest first.
    """

    def __init__(self, labels: Tensor) -> None:
        finest = labels.reshape(len(labels), -1)[:, 0].numpy()
        classes, counts = np.unique(finest, return_counts=True)
        large = classes[counts >= PER_CLASS]
        spread = np.linspace(0, len(large) - 1, min(len(large), CLASSES)).round().astype(int)
        chosen = [np.flatnonzero(finest == label)[:PER_CLASS] for label in large[spread].tolist()]
        self.rows = torch.from_numpy(np.concatenate([*chosen, np.zeros(0, np.int64)]).astype(np.int64))
        self._labels = torch.from_numpy(finest.copy())[self.rows]
        self._enough = len(chosen) >= LEAST_CLASSES

    def numbers(self, embeddings: Tensor) -> dict[str, float]:
        """Return the contextual term and AP of the sample; nothing where fewer than three classes have four images.

        Args:
            embeddings: float32 ``[P, D]`` of the whole probe, on the CPU.
        """
        if not self._enough:
            return {}
        rows = embeddings[self.rows]
        unit = F.normalize(rows.float(), dim=1)
        similarity = unit @ unit.T
        same = equal(self._labels, self._labels, similarity.device)
        with torch.no_grad():
            term = contextual_term(similarity, same, PER_CLASS, EPS, SLOPE)
        ap = evaluate(rows, self._labels, metrics=["AP"])["AP"]
        return {CONTEXTUAL_LOSS: float(term), CONTEXTUAL_AP: float(ap)}
