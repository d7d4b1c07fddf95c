"""Activation checkpointing: encoders that keep fewer activations, and compute the others again in the backward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from trainers.distributed.group import world
from trainers.distributed.statistics import whole_statistics
from trainers.encoders import Encoder
from trainers.training.gradient_caching import buffers_kept


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
