"""The share of removed pairs: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans, recipes
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="odmap_knee",
    title="The share of removed pairs",
    work="spurious",
    statement="ODmAP@1 rises steeply up to a tenth of removed pairs and little beyond.",
    where="Figure 4 and section 4.4",
    printed=(
        "A steep rise up to about 0.1 removed pairs per original pair, a slow one up to 0.2, none beyond; the most is "
        "about 0.4."
    ),
    differences=(
        *differences("D + D′ (phrases, telea, 0.1)", "D", "ODmAP_at_1"),
        *differences(
            Side(arm="D + D′ (phrases, telea, 0.1)"),
            Side(arm="D"),
            "ODmAP_at_1",
            beyond=(Side(arm="D + D′ (phrases, telea, 0.4)"), Side(arm="D + D′ (phrases, telea, 0.1)")),
        ),
    ),
    plan=plans.ratios,
    ours=plans.OURS_SCENES,
    recipe=recipes.full_size("coco_ratio"),
    minutes=6.0,
    order=405,
)
