"""Folds batch norms into the convolutions before them, for faster evaluation of an encoder."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d
Norm = nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


@torch.no_grad()
def folded(module: nn.Module) -> nn.Module:
    """Copy a module in evaluation mode, folded: the same values, up to rounding, in less time; the module stays as it
    is.

    Convolutions directly followed by their batch norm in an :class:`torch.nn.Sequential` are folded: both are affine at
    evaluation, so one convolution with other weights does their work. Everything else is left alone and shares its
    weights with the module. The copy holds the current weights: it is made anew for every evaluation, which takes about
    2 ms for the small net.

    Frozen encoders (``module.frozen``) have nothing to fold in the part that is run again and again.
    """
    tensors = [*module.parameters(), *module.buffers()]
    twin = copy.deepcopy(module, {id(tensor): tensor for tensor in tensors})
    twin.eval()
    if not getattr(module, "frozen", False):
        for part in list(twin.modules()):
            if type(part) is nn.Sequential:
                _fold_pairs(part)
    return twin


def _fold_pairs(row: nn.Sequential) -> None:
    for index in range(len(row) - 1):
        first, second = row[index], row[index + 1]
        if isinstance(first, _CONVOLUTIONS) and isinstance(second, _NORMS) and _foldable(first, second):
            whole = _whole(first, second)
            row[index], row[index + 1] = whole, nn.Identity()


def _whole(convolution: Convolution, norm: Norm) -> nn.Module:
    """Fold a convolution and the norm that follows it into one convolution."""
    joined = copy.copy(convolution)
    joined._parameters = dict(convolution._parameters)
    assert norm.running_mean is not None and norm.running_var is not None  # see _foldable
    joined.weight, joined.bias = fuse_conv_bn_weights(
        convolution.weight, convolution.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
    )
    if joined.weight.device.type == "cpu":  # a tenth faster than channels last there, without a backward pass
        joined.weight.data = joined.weight.data.contiguous()
    return joined


def _foldable(convolution: Convolution, norm: Norm) -> bool:
    """Return whether both are torch's own classes, the norm uses running statistics, and neither has a forward hook."""
    if type(convolution) not in _CONVOLUTIONS or type(norm) not in _NORMS:
        return False
    watched = any(part._forward_hooks or part._forward_pre_hooks for part in (convolution, norm))
    return norm.running_mean is not None and not watched
