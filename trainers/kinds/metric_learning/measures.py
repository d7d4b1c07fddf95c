"""The numbers that a comparison of losses shows, and its plots."""

from __future__ import annotations

from trainers.metrics.catalogue.counts import LEFT_OUT_WORDS
from trainers.metrics.catalogue.training import BATCH_AP, CONTEXTUAL_AP, CONTEXTUAL_LOSS, GAP, WHOLE_AP
from trainers.metrics.measures import LevelPlot, Measures, MistakesPlot, Panel, PathPlot, PlotAxis

_TRAIN_AND_TEST = PathPlot(
    name="train_and_test",
    title="Training images against test images",
    note=(
        "The further a path runs below the diagonal, the more of what the loss learned holds for the training classes "
        "only; of two paths with the same test R@1, the one further left has memorised less. The two samples differ in "
        "size (see under the maps), so paths compare with each other better than with the diagonal."
    ),
    source="Liao et al. 2023, figure 2",
    url="https://arxiv.org/abs/2210.01908",
    x=PlotAxis(key="train_R_at_1", title="R@1, training images"),
    y=PlotAxis(key="R_at_1", title="R@1, test images"),
    diagonal=True,
    missing="The run has no R@1 on training images yet.",
)
_DECOMPOSABILITY = PathPlot(
    name="decomposability",
    title="AP inside batches against AP on the whole set",
    note=(
        "A loss sees one batch at a time, and AP is higher inside a batch than among all training images measured. The "
        "decomposability gap is their difference, the horizontal distance to the diagonal: the smaller it is, the "
        "closer what the loss sees is to the ranking of the whole set."
    ),
    source="Ramzi et al. 2023, equation 6",
    url="https://arxiv.org/abs/2309.08250",
    x=PlotAxis(key=BATCH_AP, title="AP inside batches"),
    y=PlotAxis(key=WHOLE_AP, title="AP on the whole set"),
    diagonal=True,
    panels=(Panel(key=GAP),),
    missing="The run has no AP inside batches: it was trained before this was measured, or has no evaluation yet.",
    folded=True,
)
_LEVELS = LevelPlot(
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
)
_CONTEXTUAL = PathPlot(
    name="contextual",
    title="Contextual loss against 1\u00a0−\u00a0mAP",
    note=(
        "Where a path is nearly straight, mAP rises in proportion as the contextual loss falls. Training goes from the "
        "upper right to the lower left. Both are of the same test images, four of each class, which is our choice."
    ),
    source="Liao et al. 2023, figure 3, left",
    url="https://arxiv.org/abs/2210.01908",
    x=PlotAxis(key=CONTEXTUAL_LOSS, title="contextual loss"),
    y=PlotAxis(key=CONTEXTUAL_AP, title="1 − mAP", complement=True),
    missing=(
        "The run has no contextual loss: it was trained before this was measured, has no evaluation yet, or shows "
        "fewer than three classes with four images."
    ),
    folded=True,
)
_CONTROLLED_ERRORS = MistakesPlot(
    name="controlled_errors",
    title="Controlled errors: which metrics see severity",
    note=(
        "The same number of mistakes at the same ranks costs AP the same whatever they are; H-AP, NDCG and ASI charge "
        "less for a result that shares more of the label tree with the query. The ranking is constructed, not the "
        "run’s."
    ),
    source="After Ramzi et al. 2022, section on H-AP; the ranking is ours",
    url="https://arxiv.org/abs/2207.04873",
)
PLOTS = (_TRAIN_AND_TEST, _DECOMPOSABILITY, _LEVELS, _CONTEXTUAL, _CONTROLLED_ERRORS)
"""The plots of a comparison of losses, in order."""

MEASURES = Measures(
    numbers=("R_at_1", "AP_at_R", "HAP", "train_R_at_1"),
    part=(
        "on {probe_role_queries} queries, searched for among {probe_role_gallery} images of the gallery; train R@1 on "
        "{train_images} training images",
        "on {probe_images} test images; train R@1 of step {train_R_at_1@step} on {train_images} training images",
        "on {probe_images} test images; train R@1 on {train_images} training images",
    ),
    whole=("R_at_1", "AP_at_R", "HAP"),
    whole_test=(
        "test set, {role_queries} queries searched for among {role_gallery} images of the gallery; {images} of its "
        "{images_before_cap} images under the cap",
        "whole test set, {role_queries} queries searched for among {role_gallery} images of the gallery",
        "test set, {images} of its {images_before_cap} images under the cap",
        "whole test set, {images} images",
        "whole test set",
    ),
    headline=("R_at_1", "HAP"),
    panels=(
        Panel(key="R_at_1", dashed="train_R_at_1"),
        Panel(key="AP_at_R"),
        Panel(key="HAP"),
        Panel(key="loss"),
    ),
    later=("NDCG", "ASI", "images_per_s", "clipped_share", "term/*", "AP_level_l"),
    compared=("train_R_at_1", "decomposability_gap"),
    legend="solid: test images · dashed: training images",
    remarks={"queries_without_positive": LEFT_OUT_WORDS},
    plots=PLOTS,
)
