"""Numbers that training itself gives: loss, speed, clipping, and how varied the results are."""

from __future__ import annotations

from trainers.metrics.measure import Measure

DESCRIPTORS = (
    Measure(
        name="loss",
        title="Loss",
        sentence="The loss, averaged over the steps since the value before.",
        family="training",
        unit="number",
        better="down",
        order=200,
    ),
    Measure(
        name="term/*",
        title="Loss term: *",
        sentence="One of several terms that make up the loss.",
        family="training",
        unit="number",
        better="down",
        order=210,
    ),
    Measure(
        name="images_per_s",
        title="Images per second",
        sentence="Training images per second, each view of an image and each pair with a caption counted once.",
        family="training",
        unit="number",
        order=220,
    ),
    Measure(
        name="clipped_share",
        title="Share of steps clipped",
        short="steps clipped",
        sentence="Share of all steps so far whose gradient was longer than the limit and was shortened.",
        family="training",
        better="",
        order=230,
    ),
    Measure(
        name="distinct_top1",
        title="Distinct first results",
        sentence="Different captions among the first results of all queries; the fewer, the more hubs there are.",
        family="training",
        unit="number",
        order=240,
    ),
)
