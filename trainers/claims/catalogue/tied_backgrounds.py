"""What backgrounds tied to classes cost each loss: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans
from trainers.claims.base import Claim, Side, differences

LOSSES = ("Contrastive", "Multi-Similarity", "Contextual", "SupCon", "ROADMAP", "HAPPIER")
DESCRIPTOR = Claim(
    name="tied_backgrounds",
    title="Backgrounds tied to classes",
    work="spurious",
    statement="Every loss learns backgrounds that are tied to its classes: where they tell nothing its R@1 is lower.",
    where="No paper's: asked here of every loss",
    differences=tuple(
        difference
        for loss in LOSSES
        for difference in differences(
            Side(arm=loss, under={"Images": "drawn"}), Side(arm=loss, under={"Images": "drawn:bias=0.9"}), "R_at_1"
        )
    ),
    plan=plans.tied_backgrounds,
    ours=(*plans.OURS, "The question and its protocol; the paper asks it of image-text models alone."),
    recipe=(
        "python -m trainers sweep --losses contrastive multi_similarity contextual supcon_out roadmap happier "
        "--vary 'source=drawn;drawn:bias=0.9' --minutes 10"
    ),
    minutes=12.0,
    order=410,
)
