"""MoCo on ImageNet: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.kinds import KINDS
from trainers.recipes.base import Recipe, ours, published, stated
from trainers.recipes.papers import contrastive as paper

_PRESET = KINDS["contrastive"].preset("paper_moco_v1")
_CODE = "facebookresearch/moco"

DESCRIPTOR = Recipe(
    name="imagenet_moco",
    title="ImageNet: MoCo v1",
    paper=paper.MOCO,
    sentence="A ResNet-50 that tells every image from 65,536 others, then a linear classifier on it.",
    dataset=paper.IMAGENET,
    kind="contrastive",
    settings={
        **paper.ON_IMAGENET,
        "encoder": stated(_PRESET["encoder"], "experiments (training): ResNet-50"),
        "batch": stated(256, "experiments (training)"),
        "epochs": stated(_PRESET["epochs"], "experiments (training)"),
        "optimiser": stated("sgd", "experiments (training)"),
        "momentum": published(0.9, _CODE),
        "learning_rate": published(_PRESET["learning_rate"], _CODE),
        "weight_decay": published(_PRESET["weight_decay"], _CODE),
        "schedule": published(_PRESET["schedule"], f"{_CODE}: a tenth at epochs 120 and 160"),
        "drops": published((0.6, 0.8), f"{_CODE}: epochs 120 and 160 of 200"),
        "warm_up": published(_PRESET["warm_up"], _CODE),
        "augmentation": published(_PRESET["augmentation"], _CODE),
        "norm": stated("split", "section on shuffling BN: statistics of eight GPUs"),
        "splits": stated(8, "experiments (training): eight GPUs"),
        "head_steps": ours(_PRESET["head_steps"], "100 epochs in batches of 256"),
        "head_learning_rate": stated(_PRESET["head_learning_rate"], "linear classification protocol, by grid search"),
        "head_augmentation": ours(_PRESET["head_augmentation"], "crop and flip"),
    },
    arms=stated(
        ("moco_v1",),
        "method: momentum 0.999, temperature 0.07 and a queue of 65,536 keys are the method's own defaults",
    ),
    differs=(paper.MILLION,),
    order=400,
)
