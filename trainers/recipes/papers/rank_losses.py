"""Rank losses (Ramzi et al. 2023). Our text of the paper has lost most numbers of its settings; its code has them."""

from __future__ import annotations

from collections.abc import Mapping

from trainers.parameters import Choice
from trainers.recipes.base import Dataset, Setting, ours, published, stated

PAPER = "Ramzi et al. 2023"
SETUP, TRANSFORMERS = "section VII-A", "section VII-B"
CODE = "SupRank"
ALL_IMAGES = 1_000_000

SOP = Dataset(
    title="Stanford Online Products",
    source="path/to/sop",
    layout="The folder as it is handed out, with Ebay_train.txt (59,551 images) and Ebay_test.txt (60,502), or one "
    "with train/SUPERCLASS/PRODUCT/*.jpg and test/SUPERCLASS/PRODUCT/*.jpg, no product in both.",
    levels=2,
)
INAT_BASE = Dataset(
    title="iNaturalist, two levels",
    source="path/to/inat-base",
    layout="A folder with train/COARSE/SPECIES/*.jpg and test/COARSE/SPECIES/*.jpg, no species in both.",
    levels=2,
)
INAT_FULL = Dataset(
    title="iNaturalist, seven levels",
    source="path/to/inat-full",
    layout="A folder with train and test, below each KINGDOM/PHYLUM/CLASS/ORDER/FAMILY/GENUS/SPECIES/*.jpg, no species "
    "in both.",
    levels=7,
)
CUB = Dataset(
    title="CUB-200",
    source="cub200",
    layout="The Hub's bentrevett/caltech-ucsd-birds-200-2011, species only; its commit is pinned when a run is made.",
    levels=1,
)
WARM_UP = "The code trains the head alone for five epochs first; no setting does that."
PAIRS = (
    "The code takes five batches an epoch of every pair of super-classes; here one comes up as often as it takes to "
    "show all its classes."
)
LATEST = (
    "The code's memory has the latest embedding of every image; here it has the last ones, and an image may be in it "
    "twice."
)
SPECIES = (
    "Which species are trained on is drawn here by --data-seed; our text of the paper does not say how it is done."
)
COUNTED = (
    "The published H-AP counts the query in its own relevance, which the metric here does not: a little apart at the "
    "finest level."
)

TRAINING: Mapping[str, Setting] = {
    "dim": stated(512, "section VII-A and Table IV"),
    "augmentation": stated(Choice(name="crop_flip"), f"{SETUP}; how small a crop may be is ours"),
    "optimiser": stated("adam", SETUP),
    "schedule": stated("cosine", SETUP),
    "backbone_rate": published(0.5, f"{CODE}: the head has twice the rate"),
    "images_per_class": stated(4, SETUP),
    "classes_per_batch": published(64, f"{CODE}: batches of 256"),
    "data.max_images": ours(ALL_IMAGES, "all images are read"),
    "data.image_size": ours(224, "our text has lost the number"),
}
UNSAID = ("dim", "augmentation", "schedule", "images_per_class")
"""Settings that section VII-A states of SOP and iNaturalist alone."""
RESNET: Mapping[str, Setting] = {
    "encoder": stated(
        Choice(name="timm", parameters={"model": "resnet50.tv_in1k", "layer_norm": True}),
        f"{SETUP}: ResNet-50, average pooling, layer norm without affine, linear head; the tag of the weights is ours",
    ),
    "frozen_norm": published(True, CODE),
}
GEM: Mapping[str, Setting] = {
    "encoder": stated(
        Choice(name="timm", parameters={"model": "resnet50.tv_in1k", "pooling": "gem", "layer_norm": True}),
        f"{TRANSFORMERS}: ResNet-50, GeM pooling, layer norm; the tag of the weights is ours",
    ),
    "frozen_norm": published(True, CODE),
}


def _transformer(model: str, dim: int, what: str) -> Mapping[str, Setting]:
    return {
        "encoder": stated(Choice(name="timm", parameters={"model": model}), f"{TRANSFORMERS}: {what}; the tag is ours"),
        "dim": stated(dim, "Table IV"),
        "data.image_size": ours(224, "our text has lost the number; the side of the published weights"),
    }


DEIT = _transformer("deit_small_patch16_224.fb_in1k", 384, "DeiT-S trained on ImageNet-1k")
VIT = _transformer("vit_base_patch16_224.augreg_in21k", 512, "ViT-B trained on ImageNet-21k")
ON_SOP: Mapping[str, Setting] = {
    "sampler": stated("two_super_classes", f"{SETUP}: the hierarchical sampler"),
    "epochs": stated(100.0, SETUP),
    "learning_rate": published(1e-4, f"{CODE}: the head, twice 5e-5"),
    "weight_decay": published(1e-4, CODE),
}
ON_INAT: Mapping[str, Setting] = {
    "sampler": published("m_per_class", CODE),
    "epochs": stated(100.0, SETUP),
    "learning_rate": published(2e-5, f"{CODE}: the head, twice 1e-5"),
    "weight_decay": published(4e-4, CODE),
}
ON_CUB: Mapping[str, Setting] = {
    "sampler": published("m_per_class", CODE),
    "epochs": published(200.0, CODE),
    "learning_rate": published(2e-6, f"{CODE}: the head, twice 1e-6"),
    "weight_decay": published(4e-4, CODE),
}


def memory(size: int) -> Mapping[str, Setting]:
    """Return the settings of a cross-batch memory that holds so many embeddings."""
    return {
        "memory": published(size, f"ROADMAP: {size:,} embeddings"),
        "memory_after": ours(1000, "the code counts five epochs"),
    }


def with_resnet(on: Mapping[str, Setting]) -> Mapping[str, Setting]:
    """Return the settings of Tables II and V on a dataset."""
    return {**TRAINING, **RESNET, **on}


def with_memory(
    on: Mapping[str, Setting], net: Mapping[str, Setting], size: int, columns: tuple[str, ...]
) -> Mapping[str, Setting]:
    """Return the settings of Table IV on a dataset, of a net and a memory; the first column is of every run."""
    return {**TRAINING, **on, **memory(size), **asked(*columns[1:]), **net}


def asked(*metrics: str) -> Mapping[str, Setting]:
    """Return the setting of metrics beside those that every run has."""
    return {"metrics": stated(metrics, "the columns of the table")}


BOUND = "the bound is the published code's"
RECALL_SOP, RECALL_CUB = ("R_at_1", "R_at_10", "R_at_100"), ("R_at_1", "R_at_2", "R_at_4", "R_at_8")
RECALL_INAT = ("R_at_1", "R_at_4", "R_at_16", "R_at_32")
"""The columns of Table IV."""
HIERARCHY = ("R_at_1", "AP_level0", "HAP", "ASI", "NDCG")
"""The columns of Table V."""


def hierarchical(preset: str, *, alpha: float) -> tuple[str, ...]:
    """Return the losses of Table V that are compared: Smooth-AP, NSM, CSL, ROD-NDCG, HAPPIER and HAPPIER-F.

    Args:
        preset: of the bound.
        alpha: of HAPPIER-F.
    """
    return ("smooth_ap", "proxy_nsm", "csl", *bound("rod_ndcg", "happier", f"happier_f:alpha={alpha:g}", preset=preset))


def bound(*names: str, preset: str) -> tuple[str, ...]:
    """Return losses with the published code's bound of a dataset; ``name:a=b`` keeps its parameters."""
    return tuple(f"{name}{',' if ':' in name else ':'}preset={preset}" for name in names)
