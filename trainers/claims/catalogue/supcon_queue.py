"""SupCon with a queue at a small batch: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_queue",
    title="SupCon with a queue at a small batch",
    work="contrastive",
    statement="A memory of labelled keys lets SupCon do without a large batch.",
    where="SupCon, experiments (memory)",
    printed=recipes.printed(
        "{} % top-1 on ImageNet with a memory of 8,192 and a batch of 256.",
        ("imagenet_supcon_queue", "classifier_accuracy", "memory of 8,192, batch 256"),
    ),
    differences=differences("SupCon with a queue", "SupCon", "probe_accuracy"),
    plan=plans.small_batches,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "Decided is that a queue of 1,024 keys is better than none at a batch of 32, in which one image in eight "
        "has another of its class. The paper has a batch of 6,144 on the other side.",
    ),
    tried=(
        "By k-NN, which decided before: seen, 8.1 [5.1, 11.2] points.",
        "With 120 steps, in an earlier plan: not seen at this scale, 0.7 [−2.3, 3.7] points.",
    ),
    recipe=recipes.full_size("imagenet_supcon_queue", "supcon", "supcon_queue"),
    minutes=3.0,
    order=314,
)
