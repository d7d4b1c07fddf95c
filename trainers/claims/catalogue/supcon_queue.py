"""SupCon with a queue at a small batch: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_queue",
    title="SupCon with a queue at a small batch",
    work="contrastive",
    statement="A queue of labelled keys lets SupCon do well at a small batch.",
    where="SupCon, section 4 (memory)",
    printed="79.1 % top-1 on ImageNet with a memory of 8,192 and a batch of 256.",
    differences=differences("SupCon with a queue", "SupCon", "knn_accuracy"),
    plan=plans.small_batches,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "Batches of 32 and 1,024 keys; k-NN decides. The paper compares with larger batches.",
    ),
    recipe=recipes.full_size("imagenet_supcon_queue", "supcon", "supcon_queue"),
    minutes=3.0,
    order=314,
)
