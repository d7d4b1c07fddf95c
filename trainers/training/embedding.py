"""Runs an encoder over many images in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from trainers.devices.host import send
from trainers.devices.precision import autocast
from trainers.distributed.group import world
from trainers.distributed.whole import joined, spread
from trainers.training.deferred import arriving
from trainers.training.folding import folded

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
