"""A memory bank against end-to-end training: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="moco_bank_end_to_end",
    title="A memory bank against end-to-end training",
    work="contrastive",
    statement="A memory bank is below end-to-end training.",
    where="MoCo, ablation of the contrastive loss mechanisms",
    differences=differences("End-to-end", "Memory bank", "knn_accuracy"),
    plan=plans.dictionary,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "2,048 keys of the bank against those of a batch of 64; the paper says it of both overall.",
    ),
    tried=("With 120 steps of SGD, as first planned: seen, 3.5 [2.2, 4.8] points.",),
    recipe=recipes.full_size("imagenet_moco", "end_to_end", "memory_bank"),
    minutes=6.0,
    order=305,
)
