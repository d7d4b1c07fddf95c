"""Blurs, shifts and smooth random fields on batches, which several corruptions are made of."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from trainers.data.corruptions.base import Draws


def convolve(images: Tensor, kernel: Tensor) -> Tensor:
    """Convolve every channel of ``[B, C, H, W]`` with one odd kernel ``[h, w]``; the border is continued."""
    channels = images.shape[1]
    margin = kernel.shape[1] // 2, kernel.shape[1] // 2, kernel.shape[0] // 2, kernel.shape[0] // 2
    weight = kernel.to(images)[None, None].expand(channels, 1, -1, -1)
    return functional.conv2d(functional.pad(images, margin, mode="replicate"), weight, groups=channels)


def bell(sigma: float) -> Tensor:
    """Return a Gaussian of standard deviation ``sigma`` pixels, cut at four of them: ``[n]``, of sum one."""
    reach = max(1, math.ceil(4 * sigma))
    position = torch.arange(-reach, reach + 1)
    weight = torch.exp(-0.5 * (position / max(sigma, 1e-3)) ** 2)
    return weight / weight.sum()


def gaussian_blur(images: Tensor, sigma: float) -> Tensor:
    """Blur ``[B, C, H, W]``, rows and columns one after the other."""
    weight = bell(sigma)
    return convolve(convolve(images, weight[None]), weight[:, None])


def sample(images: Tensor, offset: Tensor, *, mode: str = "bilinear") -> Tensor:
    """Take each pixel from elsewhere in its image; the border is continued.

    Args:
        images: ``[B, C, H, W]``.
        offset: ``[B, H, W, 2]`` or broadcastable to it, to the right and down in pixels.
        mode: ``bilinear`` or ``nearest``.
    """
    count, _, height, width = images.shape
    rows = torch.arange(height, device=images.device) + 0.5
    columns = torch.arange(width, device=images.device) + 0.5
    position = torch.stack([columns[None].expand(height, -1), rows[:, None].expand(-1, width)], 2) + offset
    grid = position * (2 / torch.tensor([width, height], device=images.device)) - 1
    grid = grid.expand(count, -1, -1, -1)
    return functional.grid_sample(images, grid, mode=mode, padding_mode="border", align_corners=False)


def zoom(images: Tensor, factor: float) -> Tensor:
    """Enlarge the middle of ``[B, C, H, W]``."""
    theta = torch.eye(2, 3, device=images.device)[None] / factor
    grid = functional.affine_grid(theta.expand(len(images), -1, -1), list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def motion_blur(images: Tensor, radius: float, sigma: float, angle: Tensor) -> Tensor:
    """Blur along a line that begins at each pixel, with weights that fall like a Gaussian.

    Args:
        images: ``[B, C, H, W]``.
        radius: half the length of the line, pixels; sigma: of the weights, pixels.
        angle: ``[B]``, of the line, degrees.
    """
    steps = torch.arange(2 * math.ceil(radius) + 1)
    weight = torch.exp(-0.5 * (steps / max(sigma, 1e-3)) ** 2)
    shares: list[float] = (weight / weight.sum()).tolist()
    turn = torch.deg2rad(angle)
    along = torch.stack([turn.cos(), turn.sin()], 1)[:, None, None]
    total = torch.zeros_like(images)
    for step, share in enumerate(shares):
        if share > 1e-4:  # less is below the rounding of a byte
            total += share * sample(images, along * step)
    return total / sum(share for share in shares if share > 1e-4)


def field(draws: Draws, count: int, height: int, width: int, cells: int) -> Tensor:
    """Draw a smooth random field: normal numbers on a grid of about ``cells`` by ``cells``, interpolated.

    Returns:
        ``[count, 1, height, width]`` of mean about 0 and standard deviation 1 for each image.
    """
    rows, columns = (max(2, min(size, cells)) for size in (height, width))
    grid = draws.normal(count, 1, rows, columns)
    values = functional.interpolate(grid, (height, width), mode="bicubic", align_corners=False)
    return values / values.std((2, 3), correction=0, keepdim=True).clamp(min=1e-6)


def plasma(draws: Draws, count: int, height: int, width: int, decay: float) -> Tensor:
    """Draw clouds: octaves of value noise, each twice as fine as the one before and ``decay`` times as weak.

    Returns:
        ``[count, 1, height, width]`` from 0 to 1 in each image.
    """
    octaves = max(1, math.ceil(math.log2(max(height, width))))
    total = torch.zeros(count, 1, height, width, device=draws.generator.device)
    for octave in range(1, octaves + 1):
        cells = 2**octave + 1
        grid = draws.uniform(count, 1, cells, cells)
        smooth = functional.interpolate(grid, (height, width), mode="bilinear", align_corners=True)
        total += smooth * decay ** (1 - octave)
    low, high = total.amin((2, 3), keepdim=True), total.amax((2, 3), keepdim=True)
    return (total - low) / (high - low).clamp(min=1e-6)


def grey(images: Tensor) -> Tensor:
    """Return the luma (BT.601) ``[B, 1, H, W]`` of ``[B, 1 or 3, H, W]``."""
    if images.shape[1] == 1:
        return images
    weight = images.new_tensor([0.299, 0.587, 0.114])
    return torch.einsum("bchw,c->bhw", images, weight)[:, None]
