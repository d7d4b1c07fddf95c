"""Rows of a batch that are spread over the processes, gathered; and the gradients that follow from them, added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from trainers.distributed.group import rank, world


class Whole(torch.autograd.Function):
    """Gathers rows; of the gradient each process keeps those of its own rows, for each has the whole loss."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        """Return ``[W * b, ...]`` from ``[b, ...]``: row n is of process n mod W."""
        return _interleaved(part)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Return the rows of this process."""
        return grads[0][rank() :: world()].contiguous()


def whole(part: Tensor) -> Tensor:
    """Return the rows of all processes in the order of one: row n is of process n mod W. Each gives equally many.

    A gradient of a loss that every process computes alike comes back through it.
    """
    every: Tensor = part if world() == 1 else Whole.apply(part)
    return every


def spread(images: Tensor) -> Tensor:
    """Return this process's rows of images that are evaluated: n with n mod W = rank, the last ones again if they are
    too few; :func:`joined` puts the results together.
    """
    processes = world()
    if processes == 1:
        return images
    missing = -len(images) % processes
    rows = torch.arange(len(images) + missing).clamp_(max=len(images) - 1)[rank() :: processes]
    return images[rows.to(images.device)]


def joined(part: Tensor, count: int) -> Tensor:
    """Return the results of ``count`` rows from those of :func:`spread`."""
    return part if world() == 1 else _interleaved(part)[:count]


def add_gradients(summed: Iterable[nn.Parameter], equal: Iterable[nn.Parameter] = ()) -> None:
    """Add the gradients of all processes, in one message for each type of number.

    Args:
        summed: weights whose gradient in each process follows from its own rows.
        equal: weights whose whole gradient every process has, such as proxies; its mean is taken, lest they drift.
    """
    if world() == 1:
        return
    parts: dict[torch.dtype, list[Tensor]] = {}
    for weights, factor in ((summed, 1.0), (equal, 1 / world())):
        for weight in weights:
            if weight.grad is not None:
                if factor != 1:
                    weight.grad.mul_(factor)
                parts.setdefault(weight.grad.dtype, []).append(weight.grad)
    for grads in parts.values():
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        dist.all_reduce(flat)
        for grad, total in zip(grads, flat.split([grad.numel() for grad in grads]), strict=True):
            grad.copy_(total.view(grad.shape))


def gathered(part: Tensor) -> Tensor:
    """Return ``[W, b, ...]`` from the ``[b, ...]`` of every process."""
    out = part.new_empty(world() * len(part), *part.shape[1:])
    dist.all_gather_into_tensor(out, part.contiguous())
    return out.unflatten(0, (world(), -1))


def _interleaved(part: Tensor) -> Tensor:
    return gathered(part).transpose(0, 1).flatten(0, 1)


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


@contextmanager
def own_draws(device: torch.device) -> Iterator[None]:
    """Have dropout and the like draw other numbers in each process; what is drawn afterwards is the same in all."""
    if world() == 1:
        yield
        return
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed((torch.initial_seed() * world() + rank() + 1) % 2**63)
        yield
