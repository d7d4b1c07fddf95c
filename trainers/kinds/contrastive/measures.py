"""The numbers that contrastive training shows."""

from __future__ import annotations

from trainers.metrics.catalogue.counts import EPOCHS, LEFT_OUT_WORDS
from trainers.metrics.catalogue.training import PROCESSOR
from trainers.metrics.measures import Measures, Panel, Profile

MEASURES = Measures(
    numbers=("knn_accuracy", "probe_accuracy", "R_at_1", "effective_rank"),
    part=(
        "on {probe_images} test images, R@1 of {probe_role_queries} queries among {probe_role_gallery} of the gallery; "
        "neighbours and linear probe from {train_images} training images",
        "on {probe_images} test images; neighbours and linear probe from {train_images} training images",
        "on {probe_images} test images",
    ),
    whole=("knn_accuracy", "probe_accuracy", "classifier_accuracy", "R_at_1"),
    whole_test=(
        "whole test set, {images} images; R@1 of {role_queries} queries among {role_gallery} of the gallery",
        "test set, {images} of its {images_before_cap} images under the cap",
        "whole test set, {images} images",
        "whole test set",
    ),
    headline=("knn_accuracy", "probe_accuracy"),
    panels=(
        Panel(key="knn_accuracy"),
        Panel(key="probe_accuracy"),
        Panel(key="loss"),
        Panel(key="uniformity"),
    ),
    later=(
        "contrast_accuracy",
        "classifier_accuracy",
        "batch_accuracy",
        "alignment",
        "effective_rank",
        "class_collapse",
        "queue_filled",
        "dictionary_agreement",
        "key_variance",
        "projection_cosine",
        "positives_share",
        "R_at_1",
        "HAP",
        "images_per_s",
        "clipped_share",
        "term/*",
    ),
    compared=("contrast_accuracy",),
    legend="",
    floor=("knn_accuracy", "probe_accuracy", "R_at_1"),
    profiles=(
        Profile(
            key="queue_similarity/*",
            title="Keys in the dictionary, by age",
            axis="age of the keys",
            unit="batches ago",
            marks="queue_age/*",
            share="queue_filled",
            rest="still random",
            beside=("queue_filled", "dictionary_agreement"),
            note="Bars: cosine between stored keys and what the key encoder says of the same images now. Keys were "
            "made of augmented images, so that even the youngest stay below 1.",
        ),
    ),
    diagnosed=(
        EPOCHS,
        "loss",
        "term/contrast",
        "contrast_accuracy",
        "positives_share",
        "queue_filled",
        "key_variance",
        "queue_similarity/1 of 8",
        "queue_similarity/8 of 8",
        "uniformity",
        "effective_rank",
    ),
    summary=("knn_accuracy", "probe_accuracy", "classifier_accuracy", "R_at_1", "HAP", "effective_rank", PROCESSOR),
    remarks={"queries_without_positive": LEFT_OUT_WORDS},
)
