"""Batch normalisation over the batches of all processes, for any layer that calls torch's function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from trainers.distributed.group import world
from trainers.distributed.whole import gathered


@contextmanager
def whole_statistics() -> Iterator[None]:
    """Have batch normalisation in training take mean and variance over the batches of all processes.

    All must call it equally often with equally many images. ``SyncBatchNorm`` does so on GPUs alone.
    """
    if world() == 1:
        yield
        return
    with _Intercepted():
        yield


class _Intercepted(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is functional.batch_norm:
            return _batch_norm(func, *args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _batch_norm(
    plain: Callable[..., Tensor],
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if not training:
        return plain(input, running_mean, running_var, weight, bias, training, momentum, eps)
    out, mean, var = _Normalised.apply(input, weight, bias, eps)
    if running_mean is not None and running_var is not None:
        count = input.numel() // input.shape[1] * world()
        with torch.no_grad():
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_((var * (count / max(1, count - 1))).to(running_var.dtype), momentum)
    normalised: Tensor = out
    return normalised


class _Normalised(torch.autograd.Function):
    """Gives the normalised values, the mean and the variance over all processes' rows ``[b, C, ...]``."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        axes = [axis for axis in range(rows.ndim) if axis != 1]
        exact = rows if rows.dtype == torch.float64 else rows.float()
        moments = torch.stack(torch.var_mean(exact, axes, correction=0))
        every = gathered(moments)
        mean = every[:, 1].mean(0)
        var = every[:, 0].mean(0) + (every[:, 1] - mean).square().mean(0)
        ctx.save_for_backward(rows, weight, mean, var)
        ctx.eps, ctx.axes = eps, axes
        out = functional.batch_norm(exact, mean, var, weight, bias, False, 0.0, eps).to(rows.dtype)
        ctx.mark_non_differentiable(mean, var)
        return out, mean, var

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight, mean, var = ctx.saved_tensors
        shape = [1, -1] + [1] * (rows.ndim - 2)
        scale = torch.rsqrt(var + ctx.eps)
        exact = rows if rows.dtype == torch.float64 else rows.float()
        grad = grads[0].to(exact.dtype)
        unit = (exact - mean.view(shape)) * scale.view(shape)
        sums = torch.stack([grad.sum(ctx.axes), (grad * unit).sum(ctx.axes)])
        total = sums.clone()
        dist.all_reduce(total)
        total /= rows.numel() // rows.shape[1] * world()
        gain = scale if weight is None else scale * weight
        back = (grad - total[0].view(shape) - unit * total[1].view(shape)) * gain.view(shape)
        needs = ctx.needs_input_grad
        return (
            back.to(rows.dtype) if needs[0] else None,
            sums[1].to(weight.dtype) if weight is not None and needs[1] else None,
            sums[0] if needs[2] else None,
            None,
        )
