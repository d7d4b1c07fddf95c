"""The augmentations of papers: SimCLR, MoCo, MoCo v2, and what linear classifiers on frozen encoders are trained on."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.parameters import parameter
from trainers.training.augmentations._operations import (
    Jitter,
    flip,
    grey,
    in_pieces,
    random_blur,
    random_crop,
    random_jitter,
)
from trainers.training.augmentations.base import COLOUR, AugmentationDescriptor, Change, Draws, unit

SIMCLR_JITTER = 0.8


@dataclass(frozen=True, kw_only=True)
class SimclrParameters:
    """The strength of the augmentation."""

    strength: float = parameter(
        1.0, low=0.0, high=2.0, help="s of the paper: jitter of 0.8 s, and 0.2 s for the hue; 0.5 for CIFAR."
    )
    smallest: float = parameter(0.08, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")
    grey: float = parameter(0.2, low=0.0, high=1.0, help="Probability that an image loses its colour.")
    blur: float = parameter(
        0.5, low=0.0, high=1.0, help="Probability of a blur by 0.1 to 2 pixels; the paper has none on CIFAR."
    )


def _simclr(parameters: SimclrParameters, channels: int) -> Change:
    jitter = Jitter(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2, strength=parameters.strength)

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        if channels == COLOUR:
            pixels = flip(pixels, draws.chosen(0.5))
            pixels = random_jitter(pixels, draws, jitter, SIMCLR_JITTER)
            pixels = grey(pixels, draws.chosen(parameters.grey))
        return random_blur(pixels, draws, parameters.blur)

    return in_pieces(change)


SIMCLR = AugmentationDescriptor(
    name="simclr",
    title="SimCLR",
    sentence="Small resized crops, mirror, the strongest colour jitter, grey and blur.",
    paper="A Simple Framework for Contrastive Learning of Visual Representations, Chen et al., ICML 2020",
    parameters=SimclrParameters,
    make=_simclr,
    order=12,
)


@dataclass(frozen=True, kw_only=True)
class MocoV1Parameters:
    """The strength of the augmentation."""

    strength: float = parameter(1.0, low=0.0, high=2.0, help="Multiplies the colour jitter; 1 is the paper's.")
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")
    grey: float = parameter(0.2, low=0.0, high=1.0, help="Probability that an image loses its colour.")


def _moco_v1(parameters: MocoV1Parameters, channels: int) -> Change:
    jitter = Jitter(strength=parameters.strength)

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        if channels != COLOUR:
            return pixels
        pixels = grey(pixels, draws.chosen(parameters.grey))
        pixels = random_jitter(pixels, draws, jitter)
        return flip(pixels, draws.chosen(0.5))

    return in_pieces(change)


MOCO_V1 = AugmentationDescriptor(
    name="moco_v1",
    title="MoCo v1",
    sentence="Resized crop, grey, strong colour jitter and mirror.",
    paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR 2020",
    parameters=MocoV1Parameters,
    make=_moco_v1,
    order=10,
)


JITTER_PROBABILITY = 0.8


@dataclass(frozen=True, kw_only=True)
class MocoV2Parameters:
    """The strength of the augmentation."""

    strength: float = parameter(1.0, low=0.0, high=2.0, help="Multiplies the colour jitter; 1 is the paper's.")
    smallest: float = parameter(0.2, low=0.01, high=1.0, help="Share of the area that the smallest crop has.")
    grey: float = parameter(0.2, low=0.0, high=1.0, help="Probability that an image loses its colour.")
    blur: float = parameter(
        0.5, low=0.0, high=1.0, help="Probability of a blur by 0.1 to 2 pixels; use 0 for images of 32 pixels or less."
    )


def _moco_v2(parameters: MocoV2Parameters, channels: int) -> Change:
    jitter = Jitter(hue=0.1, strength=parameters.strength)

    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        if channels == COLOUR:
            pixels = random_jitter(pixels, draws, jitter, JITTER_PROBABILITY)
            pixels = grey(pixels, draws.chosen(parameters.grey))
            pixels = flip(pixels, draws.chosen(0.5))
        return random_blur(pixels, draws, parameters.blur)

    return in_pieces(change)


MOCO_V2 = AugmentationDescriptor(
    name="moco_v2",
    title="MoCo v2",
    sentence="Resized crop, colour jitter, grey, blur and mirror.",
    paper="Improved Baselines with Momentum Contrastive Learning, Chen et al., 2020",
    parameters=MocoV2Parameters,
    make=_moco_v2,
    order=11,
)


@dataclass(frozen=True, kw_only=True)
class CropFlipParameters:
    """The size of the crops."""

    smallest: float = parameter(
        0.2,
        low=0.01,
        high=1.0,
        help="Share of the area that the smallest crop has: 0.2 in SupCon's code for CIFAR, 0.08 in MoCo's for "
        "ImageNet.",
    )


def _crop_flip(parameters: CropFlipParameters, channels: int) -> Change:
    def change(images: Tensor, draws: Draws) -> Tensor:
        pixels = random_crop(unit(images), draws, parameters.smallest)
        return flip(pixels, draws.chosen(0.5)) if channels == COLOUR else pixels

    return in_pieces(change)


CROP_FLIP = AugmentationDescriptor(
    name="crop_flip",
    title="Crop and flip",
    sentence="Resized crop and mirror, as linear classifiers on frozen encoders are trained.",
    paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR 2020 (linear "
    "classification)",
    parameters=CropFlipParameters,
    make=_crop_flip,
    order=2,
)


DESCRIPTORS = (SIMCLR, MOCO_V1, MOCO_V2, CROP_FLIP)
