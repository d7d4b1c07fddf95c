"""Batches beyond memory: encoders called on chunks of a batch, and activations that are computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from trainers.distributed.gather import whole_statistics
from trainers.distributed.group import world
from trainers.encoders import Encoder

Encode = Callable[[Tensor], Tensor]
_SMALLEST = 2  # of one image there are no batch statistics


class Chunked:
    """Calls ``encode`` on chunks of a batch; the gradient is that of the same chunks encoded at once.

    Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup": a first pass without a
    graph gives all embeddings; in the backward pass every chunk is encoded again, with the same random numbers, and
    receives the gradient of its rows. What a layer keeps in buffers, such as running statistics, follows the first pass
    alone. In evaluation, and where a batch is no larger than a chunk, it is ``encode``.

    Args:
        net: whose method ``encode`` is; nothing but weights and buffers of it may matter to ``encode``.
        encode: from ``[N, ...]``, which gets no gradient, to ``[N, D]``.
        size: most images of a chunk.
    """

    def __init__(self, net: nn.Module, encode: Encode, size: int) -> None:
        self.net, self.encode, self.size = net, encode, size

    def __call__(self, inputs: Tensor) -> Tensor:
        """Encode a batch."""
        if not self.net.training or chunks(len(inputs), self.size) == 1:
            return self.encode(inputs)
        if torch.is_grad_enabled() and any(weight.requires_grad for weight in self.net.parameters()):
            replayed: Tensor = _Replayed.apply(torch.zeros((), requires_grad=True), inputs, self)
            return replayed
        return _joined([self.encode(part) for part in self.parts(inputs)])

    def parts(self, inputs: Tensor) -> Iterator[Tensor]:
        """Yield the chunks: of k, row n is in chunk n mod k, so that a class is spread over all of them."""
        count = chunks(len(inputs), self.size)
        channels_last = inputs.ndim == 4 and inputs.is_contiguous(memory_format=torch.channels_last)
        layout = torch.channels_last if channels_last else torch.contiguous_format
        for number in range(count):
            yield inputs[number::count].contiguous(memory_format=layout)


def chunks(images: int, size: int | None) -> int:
    """Count the chunks of at most ``size`` images that so many make; none is of a single image."""
    return max(1, min(-(-images // size), images // _SMALLEST)) if size else 1


def encode_in_chunks(net: nn.Module, size: int | None) -> None:
    """Have what ``net`` names in ``encodes``, itself or in its parts, take batches in chunks; None or 0: none."""
    if not size:
        return
    for part in net.modules():
        for name in getattr(part, "encodes", ()):
            vars(part)[name] = Chunked(part, getattr(part, name), size)


class _Replayed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, _trigger: Tensor, inputs: Tensor, chunked: Chunked) -> Tensor:
        ctx.save_for_backward(inputs)
        ctx.chunked, ctx.draws = chunked, []
        kind = ctx.device = inputs.device.type
        ctx.autocast = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
        outputs = []
        for part in chunked.parts(inputs):
            ctx.draws.append(_draws(inputs.device))
            outputs.append(chunked.encode(part))
        return _joined(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, None]:
        (inputs,) = ctx.saved_tensors
        enabled, dtype = ctx.autocast
        now = _draws(inputs.device)
        with buffers_kept([ctx.chunked.net]), torch.enable_grad(), whole_statistics():
            for number, (part, draws) in enumerate(zip(ctx.chunked.parts(inputs), ctx.draws, strict=True)):
                _draw_from(draws, inputs.device)
                with torch.autocast(ctx.device, dtype, enabled=enabled):
                    output = ctx.chunked.encode(part)
                output.backward(grads[0][number :: len(ctx.draws)])
        _draw_from(now, inputs.device)
        return None, None, None


def _joined(outputs: list[Tensor]) -> Tensor:
    whole = outputs[0].new_empty(sum(map(len, outputs)), *outputs[0].shape[1:])
    for number, output in enumerate(outputs):
        whole[number :: len(outputs)] = output
    return whole


def _draws(device: torch.device) -> tuple[Tensor, Tensor | None]:
    """Return where the random numbers of the host and of the device stand."""
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


def _draw_from(draws: tuple[Tensor, Tensor | None], device: torch.device) -> None:
    torch.set_rng_state(draws[0])
    if draws[1] is not None:
        torch.cuda.set_rng_state(draws[1], device)


@contextmanager
def buffers_kept(nets: Sequence[nn.Module]) -> Iterator[None]:
    """Leave buffers as they are, such as running statistics, whatever is computed inside the block."""
    buffers = [buffer for net in nets for buffer in net.buffers()]
    kept = [buffer.clone() for buffer in buffers]
    yield
    with torch.no_grad():
        for buffer, before in zip(buffers, kept, strict=True):
            buffer.copy_(before)


def checkpointed(net: nn.Module) -> list[Encoder]:
    """Have the encoders in ``net`` keep fewer activations, and return them."""
    encoders = [part for part in net.modules() if isinstance(part, Encoder) and part.keep_fewer_activations()]
    if world() > 1:
        for layer in (layer for encoder in encoders for layer in encoder.modules() if isinstance(layer, _BatchNorm)):
            _take_whole_statistics(layer)
    return encoders


@contextmanager
def computed_again(encoders: Sequence[Encoder]) -> Iterator[None]:
    """Within it, a backward pass through ``encoders`` computes what they did not keep without moving running statistics
    a second time.
    """
    with buffers_kept(encoders):
        yield


def _take_whole_statistics(layer: nn.Module) -> None:
    """Have a layer itself enter :func:`whole_statistics`: torch leaves such modes before a backward pass begins."""
    kind = type(layer)

    def forward(self: nn.Module, rows: Tensor) -> Tensor:
        with whole_statistics():
            out: Tensor = kind.forward(self, rows)
        return out

    layer.__class__ = type(kind.__name__, (kind,), {"forward": forward})
