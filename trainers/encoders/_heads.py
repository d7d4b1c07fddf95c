"""Heads on pooled features."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from trainers.errors import ParameterError

HEADS = ("residual", "linear", "mlp")
WIDTHS = {"residual": 128, "mlp": 512}
"""Of the hidden layer, where no other is given."""
_GAIN = 8.0  # of the hidden layer's input: rows of unit length have numbers far below 1


class ResidualHead(nn.Module):
    """C (z + B relu(A z)), where z is a feature vector of length 1 less the mean of the training features, again of
    length 1. B is zero at first, so that an embedding begins as its features. C are the first principal components of
    the training features' z, or the identity.

    Args:
        width: F, of the features.
        dim: D, of the embeddings; None: F, without C.
        hidden: numbers that A puts out.

    Raises:
        ParameterError: D is larger than F.
    """

    mean: Tensor
    components: Tensor | None

    def __init__(self, width: int, dim: int | None, hidden: int) -> None:
        super().__init__()
        if dim is not None and dim > width:
            raise ParameterError(
                f"A residual head has as many numbers as the {width:,} features at most; got an embedding size of "
                f"{dim:,}. Choose a smaller one, or leave it empty."
            )
        self.inner, self.outer = nn.Linear(width, hidden), nn.Linear(hidden, width)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("components", None if dim in (None, width) else torch.eye(width)[:dim].clone())

    def forward(self, features: Tensor) -> Tensor:
        """Embed features float ``[B, F]`` as float ``[B, D]``."""
        z = self._centred(features)
        moved = z + self.outer(F.relu(_GAIN * self.inner(z)))
        return moved if self.components is None else F.linear(moved, self.components)

    def _centred(self, features: Tensor) -> Tensor:
        return F.normalize(F.normalize(features, dim=1) - self.mean, dim=1)

    @torch.no_grad()
    def fit(self, features: Tensor) -> None:
        """Take mean and components from training features float ``[N, F]``."""
        self.mean.copy_(F.normalize(features, dim=1).mean(0))
        if self.components is not None:
            self.components.copy_(principal_components(self._centred(features), len(self.components))[0])


def layered(width: int, dim: int, hidden: int) -> nn.Sequential:
    """Make a head of two layers."""
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, dim))


def plain_norm(width: int) -> nn.Module:
    """Make a layer normalisation without gain and shift."""
    return nn.LayerNorm(width, elementwise_affine=False)


def principal_components(features: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the first principal components float64 ``[D, F]`` of features ``[N, F]``, and their mean ``[F]``.

    Each component points so that its largest number is positive: the same features give the same components.

    Raises:
        ParameterError: there are fewer than D.
    """
    most = min(len(features) - 1, features.shape[1])
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
    return components * largest.sign(), mean


@torch.no_grad()
def principal(linear: nn.Linear, features: Tensor) -> None:
    """Set a layer from F to D numbers to the projection onto the principal components of features float ``[N, F]``,
    centred on their mean.

    Raises:
        ParameterError: there are fewer components than D.
    """
    components, mean = principal_components(features, linear.out_features)
    linear.weight.copy_(components)
    linear.bias.copy_(-components @ mean)


def fit(head: Any, features: Tensor) -> None:
    """Have a residual or linear head begin as training features float ``[N, F]`` say."""
    if isinstance(head, ResidualHead):
        head.fit(features)
        return
    *before, linear = head if isinstance(head, nn.Sequential) else [head]
    assert isinstance(linear, nn.Linear)  # others are refused when they are made
    principal(linear, nn.Sequential(*before)(features))
