"""The decomposability gap and its two sides; computed by :mod:`trainers.metrics.gap`.

Ramzi et al., "Optimization of Rank Losses for Image Retrieval", 2023, Eq. 6.
"""

from __future__ import annotations

from functools import partial

from trainers.metrics.measure import Measure

BATCH_AP = "batch_AP"
WHOLE_AP = "whole_AP"
GAP = "decomposability_gap"

_number = partial(Measure, family="training")
DESCRIPTORS = (
    _number(
        name=BATCH_AP,
        title="AP inside batches",
        short="batch AP",
        sentence="AP of training images searched for inside batches, composed as those that are trained on.",
        order=193,
    ),
    _number(
        name=WHOLE_AP,
        title="AP across batches",
        short="whole AP",
        sentence="AP of the same training images searched for among all that are measured.",
        order=194,
    ),
    _number(
        name=GAP,
        title="Gap of batches",
        sentence="The decomposability gap: AP inside batches less AP across them, which is how much better the ranking "
        "looks to the loss than it is.",
        unit="number",
        better="down",
        order=195,
    ),
)
