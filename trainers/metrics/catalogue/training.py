"""Numbers that training itself gives: loss, speed, clipping, and how varied the results are."""

from __future__ import annotations

from functools import partial

from trainers.metrics.measure import Measure

PROCESSOR = "processor_seconds"
_number = partial(Measure, family="training", unit="number")
DESCRIPTORS = (
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
