"""Encoders in evaluation mode: run over many images, with batch norms folded into convolutions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

from trainers.data.pixel_range import PixelRange
from trainers.devices.host import send
from trainers.devices.precision import autocast
from trainers.distributed.gather import joined, spread
from trainers.distributed.group import world
from trainers.encoders.base import Encoder
from trainers.errors import RunError
from trainers.progress import Progress, silent
from trainers.training.evaluation import arriving

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


CPU_BATCH = 128  # images at a time; more exceed the caches and take a sixth longer with the small net
DEVICE_BATCH = 512  # on a GPU, which is faster with larger batches


def embed(
    encoder: nn.Module,
    images: Tensor,
    device: torch.device,
    progress: Callable[[int], None] = lambda _done: None,
    *,
    unit: bool = True,
) -> Tensor:
    """Embed images as float32 ``[N, D]`` on the CPU; the encoder stays as it is.

    Args:
        images: uint8 ``[N, C, H, W]``, float ones in 0..1, or frozen features ``[N, F]``.
        progress: told how many are done; it may raise to give up.
        unit: scale rows to length one.
    """
    parts, done = [], 0
    for part in arriving(embedded(folded(encoder), images, device, unit=unit)):
        parts.append(part)
        done += len(part)
        progress(done)
    return torch.cat(parts)


@torch.inference_mode()
def embedded(encoder: nn.Module, images: Tensor, device: torch.device, *, unit: bool = True) -> Iterator[Tensor]:
    """Yield embeddings float32 ``[n, D]`` on the device, batch by batch; the host waits for none of them.

    Several processes that train one run must all call it; each embeds its share.
    """
    rows = (CPU_BATCH if device.type == "cpu" else DEVICE_BATCH) * world()
    for start in range(0, len(images), rows):
        whole = images[start : start + rows]
        part = send(spread(whole), device)
        pixels = part.float().div_(255) if part.dtype == torch.uint8 else part.float()
        if pixels.ndim == 4 and device.type != "cpu":
            pixels = pixels.contiguous(memory_format=torch.channels_last)
        with autocast(device):
            raw = encoder(pixels)
        every = joined(raw.float(), len(whole))
        yield F.normalize(every, dim=1) if unit else every


FEATURE_BATCH = 64
_FEATURES_ON_CPU = 16
"""Images at a time on a CPU: the maps of more are memory that is asked of the system anew in every layer."""


@torch.inference_mode()
def compute_features(
    encoder: Encoder, images: Tensor, device: torch.device, progress: Progress, dtype: torch.dtype = torch.float16
) -> Tensor:
    """Compute what a frozen encoder's head is trained on, or the embeddings of another encoder: ``[N, F]`` on the CPU.

    Args:
        encoder: on the device; it is put into evaluation mode.
        images: uint8 ``[N, C, H, W]``.
        progress: told in words and as a fraction; it may raise to give up.
        dtype: of the features.
    """
    encoder.eval().to(memory_format=torch.channels_last)
    size = _FEATURES_ON_CPU if device.type == "cpu" else FEATURE_BATCH

    def computed() -> Iterator[Tensor]:
        for start in range(0, len(images), size):
            progress(f"computing frozen features of {len(images):,} images", start / len(images))
            pixels = send(images[start : start + size], device).float().div_(255)
            yield (encoder.features if encoder.frozen else encoder)(pixels).to(dtype)

    return torch.cat(list(arriving(computed())))


@dataclass(frozen=True, kw_only=True)
class ImageEncoder:
    """Embeds images as the evaluation of a run does.

    Attributes:
        run, arm: where its weights come from; of a file or a model its name, and 0.
        step: of the checkpoint; 0: not known.
        channels, side: of the images that it was trained on.
        digest: of its weights, hexadecimal.
        pixel_range: the values that are black and white in images of more than 8 bits, as it was trained; None: it was
            trained on none.
        network: in evaluation mode; from pixels 0..1 to raw embeddings.
        device: where it is.
    """

    run: str
    arm: int
    step: int
    channels: int
    side: int
    digest: str
    network: nn.Module
    device: torch.device
    pixel_range: PixelRange | None = None

    def embed(self, images: Tensor, progress: Progress = silent) -> Tensor:
        """Embed images uint8 ``[N, C, H, W]`` as unit rows float32 ``[N, D]`` on the CPU.

        Raises:
            RunError: some are not finite numbers: training diverged.
        """
        count = len(images)
        vectors = embed(
            self.network, images, self.device, lambda done: progress(f"embedding {done:,} of {count:,}", done / count)
        )
        if not torch.isfinite(vectors).all():
            raise RunError(
                f"Arm {self.arm} of run {self.run} does not embed images as finite numbers: its training diverged."
            )
        return vectors


@dataclass(frozen=True, kw_only=True)
class Encoders:
    """Encoders that belong together: the arms of a run, or one alone.

    Attributes:
        id: of the run; else the name of the file or model.
        titles: one each.
        data: the images that they were trained on, a :class:`trainers.config.DataChoice` or
            :class:`trainers.config.SceneChoice`; None: not known.
        read: loads the encoder of a number; it raises UserError where it cannot be had.
    """

    id: str
    titles: tuple[str, ...]
    data: Any = None
    read: Callable[[int], ImageEncoder]
