"""The numbers that a comparison of losses shows."""

from __future__ import annotations

from trainers.kinds.metric_learning.plots import PLOTS
from trainers.metrics.catalogue.counts import LEFT_OUT_WORDS
from trainers.metrics.measures import Measures
from trainers.metrics.panels import Panel

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
    plots=tuple(PLOTS.values()),
)
