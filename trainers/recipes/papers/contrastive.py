"""MoCo (He et al. 2020) and SupCon (Khosla et al. 2020). Our text of both has their tables as pictures."""

from __future__ import annotations

from collections.abc import Mapping

from trainers.parameters import Choice
from trainers.recipes.base import Dataset, Setting, ours, published, stated

MOCO, SUPCON = "He et al. 2020", "Khosla et al. 2020"
IMAGENET = Dataset(
    title="ImageNet",
    source="ILSVRC/imagenet-1k",
    layout="The Hub's dataset, whose terms must be accepted there; splits train and validation; its commit is pinned "
    "when a run is made.",
    levels=1,
)
CIFAR = Dataset(
    title="CIFAR-100",
    source="cifar100",
    layout="The Hub's uoft-cs/cifar100, 50,000 images to train on and 10,000 to test on; its commit is pinned when a "
    "run is made.",
    levels=2,
)
MILLION = "At most a million images of a split are read."
SMALL_NET = (
    "The published code has a ResNet for small images, with a first layer of 3 x 3 and no pooling; timm's has the "
    "ordinary one, at 32 pixels."
)
_NET = Choice(name="timm", parameters={"model": "resnet50", "pretrained": False})

ON_IMAGENET: Mapping[str, Setting] = {
    "data.train_split": stated("train", "the dataset's"),
    "data.test_split": stated("validation", "the dataset's"),
    "data.held_out": stated("images", "the classes are the same in both splits"),
    "data.image_size": ours(224),
    "data.max_images": ours(1_000_000, "the most that is read"),
    "encoder": stated(_NET, "ResNet-50 from random weights, experiments"),
    "dim": stated(128, "method"),
}
ON_CIFAR: Mapping[str, Setting] = {
    "data.held_out": stated("images", "the classes are the same in both splits"),
    "data.image_size": ours(32, "that of the dataset"),
    "data.max_images": ours(1_000_000, "all images are read"),
    "encoder": ours(
        Choice(name="timm", parameters={"model": "resnet50", "pretrained": False, "side": 32}),
        "ResNet-50 as on ImageNet",
    ),
    "dim": stated(128, "method"),
}
WITH_LABELS: Mapping[str, Setting] = {
    "norm": ours("batch", "nothing here has keys to tell apart"),
    "head_augmentation": ours(
        Choice(name="crop_flip", parameters={"smallest": 0.08}), "as the encoder of MoCo is judged"
    ),
    "head_steps": ours(10_000),
    "head_learning_rate": ours(0.1),
}
SUPCON_ON_IMAGENET: Mapping[str, Setting] = {
    **ON_IMAGENET,
    **WITH_LABELS,
    "augmentation": stated(Choice(name="autoaugment"), "Table 3 and experiments"),
    "optimiser": stated("lars", "training details: LARS, RMSProp and SGD were tried"),
    "epochs": ours(350.0),
    "schedule": ours("cosine"),
    "weight_decay": ours(1e-4),
}
SHARED_CODE = "SupContrast"


def cifar_views(code: str) -> Setting:
    """Return the augmentation of the published codes on CIFAR."""
    return published(
        Choice(name="moco_v2", parameters={"blur": 0.0}), f"{code}: crops, mirror, colour and grey, no blur"
    )
