"""The contextual loss under label noise: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="contextual_noise",
    title="The contextual loss under label noise",
    work="contextual",
    statement=("Where labels are wrong, the contextual loss is ahead of its baselines by about four points of R@1."),
    where="Section 1 (contributions)",
    printed="4 % in R@1 over baselines under label noise.",
    differences=(
        *differences(
            Side(arm="Contextual", under={"Label noise": 0.4}),
            Side(arm="Contrastive", under={"Label noise": 0.4}),
            "R_at_1",
        ),
        *differences(
            Side(arm="Contextual", under={"Label noise": 0.4}),
            Side(arm="Multi-Similarity", under={"Label noise": 0.4}),
            "R_at_1",
        ),
    ),
    plan=plans.noise,
    ours=(
        *plans.OURS_PAIRS,
        "Symmetric noise, drawn once for all seeds; the paper's protocol is not in our text.",
        plans.OURS_SHOWN,
    ),
    tried=(
        "Batches of 6 classes x 8 images, with seeds 10 to 14 and a rate of 0.004, leave the order as it is: 3.5 "
        "points above the contrastive loss [0.9, 6.0], 13.5 below multi-similarity [9.0, 17.9].",
        "At 40 % the contextual loss is hardly above untrained weights: of 200 test images it is right for 12.7 %, "
        "they for 8.1 %.",
        "At 20 %, run as well, it is 8.4 points above the contrastive loss [4.3, 12.6] and 19.9 below "
        "multi-similarity [15.0, 24.8].",
        "With margins of 0 and 0.5 of the contrastive loss, in the plan before: opposite seen, 0.1 [−1.3, 1.6] "
        "points (Contextual, label noise 0.4 − Contrastive, label noise 0.4); −11.5 [−16.9, −6.2] points "
        "(Contextual, label noise 0.4 − Multi-Similarity, label noise 0.4).",
        "On Omniglot a triplet loss is ahead at 40 % noise, searched or not (docs/loss-comparisons.md).",
        "There a clean start brings it 18.6 points of R@1 at 40 % noise; for triplet no difference is seen.",
        "With 200 steps, in an earlier plan: opposite seen, −0.7 [−4.3, 2.9] points (Contextual, label noise "
        "0.4 − Contrastive, label noise 0.4); −4.2 [−6.9, −1.6] points (Contextual, label noise 0.4 − Multi-"
        "Similarity, label noise 0.4).",
    ),
    recipe=recipes.full_size(
        "cub_contextual", "contextual", plans.CONTRASTIVE, "multi_similarity", vary={"label_noise": (0.0, 0.2, 0.4)}
    ),
    minutes=5.0,
    order=202,
)
