"""The contextual loss against 1 - AP, on the same images."""

from trainers.metrics.catalogue.contextual import CONTEXTUAL_AP, CONTEXTUAL_LOSS
from trainers.metrics.plots import Axis, PathPlot

DESCRIPTOR = PathPlot(
    name="contextual",
    title="Contextual loss against 1\u00a0−\u00a0mAP",
    note=(
        "Where a path is nearly straight, mAP rises in proportion as the contextual loss falls. Training goes from the "
        "upper right to the lower left. Both are of the same test images, four of each class, which is our choice."
    ),
    source="Liao et al. 2023, figure 3, left",
    url="https://arxiv.org/abs/2210.01908",
    x=Axis(key=CONTEXTUAL_LOSS, title="contextual loss"),
    y=Axis(key=CONTEXTUAL_AP, title="1 − mAP", complement=True),
    missing=(
        "The run has no contextual loss: it was trained before this was measured, has no evaluation yet, or shows "
        "fewer than three classes with four images."
    ),
    folded=True,
    order=40,
)
