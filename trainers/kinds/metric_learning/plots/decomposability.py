"""AP inside batches against AP on the whole set, and their difference: the decomposability gap."""

from trainers.metrics.catalogue.gap import BATCH_AP as BATCH
from trainers.metrics.catalogue.gap import GAP
from trainers.metrics.catalogue.gap import WHOLE_AP as WHOLE
from trainers.metrics.panels import Panel
from trainers.metrics.plots import Axis, PathPlot

DESCRIPTOR = PathPlot(
    name="decomposability",
    title="AP inside batches against AP on the whole set",
    note=(
        "A loss sees one batch at a time, and AP is higher inside a batch than among all training images measured. The "
        "decomposability gap is their difference, the horizontal distance to the diagonal: the smaller it is, the "
        "closer what the loss sees is to the ranking of the whole set."
    ),
    source="Ramzi et al. 2023, equation 6",
    url="https://arxiv.org/abs/2309.08250",
    x=Axis(key=BATCH, title="AP inside batches"),
    y=Axis(key=WHOLE, title="AP on the whole set"),
    diagonal=True,
    panels=(Panel(key=GAP),),
    missing="The run has no AP inside batches: it was trained before this was measured, or has no evaluation yet.",
    folded=True,
    order=20,
)
