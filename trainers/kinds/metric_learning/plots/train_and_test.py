"""R@1 on training images against R@1 on test images."""

from trainers.metrics.plots import Axis, PathPlot

DESCRIPTOR = PathPlot(
    name="train_and_test",
    title="Training images against test images",
    note=(
        "The further a path runs below the diagonal, the more of what the loss learned holds for the training classes "
        "only; of two paths with the same test R@1, the one further left has memorised less. The two samples differ in "
        "size (see under the maps), so paths compare with each other better than with the diagonal."
    ),
    source="Liao et al. 2023, figure 2",
    url="https://arxiv.org/abs/2210.01908",
    x=Axis(key="train_R_at_1", title="R@1, training images"),
    y=Axis(key="R_at_1", title="R@1, test images"),
    diagonal=True,
    missing="The run has no R@1 on training images yet.",
    order=10,
)
