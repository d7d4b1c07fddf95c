"""ROADMAP among published models: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="roadmap_resnet",
    title="ROADMAP among published models",
    work="rank_losses",
    statement=(
        "With a pretrained ResNet-50 and a memory, ROADMAP is above other published losses on Stanford Online Products."
    ),
    where="Table IV",
    printed=recipes.printed(
        "R@1 on SOP: ROADMAP {}, R@k {}, Smooth-AP 80.1.",
        ("sop_memory", "R_at_1", "ROADMAP (ours)"),
        ("sop_memory", "R_at_1", "R@k"),
    ),
    lacking="Stanford Online Products and the published weights of ResNet-50 are not at hand.",
    recipe=recipes.full_size("sop_memory", "roadmap", "recall_at_k_patel"),
    order=115,
)
