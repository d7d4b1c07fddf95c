"""SupCon on CIFAR-100: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, ours, published
from trainers.recipes.papers import contrastive as paper

DESCRIPTOR = Recipe(
    name="cifar100_supcon",
    title="CIFAR-100: SupCon and its baselines",
    paper=paper.SUPCON,
    sentence="SupCon as in its published code, beside cross-entropy and SimCLR.",
    dataset=paper.CIFAR,
    kind="contrastive",
    settings={
        **paper.ON_CIFAR,
        **paper.WITH_LABELS,
        "batch": published(1024, paper.SHARED_CODE),
        "optimiser": published("sgd", paper.SHARED_CODE),
        "momentum": ours(0.9),
        "learning_rate": published(0.5, paper.SHARED_CODE),
        "weight_decay": ours(1e-4),
        "schedule": ours("cosine"),
        "epochs": ours(1000.0),
        "augmentation": paper.cifar_views(paper.SHARED_CODE),
    },
    arms=published(
        ("supcon:temperature=0.1", "cross_entropy", "simclr:temperature=0.5"), f"{paper.SHARED_CODE}: temperatures"
    ),
    differs=(paper.SMALL_NET,),
    order=412,
)
