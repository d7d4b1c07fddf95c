"""AP inside batches against AP on the whole set, and their difference: the decomposability gap."""

from trainers.metrics.measures import Panel
from trainers.metrics.plots import Axis, PathPlot

BATCH, WHOLE, GAP = "batch_AP", "whole_AP", "gap"

DESCRIPTOR = PathPlot(
    name="decomposability",
    title="AP in batches against AP on the whole set",
    note=(
        "A loss sees one batch at a time, where AP looks better than on the whole set. The gap is the horizontal "
        "distance to the diagonal: at 0, raising AP in batches raises AP on the whole set as much."
    ),
    source="Ramzi et al. 2023, equation 6",
    url="https://arxiv.org/abs/2309.08250",
    x=Axis(key=BATCH, title="AP, mean over batches"),
    y=Axis(key=WHOLE, title="AP, whole set"),
    diagonal=True,
    panels=(Panel(key=GAP),),
    missing="The run has no AP in batches: it was trained before this was measured, or has no evaluation yet.",
    order=20,
)
