"""Numbers that contrastive training gives: its dictionary of keys, its pretext task, its classifier and its probe."""

from __future__ import annotations

from trainers.metrics.measure import Measure

DESCRIPTORS = (
    Measure(
        name="probe_rate",
        title="Learning rate of the linear probe",
        short="probe rate",
        sentence="Learning rate at which the linear probe is best on held-out training images.",
        family="training",
        unit="number",
        better="",
        order=163,
    ),
    Measure(
        name="classifier_accuracy",
        title="Classifier accuracy",
        short="classifier",
        sentence="Share of test images that the classifier trained with the encoder, or after it, gets right.",
        family="training",
        order=164,
    ),
    Measure(
        name="contrast_accuracy",
        title="Contrast accuracy",
        short="own key first",
        sentence="Share of queries that are more similar to their own key than to every key of the dictionary.",
        family="training",
        order=180,
    ),
    Measure(
        name="dictionary_agreement",
        title="Dictionary agreement",
        short="agreement",
        sentence="Mean cosine between the keys in the queue and what the key encoder says of the same images now.",
        family="training",
        unit="number",
        order=181,
    ),
    Measure(
        name="queue_filled",
        title="Queue filled",
        sentence="Share of the queue that holds keys of images; the rest is still as it was drawn at the start.",
        family="training",
        better="",
        order=182,
    ),
)
