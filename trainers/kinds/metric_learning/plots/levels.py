"""AP at each level of the label tree."""

from trainers.metrics.plots import LevelPlot

DESCRIPTOR = LevelPlot(
    name="levels",
    title="AP at each level of the label tree",
    note=(
        "Bars are AP at the step shown, finest level first; lines are the same over training. A loss that uses one "
        "level only may be ahead there and behind at the coarser ones."
    ),
    source="Ramzi et al. 2023, table VI",
    url="https://arxiv.org/abs/2309.08250",
    measure="AP_level_l",
    missing="The run has no AP by level yet.",
    order=30,
)
