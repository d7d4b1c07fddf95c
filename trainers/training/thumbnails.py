"""Thumbnail sheets: the probe's images in a few WebP files that a browser loads lazily."""

from __future__ import annotations

import io
from collections.abc import Iterator

import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor

COLUMNS = 12
LARGEST_TILE = 96
SMALLEST_TILE = 48  # CIFAR's 32 pixels are enlarged here once, smoothly, rather than by every browser


def tile_size(side: int) -> int:
    """Side in pixels of a thumbnail for images of side ``side``."""
    return max(SMALLEST_TILE, min(LARGEST_TILE, side))


def sheets(images: Tensor, columns: int = COLUMNS, quality: int = 82) -> Iterator[bytes]:
    """Encoded sheets of ``columns`` x ``columns`` tiles, row-major; the last may be partly empty.

    Args:
        images: uint8 ``[P, C, H, W]``.
    """
    tile = tile_size(images.shape[-1])
    for start in range(0, len(images), columns * columns):
        yield _encode(_grid(images[start : start + columns * columns], tile, columns), quality)


def _grid(images: Tensor, tile: int, columns: int) -> Tensor:
    """uint8 ``[3, rows * tile, columns * tile]``."""
    pixels = images.float()
    if pixels.shape[-1] != tile:
        pixels = F.interpolate(pixels, size=(tile, tile), mode="bicubic", antialias=True).clamp_(0, 255)
    pixels = pixels.round_().to(torch.uint8).expand(-1, 3, -1, -1)
    rows = -(-len(pixels) // columns)
    grid = torch.zeros(rows * columns, 3, tile, tile, dtype=torch.uint8)
    grid[: len(pixels)] = pixels
    return grid.reshape(rows, columns, 3, tile, tile).permute(2, 0, 3, 1, 4).reshape(3, rows * tile, columns * tile)


def _encode(grid: Tensor, quality: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(grid.permute(1, 2, 0).numpy()).save(buffer, "WEBP", quality=quality, method=4)
    return buffer.getvalue()
