"""The numbers that a fine-tuning on object-removed images shows."""

from __future__ import annotations

from trainers.metrics.measures import Measures, Panel

MEASURES = Measures(
    numbers=("ODmAP_at_1", "hallucination_at_1", "rerendered_ODmAP_at_1", "i2t_R_at_5"),
    part=(
        "on {queries} removals against {sentences} of {dataset_captions} captions",
        "on {queries} removals, {sentences} captions",
    ),
    whole=("ODmAP_at_1", "rerendered_ODmAP_at_1", "i2t_R_at_5"),
    whole_test=(
        "{queries} removals against {sentences} captions, of {photos_of_each_split} images of each split at most",
        "all {queries} removals of the test set against all {sentences} captions",
        "whole test set",
    ),
    headline=("ODmAP_at_1", "i2t_R_at_5"),
    panels=(
        Panel(key="ODmAP_at_1", dashed="rerendered_ODmAP_at_1", small=True),
        Panel(key="hallucination_at_1"),
        Panel(key="i2t_R_at_1", dashed="i2t_R_at_5", small=True),
        Panel(key="loss"),
    ),
    later=(
        *("ODmAP_at_5", "ODmAP_at_10", "present_at_1", "t2i_R_at_1"),
        *("images_per_s", "clipped_share", "term/*"),
    ),
    legend="dashed: ODmAP@1 on re-rendered images · R@5",
    summary=(
        *("ODmAP_at_1", "rerendered_ODmAP_at_1", "hallucination_at_1"),
        *("i2t_R_at_1", "i2t_R_at_5", "t2i_R_at_1"),
    ),
    titles={"images_per_s": "Pairs per second"},
)
