"""The convolution of the small encoders."""

from __future__ import annotations

from torch import nn


def strided(inputs: int, outputs: int, stride: int) -> nn.Conv2d:
    """Build a convolution without bias whose kernel leaves no pixel out: 3 x 3, or an odd size from ``stride`` on."""
    kernel = 3 if stride < 3 else stride + 1 - stride % 2
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)
