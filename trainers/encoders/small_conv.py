"""A small convolutional network trained from scratch: the default, quick enough for two CPU cores."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainers.encoders.base import Encoder, EncoderDescriptor
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class SmallConvParameters:
    width: int = parameter(
        32, low=8, high=128, help="Channels of the first stage; each later stage doubles them up to four times this."
    )


class SmallConv(Encoder):
    """Four stages of two 3x3 convolutions, halving the side each time, then mean pooling and a linear layer.

    The first convolution strides, so that a 64-pixel image costs what a 32-pixel one would: most of the time would
    otherwise go into the first layer, which learns edges either way.
    """

    def __init__(self, channels: int, dim: int, width: int) -> None:
        super().__init__(mean=(0.5,) * channels, std=(0.25,) * channels)
        widths = (width, 2 * width, 4 * width, 4 * width)
        self.stem = _conv(channels, width, stride=2)
        self.body = nn.Sequential(
            _conv(width, widths[0], stride=1),
            _conv(widths[0], widths[1], stride=2),
            _conv(widths[1], widths[1], stride=1),
            _conv(widths[1], widths[2], stride=2),
            _conv(widths[2], widths[3], stride=1),
        )
        # a coarse grid keeps where things are: mean pooling alone confuses mirrored and moved strokes
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.head = nn.Linear(widths[3] * 4, dim)

    def forward(self, images: Tensor) -> Tensor:
        """See :class:`Encoder`."""
        return self.head(torch.flatten(self.pool(self.body(self.stem(self.normalise(images)))), 1))


def _conv(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


def _make(parameters: SmallConvParameters, *, channels: int, dim: int) -> SmallConv:
    return SmallConv(channels, dim, parameters.width)


DESCRIPTOR = EncoderDescriptor(
    name="small_conv",
    title="Small conv net",
    sentence="Six convolutions trained from scratch; hundreds of images a second on two CPU cores.",
    parameters=SmallConvParameters,
    make=_make,
    learning_rate=2e-3,
    order=1,
)
