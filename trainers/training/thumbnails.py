"""Thumbnail sheets: the probe's images in a few WebP files that a browser loads lazily."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor

from trainers.runs import RunFolder
from trainers.runs.records import Probe

COLUMNS = 12
LARGEST_TILE = 96
SMALLEST_TILE = 48  # CIFAR's 32 pixels are enlarged here once, smoothly, rather than by every browser


def write_probe(folder: RunFolder, images: Tensor, **about: Any) -> None:
    """Store the probe and its thumbnails.

    Args:
        images: uint8 ``[P, C, H, W]``.
        about: the other fields of :class:`trainers.runs.records.Probe`.
    """
    tile = max(SMALLEST_TILE, min(LARGEST_TILE, images.shape[-1]))
    folder.write_probe(Probe(tile=tile, columns=COLUMNS, **about), _sheets(images, tile))


def _sheets(images: Tensor, tile: int) -> Iterator[bytes]:
    """Yield encoded sheets of ``COLUMNS`` x ``COLUMNS`` tiles, row-major; the last may be partly empty."""
    for part in images.split(COLUMNS * COLUMNS):
        yield _encode(_grid(part, tile))


def _grid(images: Tensor, tile: int) -> Tensor:
    """Arrange images on a sheet, uint8 ``[3, rows * tile, COLUMNS * tile]``."""
    pixels = images.float()
    if pixels.shape[-1] != tile:
        pixels = F.interpolate(pixels, size=(tile, tile), mode="bicubic", antialias=True).clamp_(0, 255)
    pixels = pixels.round_().to(torch.uint8).expand(-1, 3, -1, -1)
    rows = -(-len(pixels) // COLUMNS)
    grid = torch.zeros(rows * COLUMNS, 3, tile, tile, dtype=torch.uint8)
    grid[: len(pixels)] = pixels
    return grid.reshape(rows, COLUMNS, 3, tile, tile).permute(2, 0, 3, 1, 4).reshape(3, rows * tile, COLUMNS * tile)


def _encode(grid: Tensor) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(grid.permute(1, 2, 0).numpy()).save(buffer, "WEBP", quality=82, method=4)
    return buffer.getvalue()
