"""MoCo on CIFAR: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, ours, published
from trainers.recipes.papers import contrastive as paper

_CODE = "the notebook of facebookresearch/moco on CIFAR"

DESCRIPTOR = Recipe(
    name="cifar100_moco",
    title="CIFAR: MoCo",
    paper=paper.MOCO,
    sentence="The small example that was published with MoCo, on one device with split batch statistics.",
    dataset=paper.CIFAR,
    kind="contrastive",
    settings={
        **paper.ON_CIFAR,
        "batch": published(512, _CODE),
        "optimiser": published("sgd", _CODE),
        "momentum": published(0.9, _CODE),
        "learning_rate": published(0.06, _CODE),
        "weight_decay": published(5e-4, _CODE),
        "schedule": published("cosine", _CODE),
        "epochs": ours(200.0, "as on ImageNet"),
        "augmentation": paper.cifar_views(_CODE),
        "norm": published("split", _CODE),
        "splits": published(8, _CODE),
    },
    arms=published(("moco_v1:queue=4096,momentum=0.99,temperature=0.1",), _CODE),
    differs=("What our text says of the notebook does not name which CIFAR; here it is CIFAR-100.", paper.SMALL_NET),
    order=401,
)
