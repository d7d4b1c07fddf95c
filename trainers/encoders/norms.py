"""Other normalisation layers in place of an encoder's batch normalisations."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.backends import cudnn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from trainers.distributed.gather import gathered
from trainers.distributed.group import world
from trainers.errors import UserError

_MOST_GROUPS = 32  # Wu and He 2018, "Group Normalization"


class SplitBatchNorm(_BatchNorm):
    """Batch normalisation of ``splits`` groups, each by its own statistics, as if each lay on a device of its own.

    Image n belongs to group n mod ``splits``; a batch that they do not divide makes groups whose sizes differ by one.
    There are never more groups than half the images. The running statistics take the mean over the groups. In
    evaluation it is plain batch normalisation, with the same weights.

    Layers inside a batch normalisation, as timm's dropout and activation are, come after it here too.
    """

    def __init__(self, like: _BatchNorm, splits: int) -> None:
        super().__init__(like.num_features, like.eps, like.momentum, like.affine, like.track_running_stats)
        self.load_state_dict(like.state_dict(), assign=True)
        self.splits = splits
        for name, part in like.named_children():
            self.add_module(name, part)

    def _check_input_dim(self, input: Tensor) -> None:
        pass

    def forward(self, input: Tensor) -> Tensor:
        """Normalise ``[N, C, ...]``."""
        out = self._normalised(input)
        for part in self.children():
            out = part(out)
        return out

    def _normalised(self, input: Tensor) -> Tensor:
        if not self.training:
            return super().forward(input)
        splits = self._own_splits(len(input))
        if splits < 2 and world() == 1:
            return super().forward(input)
        if len(input) % splits:
            return self._unequal(input, splits)
        wide = input.reshape(len(input) // splits, splits * self.num_features, *input.shape[2:])
        mean, var = self._running(splits)
        weight, bias = (None if part is None else part.repeat(splits) for part in (self.weight, self.bias))
        out = torch.batch_norm(wide, weight, bias, mean, var, True, self._rate(), self.eps, cudnn.enabled)
        self._remember(mean, var)
        return out.reshape(input.shape)

    def _own_splits(self, images: int) -> int:
        """Count the groups of this process's images: image n of the batch is in process n mod W and group n mod
        ``splits``, so that each process has whole groups where W divides ``splits``.

        Raises:
            UserError: it does not, or the groups do not divide the batch.
        """
        splits = min(self.splits, images * world() // 2)
        local = splits // world()
        if world() > 1 and (splits % world() or images % local):
            raise UserError(
                f"{splits} groups of batch normalisation over {world()} processes with {images} images each: the "
                "processes must divide the groups, and the groups the batch. Change splits, the batch, or the number "
                "of processes."
            )
        return local

    def _unequal(self, images: Tensor, splits: int) -> Tensor:
        mean, var = self._running(splits)
        out = torch.empty_like(images)
        for part in range(splits):
            its_mean = None if mean is None else mean.chunk(splits)[part]
            its_var = None if var is None else var.chunk(splits)[part]
            out[part::splits] = functional.batch_norm(
                images[part::splits], its_mean, its_var, self.weight, self.bias, True, self._rate(), self.eps
            )
        self._remember(mean, var)
        return out

    def _rate(self) -> float:
        if self.momentum is None and self.num_batches_tracked is not None:
            return 1 / (1 + int(self.num_batches_tracked))  # a mean over all batches so far
        return self.momentum or 0.0

    def _running(self, splits: int) -> tuple[Tensor | None, Tensor | None]:
        if self.running_mean is None or self.running_var is None:
            return None, None
        return self.running_mean.repeat(splits), self.running_var.repeat(splits)

    @torch.no_grad()
    def _remember(self, mean: Tensor | None, var: Tensor | None) -> None:
        if mean is None or var is None or self.running_mean is None or self.running_var is None:
            return
        both = torch.stack([mean.reshape(-1, self.num_features).mean(0), var.reshape(-1, self.num_features).mean(0)])
        if world() > 1:
            both = gathered(both).mean(0)
        self.running_mean.copy_(both[0])
        self.running_var.copy_(both[1])
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)


def replace_norms(net: nn.Module, norm: str, splits: int = 8) -> nn.Module:
    """Replace every batch normalisation of ``net``; its other layers are the same objects.

    Args:
        norm: one of :data:`trainers.config.NORMS`: ``batch`` changes nothing, ``split`` is
            :class:`SplitBatchNorm`, ``group`` has at most 32 groups of channels, ``layer`` one. A normalisation of
            vectors, not maps, gets one group: 32 groups of 32 numbers would leave nothing of them.
        splits: groups of ``split``.
    """
    if norm == "batch":
        return net
    if isinstance(net, _BatchNorm):
        return _other_norm(net, norm, splits)
    for name, part in net.named_children():
        setattr(net, name, replace_norms(part, norm, splits))
    return net


def _other_norm(layer: _BatchNorm, norm: str, splits: int) -> nn.Module:
    if norm == "split":
        return SplitBatchNorm(layer, splits)
    maps = not isinstance(layer, nn.BatchNorm1d)
    groups = math.gcd(layer.num_features, _MOST_GROUPS) if norm == "group" and maps else 1
    new = nn.GroupNorm(groups, layer.num_features, eps=layer.eps, affine=layer.affine)
    return nn.Sequential(new, *layer.children()) if list(layer.children()) else new
