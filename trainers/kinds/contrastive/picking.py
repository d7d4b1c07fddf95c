"""Cross-entropy towards the first of many logits, in the memory of the logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def first_cross_entropy(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the mean cross-entropy with class 0, and how often that class has the largest logit.

    Torch's own makes three further tensors of the size of the logits. With a long queue, taking memory for them from
    the system lasts as long as the products behind the logits.

    Args:
        logits: ``[N, 1 + K]``, K at least 1; overwritten.

    Returns:
        the loss, a scalar, which can be differentiated once; and the share of rows whose first logit is larger than
        all others, ties left out, a scalar without gradient.
    """
    loss, accuracy, _ = _FirstCrossEntropy.apply(logits)
    return loss, accuracy


class _FirstCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        positive, best = logits[:, 0].clone(), logits[:, 1:].amax(1)
        top = torch.maximum(positive, best)
        odds = logits.sub_(top[:, None]).exp_()
        ctx.total, ctx.odds = odds.sum(1), odds
        loss = (ctx.total.log() + top - positive).mean()
        accuracy = (positive > best).to(logits.dtype).mean()
        ctx.mark_dirty(logits)
        ctx.mark_non_differentiable(accuracy)
        ctx.set_materialize_grads(False)
        return loss, accuracy, logits

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Tensor | None:
        if slopes[2] is not None or ctx.odds is None:
            raise RuntimeError("the logits were overwritten; their loss can be differentiated once")
        odds, ctx.odds = ctx.odds, None
        slope = slopes[0] / len(odds)
        odds.mul_((slope / ctx.total)[:, None])
        odds[:, 0] -= slope
        return odds
