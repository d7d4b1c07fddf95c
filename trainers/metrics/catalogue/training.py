"""Numbers that training itself gives, the gap of batches and the contextual loss of test images.

The decomposability gap and its two sides; computed by :mod:`trainers.metrics.gap`.

Ramzi et al., "Optimization of Rank Losses for Image Retrieval", 2023, Eq. 6.
"""

from __future__ import annotations

from functools import partial

from trainers.metrics.measure import Measure

PROCESSOR = "processor_seconds"
_number = partial(Measure, family="training", unit="number")
_TRAINING = (
    _number(
        name="loss",
        title="Loss",
        sentence="The loss, averaged over the steps since the value before.",
        better="down",
        order=200,
    ),
    _number(
        name="term/*",
        title="Loss term: *",
        sentence="One of several terms that make up the loss.",
        better="down",
        order=210,
    ),
    _number(
        name="logged/*",
        title="Logged: *",
        sentence="A number that a training loop logged.",
        order=215,
    ),
    _number(
        name="images_per_s",
        title="Images per second",
        sentence="Training images per second, each view of an image and each pair with a caption counted once.",
        order=220,
    ),
    _number(
        name=PROCESSOR,
        title="Processor time in seconds",
        short="processor s",
        sentence="Processor time of an arm's training steps, its views of the images included and evaluation left out; "
        "on a CPU alone.",
        better="",
        order=221,
    ),
    _number(
        name="clipped_share",
        title="Share of steps clipped",
        short="steps clipped",
        sentence="Share of all steps so far whose gradient was longer than the limit and was shortened.",
        unit="share",
        better="",
        order=230,
    ),
    _number(
        name="distinct_top1",
        title="Distinct first results",
        sentence="Different captions among the first results of all queries; the fewer, the more hubs there are.",
        order=240,
    ),
)


BATCH_AP = "batch_AP"
WHOLE_AP = "whole_AP"
GAP = "decomposability_gap"

_gap_number = partial(Measure, family="training")
_GAP = (
    _gap_number(
        name=BATCH_AP,
        title="AP inside batches",
        short="batch AP",
        sentence="AP of training images searched for inside batches, composed as those that are trained on.",
        order=193,
    ),
    _gap_number(
        name=WHOLE_AP,
        title="AP across batches",
        short="whole AP",
        sentence="AP of the same training images searched for among all that are measured.",
        order=194,
    ),
    _gap_number(
        name=GAP,
        title="Gap of batches",
        sentence="The decomposability gap: AP inside batches less AP across them, which is how much better the ranking "
        "looks to the loss than it is.",
        unit="number",
        better="down",
        order=195,
    ),
)


CONTEXTUAL_LOSS = "contextual_loss"
CONTEXTUAL_AP = "contextual_sample_AP"

_CONTEXTUAL = (
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


DESCRIPTORS = (*_TRAINING, *_GAP, *_CONTEXTUAL)
