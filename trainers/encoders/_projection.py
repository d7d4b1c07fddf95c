"""A linear projection that begins with principal components."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trainers.errors import ParameterError

PROJECTIONS = ("random", "pca")
MOST = 4096
"""Images whose features are looked at."""


@torch.no_grad()
def principal(linear: nn.Linear, features: Tensor) -> None:
    """Set a layer to the projection onto the principal components of ``features``, centred on their mean.

    Each component points so that its largest number is positive: the same features give the same weights.

    Args:
        linear: from F to D numbers, with a bias.
        features: float ``[N, F]``.

    Raises:
        ParameterError: there are fewer components than D.
    """
    dim, most = linear.out_features, min(len(features) - 1, features.shape[1])
    if dim > most:
        raise ParameterError(
            f"A projection to {dim} numbers needs as many principal components; {len(features):,} images of "
            f"{features.shape[1]} features have at most {most}. Choose a smaller embedding dimension, or begin with "
            "random weights."
        )
    rows = features.double()
    mean = rows.mean(0)
    _, axes = torch.linalg.eigh((rows - mean).T @ (rows - mean))  # ascending
    components = axes.T.flip(0)[:dim]
    largest = components.gather(1, components.abs().argmax(1, keepdim=True))
    components = components * largest.sign()
    linear.weight.copy_(components)
    linear.bias.copy_(-components @ mean)
