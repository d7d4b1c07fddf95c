"""The blocks of a timm model, front to back: which of them are trained, and at which rate."""

from __future__ import annotations

from typing import Any

from torch import nn


def blocks(backbone: Any) -> list[list[nn.Parameter]]:
    """Return the weights of each block, front to back; the first holds the stem.

    The groups are those that timm decays rates by. One without a matrix, such as a last normalisation, counts to the
    block before it.
    """
    from timm.models import group_parameters

    named = dict(backbone.named_parameters())
    groups: dict[int, list[str]] = group_parameters(backbone, backbone.group_matcher(coarse=False))
    joined: list[list[nn.Parameter]] = []
    for _, names in sorted(groups.items()):
        weights = [named[name] for name in names]
        if joined and all(weight.ndim < 2 for weight in weights):
            joined[-1] += weights
        else:
            joined.append(weights)
    return joined


def freeze_all_but(backbone: Any, last: int) -> None:
    """Train no block but the ``last`` ones; with as many as there are, or more, all."""
    for weights in blocks(backbone)[: max(0, len(blocks(backbone)) - last)]:
        for weight in weights:
            weight.requires_grad_(False)


def decayed(backbone: Any, decay: float) -> dict[nn.Parameter, float]:
    """Return the share of the learning rate of each weight: ``decay`` in the last block, and for each block in front of
    it once more (layer-wise rates, Clark et al. 2020, "ELECTRA", appendix A)."""
    rows = blocks(backbone)
    return {weight: decay ** (len(rows) - number) for number, weights in enumerate(rows) for weight in weights}
