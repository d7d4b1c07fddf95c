"""The contextual loss of test images, and the AP of the same images that it is compared with."""

from __future__ import annotations

from trainers.metrics.measure import Measure

CONTEXTUAL_LOSS = "contextual_loss"
CONTEXTUAL_AP = "contextual_sample_AP"

DESCRIPTORS = (
    Measure(
        name=CONTEXTUAL_LOSS,
        title="Contextual loss on the map",
        short="contextual loss",
        sentence="How far the neighbourhoods of test images are from their labels: 0 where all overlaps fit.",
        family="training",
        unit="number",
        better="down",
        order=250,
    ),
    Measure(
        name=CONTEXTUAL_AP,
        title="AP of the images of the contextual loss",
        short="AP, same images",
        sentence="AP over the test images that the contextual loss is measured on, four of each class.",
        family="training",
        order=251,
    ),
)
