"""Models of timm with published weights that are offered by name; any other name of timm's may be written as well.

Sizes are those that timm counts for the model without its classifier, operations those of one image of the published
side; ``tests/contracts/test_encoders.py`` counts both again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec

from trainers.data.reachable import away, reachable
from trainers.encoders import shipped
from trainers.parameters import Choice, Proposal
from trainers.registry import importing


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
        return weights_missing(self.name)


def _family(name: str, *rows: tuple[str, str, float, float, int, str]) -> tuple[Published, ...]:
    return tuple(
        Published(name=model, family=name, title=title, millions=size, gmacs=macs, side=side, licence=licence)
        for model, title, size, macs, side, licence in rows
    )


def weights_missing(model: str) -> str | None:
    """Return why the published weights of a model cannot be had now, with what brings them; None: they are here, or can
    be fetched, as far as is known.

    Args:
        model: a name of timm's; any other name has its own errors, when it is built.
    """
    if model == shipped.MODEL:
        return shipped.missing()
    if ":" in model or (tagged := _with_tag(model)) is None or cached(tagged) or (gone := away()) is None:
        return None
    size = next((f" ({4 * known.millions:,.0f} MB)" for known in PUBLISHED if known.name == model), "")
    return f"{gone} Where there is a network, this fetches it{size}: hf download timm/{tagged}"


@lru_cache(maxsize=64)
def _with_tag(model: str) -> str | None:
    """Return a name of timm's with the tag of the weights that it stands for; None: it stands for none."""
    with importing():
        import timm
    config = timm.models.get_pretrained_cfg(model)
    return None if config is None else f"{model.partition('.')[0]}.{config.tag}" if config.tag else model


_APACHE, _DINOV3, _NO_COMMERCE = "apache-2.0", "dinov3-license", "cc-by-nc-4.0"
PUBLISHED = (
    *_family(
        "Comes with the program",
        (shipped.MODEL, f"{shipped.TITLE}, comes with the program", 3.4, 0.4, 224, _APACHE),
    ),
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
    """The published encoder that photographs begin with.

    Attributes:
        model: a name of timm's.
        side: of its images, in pixels.
        read: side at which images are read, in pixels.
        where: its weights are.
    """

    model: str
    side: int
    read: int
    where: str

    @property
    def frozen(self) -> Choice:
        """Its features, computed once, under a residual head."""
        return Choice(name="timm_frozen", parameters={"model": self.model, "side": self.side, "head": "residual"})

    @property
    def trained(self) -> Choice:
        """Itself, trained in its last blocks: for losses whose only positives are views of an image."""
        return Choice(
            name="timm",
            parameters={"model": self.model, "side": self.side, "head": "residual", "last_blocks": LAST_BLOCKS},
        )

    @property
    def sentence(self) -> str:
        """Why it is chosen, for the page and the command line."""
        return (
            f"Photographs begin with the features of {self.model}, whose weights {self.where}, under a residual head "
            "that changes nothing at first. conv4 trains an encoder from scratch."
        )


LAST_BLOCKS = 2
SHIPPED = AtHand(model=shipped.MODEL, side=160, read=128, where="come with the program")
_OF_GPUS = {"model": "vit_small_patch14_dinov2.lvd142m", "side": 224, "read": 224}
"""On two cores it reads 7 images a second, the shipped one 31."""
FILES = ("model.safetensors", "pytorch_model.bin")


def at_hand(device: str | None = None) -> AtHand | None:
    """Return the encoder that photographs begin with; None: timm, or the package of the weights, is not installed.

    Args:
        device: ``cuda`` or ``cpu``; this machine's if None.
    """
    if find_spec("timm") is None:
        return None
    if device is None:
        from trainers.devices.device import choose

        device = choose("auto")[0].type
    if device != "cpu":
        if cached(str(_OF_GPUS["model"])):
            return AtHand(**_OF_GPUS, where="are on this machine")  # type: ignore[arg-type]
        if reachable():
            return AtHand(**_OF_GPUS, where="can be fetched from the Hub")  # type: ignore[arg-type]
    return SHIPPED if shipped.missing() is None else None


def cached(model: str, files: Sequence[str] = FILES) -> bool:
    """Return whether the weights of a model of timm's lie in the cache of the Hub's client."""
    from huggingface_hub import try_to_load_from_cache

    return any(isinstance(try_to_load_from_cache(f"timm/{model}", name), str) for name in files)
