"""Small convolutional encoders: Conv4, the default on which every loss learns, and an older one that runs name."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainers.encoders.base import Encoder, EncoderDescriptor
from trainers.parameters import parameter


def strided(inputs: int, outputs: int, stride: int) -> nn.Conv2d:
    """Build a convolution without bias whose kernel leaves no pixel out: 3 x 3, or an odd size from ``stride`` on."""
    kernel = 3 if stride < 3 else stride + 1 - stride % 2
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)


COARSEST = 32
"""Images are brought to about this side by the first convolution's stride."""
WIDER = (1.0, 1.5, 2.0, 3.0)
"""Channels of the four stages, relative to the first."""


@dataclass(frozen=True, kw_only=True)
class Conv4Parameters:
    width: int = parameter(
        32, low=8, high=128, help="Channels of the first convolution; the last has three times as many."
    )


class Conv4(Encoder):
    """Four 3x3 convolutions, each with 2x2 max pooling, batch normalisation and ReLU; then a linear layer whose output
    is normalised over the batch, without scale or shift of its own (Luo et al. 2019, "Bag of Tricks and a Strong
    Baseline for Deep Person Re-identification", section 3.5, without the second feature).

    The last normalisation keeps embeddings apart. Features after a ReLU are positive, so they share a direction, and a
    linear layer keeps it: the mean cosine between images starts at 0.4 to 0.8 and rises to 0.9 within the first steps.
    Losses that compare neighbourhoods or class proxies then can hardly tell images apart. With centred embeddings the
    mean cosine of a batch stays at about 0; a term on the mean cosine, as in the contextual loss, is therefore nearly
    constant.

    Pooling comes before normalisation: the result is the same where the normalisation's scale is positive, at a quarter
    of the cost.
    """

    behind = ("head", "centred")

    def __init__(self, parameters: Conv4Parameters, *, channels: int, side: int, dim: int) -> None:
        super().__init__(mean=(0.5,) * channels, std=(0.25,) * channels)
        stages, inputs = [], channels
        for stage, wider in enumerate(WIDER):
            outputs = round(wider * parameters.width)
            stages.append(_stage(inputs, outputs, stride=max(1, round(side / COARSEST)) if stage == 0 else 1))
            inputs = outputs
        self.body = nn.Sequential(*stages)
        # a coarse grid keeps positions: mean pooling alone confuses mirrored and shifted strokes
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.width = 4 * inputs
        self.head = nn.Linear(self.width, dim, bias=False)
        self.centred = nn.BatchNorm1d(dim, affine=False)

    def forward(self, images: Tensor) -> Tensor:
        return self.centred(self.head(torch.flatten(self.pool(self.body(self.normalise(images))), 1)))


def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        strided(inputs, outputs, stride),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


CONV4 = EncoderDescriptor(
    name="conv4",
    title="Conv-4",
    sentence="Four convolutions and normalised embeddings, trained from scratch; two thousand images a second on two "
    "CPU cores.",
    parameters=Conv4Parameters,
    make=Conv4,
    learning_rate=4e-3,
    order=1,
)


@dataclass(frozen=True, kw_only=True)
class SmallConvParameters:
    width: int = parameter(
        32, low=8, high=128, help="Channels of the first stage; later stages have two and four times as many."
    )


class SmallConv(Encoder):
    """Six 3x3 convolutions in three pairs that halve the side, then a coarse grid of means and a linear layer.

    The first stride brings any image to about 16 pixels (2 at 32 pixels, 4 at 64): the first layers, which learn edges
    anyway, would otherwise take most of the time. At equal time on two cores this scores better than smaller strides.
    """

    def __init__(self, parameters: SmallConvParameters, *, channels: int, side: int, dim: int) -> None:
        width = parameters.width
        super().__init__(mean=(0.5,) * channels, std=(0.25,) * channels)
        self.body = nn.Sequential(
            _conv(channels, width, stride=max(1, round(side / 16))),
            _conv(width, width, stride=1),
            _conv(width, 2 * width, stride=2),
            _conv(2 * width, 2 * width, stride=1),
            _conv(2 * width, 4 * width, stride=2),
            _conv(4 * width, 4 * width, stride=1),
        )
        # a coarse grid keeps positions: mean pooling alone confuses mirrored and shifted strokes
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.width = 4 * width * 4
        self.head = nn.Linear(self.width, dim)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(torch.flatten(self.pool(self.body(self.normalise(images))), 1))


def _conv(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(strided(inputs, outputs, stride), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


SMALL_CONV = EncoderDescriptor(
    name="small_conv",
    title="Small conv net",
    sentence="Six convolutions trained from scratch; on it, losses on neighbourhoods or class proxies learn slowly.",
    parameters=SmallConvParameters,
    make=SmallConv,
    learning_rate=4e-3,
    order=4,
    listed=False,
)


DESCRIPTORS = (CONV4, SMALL_CONV)
