"""SupCon with a memory on ImageNet: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Figure, Recipe, ours, stated
from trainers.recipes.papers import contrastive as paper

DESCRIPTOR = Recipe(
    name="imagenet_supcon_queue",
    title="ImageNet: SupCon with a memory",
    paper=paper.SUPCON,
    sentence="SupCon in small batches with a queue of labelled keys.",
    dataset=paper.IMAGENET,
    kind="contrastive",
    settings={
        **paper.SUPCON_ON_IMAGENET,
        "norm": ours("split", "keys are told apart by their batch otherwise"),
        "batch": stated(256, "experiments, memory"),
        "learning_rate": ours(0.3, "SimCLR's for LARS, as a share of the batch"),
    },
    arms=stated(("supcon_queue:queue=8192",), "experiments, memory: 8,192 keys"),
    figures=(
        Figure(
            arm="supcon_queue:queue=8192",
            metric="classifier_accuracy",
            value=79.1,
            where="experiments, in the text",
            row="memory of 8,192, batch 256",
        ),
    ),
    differs=(paper.MILLION,),
    order=411,
)
