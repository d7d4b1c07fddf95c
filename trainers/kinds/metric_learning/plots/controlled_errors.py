"""Mistakes of known severity in a perfect ranking, and what metrics make of them."""

from trainers.metrics.plots import MistakesPlot

DESCRIPTOR = MistakesPlot(
    name="controlled_errors",
    title="Controlled errors: which metrics see severity",
    note=(
        "The same number of mistakes at the same ranks costs AP the same whatever they are; H-AP, NDCG and ASI charge "
        "less for a result that shares more of the label tree with the query. The ranking is constructed, not the "
        "run’s."
    ),
    source="After Ramzi et al. 2022, section on H-AP; the ranking is ours",
    url="https://arxiv.org/abs/2207.04873",
    order=50,
)
