"""ROADMAP with a memory on SOP: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.recipes.base import Recipe, stated, table
from trainers.recipes.papers import rank_losses as paper

_ROADMAP, _RECALL, _XBM = _ARMS = (*paper.bound("roadmap", preset="sop"), "recall_at_k_patel", "xbm_contrastive")

DESCRIPTOR = Recipe(
    name="sop_memory",
    title="SOP: ROADMAP, ResNet-50 with a memory",
    paper=paper.PAPER,
    sentence="The comparison of ResNets with the state of the art: ROADMAP with a memory of the whole training set.",
    dataset=paper.SOP,
    kind="metric_learning",
    settings=paper.with_memory(paper.ON_SOP, paper.GEM, 59_551, paper.RECALL_SOP),
    arms=stated(_ARMS, "Tables III and IV; the bound is the published code's for SOP"),
    figures=(
        *table(
            "Table IV, SOP, ResNet-50",
            paper.RECALL_SOP,
            {
                _ROADMAP: ("ROADMAP (ours)", 83.3, 93.6, 97.4),
                _RECALL: ("R@k", 82.8, 92.9, 97.0),
                _XBM: ("XBM, 128 dimensions", 80.6, 91.6, 96.2),
            },
        ),
        *table("Table III, SOP", ("AP_at_R",), {_XBM: ("XBM", 54.9)}),
    ),
    differs=(
        paper.WARM_UP,
        paper.PAIRS,
        paper.LATEST,
        "The R@k and XBM rows of Table IV were trained as their own papers say, with other batches; here all arms have "
        "the batches of ROADMAP.",
    ),
    order=203,
)
