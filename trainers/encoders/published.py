"""Models of timm with published weights that are offered by name, and the one whose weights are at hand.

Models of timm with published weights that are offered by name; any other name of timm's may be written as well.

Sizes are those that timm counts for the model without its classifier, operations those of one image of the published
side; ``tests/contracts/test_encoders.py`` counts both again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from trainers.data.reachable import away, reachable
from trainers.parameters import Choice, Proposal


@dataclass(frozen=True, kw_only=True)
class Published:
    """A model with published weights.

    Attributes:
        name: timm's, with the tag of the weights.
        family: of its training.
        title: its architecture, in short.
        millions: of weights.
        gmacs: billions of multiply-adds an image.
        side: of that image, pixels.
        licence: of the weights, as timm states it.
    """

    name: str
    family: str
    title: str
    millions: float
    gmacs: float
    side: int
    licence: str

    @property
    def facts(self) -> str:
        """What one wants to know before choosing it."""
        size = f"{self.millions:g} M weights, {self.gmacs:g} GMACs an image of {self.side} px"
        return f"{self.title}: {size}, {self.licence}"

    def missing(self) -> str | None:
        """Return why its weights cannot be had now; None: they are here, or can be fetched."""
        return None if cached(self.name) else away()


def _family(name: str, *rows: tuple[str, str, float, float, int, str]) -> tuple[Published, ...]:
    return tuple(
        Published(name=model, family=name, title=title, millions=size, gmacs=macs, side=side, licence=licence)
        for model, title, size, macs, side, licence in rows
    )


_APACHE, _DINOV3, _NO_COMMERCE = "apache-2.0", "dinov3-license", "cc-by-nc-4.0"
PUBLISHED = (
    *_family(
        "DINOv2",
        ("vit_small_patch14_dinov2.lvd142m", "ViT-S/14", 22.1, 46.7, 518, _APACHE),
        ("vit_base_patch14_dinov2.lvd142m", "ViT-B/14", 86.6, 151.6, 518, _APACHE),
    ),
    *_family(
        "DINOv3",
        ("vit_small_patch16_dinov3.lvd1689m", "ViT-S/16", 21.6, 6.2, 256, _DINOV3),
        ("vit_base_patch16_dinov3.lvd1689m", "ViT-B/16", 85.6, 23.6, 256, _DINOV3),
        ("convnext_tiny.dinov3_lvd1689m", "ConvNeXt-T", 27.8, 4.5, 224, _DINOV3),
    ),
    *_family(
        "SigLIP 2",
        ("vit_base_patch32_siglip_256.v2_webli", "ViT-B/32", 94.6, 5.7, 256, _APACHE),
        ("vit_base_patch16_siglip_224.v2_webli", "ViT-B/16", 92.9, 17.7, 224, _APACHE),
    ),
    *_family(
        "CLIP and MetaCLIP",
        ("vit_base_patch32_clip_224.laion2b", "ViT-B/32, LAION-2B", 87.5, 4.4, 224, _APACHE),
        ("vit_base_patch16_clip_224.openai", "ViT-B/16, OpenAI", 85.8, 17.6, 224, _APACHE),
        ("vit_huge_patch14_clip_224.metaclip2_worldwide", "ViT-H/14, MetaCLIP 2", 630.8, 167.3, 224, _NO_COMMERCE),
    ),
    *_family(
        "Perception Encoder",
        ("vit_pe_core_tiny_patch16_384.fb", "PE-core T/16", 6.0, 4.7, 384, _APACHE),
        ("vit_pe_core_small_patch16_384.fb", "PE-core S/16", 23.6, 15.7, 384, _APACHE),
        ("vit_pe_core_base_patch16_224.fb", "PE-core B/16", 92.9, 17.8, 224, _APACHE),
    ),
    *_family(
        "ImageNet",
        ("resnet18.a1_in1k", "ResNet-18", 11.2, 1.8, 224, _APACHE),
        ("resnet50.a1_in1k", "ResNet-50", 23.5, 4.1, 224, _APACHE),
        ("resnet50.tv_in1k", "ResNet-50, torchvision's", 23.5, 4.1, 224, "bsd-3-clause"),
        ("deit_small_patch16_224.fb_in1k", "DeiT-S/16", 21.7, 4.6, 224, _APACHE),
        ("vit_small_patch16_224.augreg_in21k", "ViT-S/16, ImageNet-21k", 21.7, 4.6, 224, _APACHE),
        ("vit_base_patch16_224.augreg_in21k", "ViT-B/16, ImageNet-21k", 85.8, 17.6, 224, _APACHE),
        ("vit_small_patch16_224.dino", "ViT-S/16, DINO", 21.7, 4.6, 224, _APACHE),
        ("convnext_tiny.fb_in22k", "ConvNeXt-T, ImageNet-22k", 27.8, 4.5, 224, _APACHE),
    ),
)
PROPOSALS = tuple(
    Proposal(word=model.name, family=model.family, facts=model.facts, missing=model.missing) for model in PUBLISHED
)


@dataclass(frozen=True, kw_only=True)
class AtHand:
    """An encoder that can be used now.

    Attributes:
        encoder: frozen features with a linear head.
        cached: its weights are on this machine; else they are fetched when a run begins.
    """

    encoder: Choice
    cached: bool

    @property
    def sentence(self) -> str:
        """Why it is chosen, for the page and the command line."""
        where = "are on this machine" if self.cached else "can be fetched from the Hub"
        return (
            f"The weights of {self.encoder.parameters['model']} {where}, so own images begin with its frozen features "
            "and a linear head. conv4 trains an encoder from scratch."
        )


CHOICES = {
    "cuda": ("vit_small_patch14_dinov2.lvd142m", 224),
    "cpu": ("resnet18.a1_in1k", 128),
}
"""By device: the model and the side of its images. On two cores DINOv2 reads 7 images a second, ResNet-18 at this
side 60."""
FILES = ("model.safetensors", "pytorch_model.bin")


def at_hand(device: str | None = None) -> AtHand | None:
    """Return the encoder that own images begin with; None: none is cached, and the Hub has not answered yet.

    Args:
        device: ``cuda`` or ``cpu``; this machine's if None.
    """
    if find_spec("timm") is None:
        return None
    if device is None:
        from trainers.devices.device import choose

        device = choose("auto")[0].type
    order = [CHOICES.get(device, CHOICES["cpu"]), *CHOICES.values()]
    for model, side in order:
        if cached(model):
            return AtHand(encoder=_frozen(model, side), cached=True)
    return AtHand(encoder=_frozen(*order[0]), cached=False) if reachable() else None


def cached(model: str, files: Sequence[str] = FILES) -> bool:
    """Return whether the weights of a model of timm's lie in the cache of the Hub's client."""
    from huggingface_hub import try_to_load_from_cache

    return any(isinstance(try_to_load_from_cache(f"timm/{model}", name), str) for name in files)


def _frozen(model: str, side: int) -> Choice:
    return Choice(name="timm_frozen", parameters={"model": model, "side": side, "hidden": 0})
