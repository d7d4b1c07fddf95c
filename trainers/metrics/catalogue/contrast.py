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
        sentence="Mean cosine between stored keys, of augmented views, and what their encoder now makes of the same "
        "images, not augmented.",
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
    Measure(
        name="queue_similarity/*",
        title="Agreement of keys, age group *",
        short="agreement *",
        sentence="The same for one of eight groups of keys, from the youngest to the oldest.",
        family="training",
        unit="number",
        order=186,
    ),
    Measure(
        name="positives_share",
        title="Queries with a positive",
        short="with a positive",
        sentence="Share of a batch's images that have another image of their class to be compared with.",
        family="training",
        order=188,
    ),
    Measure(
        name="batch_accuracy",
        title="Classifier accuracy on training batches",
        short="on batches",
        sentence="Share of the augmented training images of a batch that the classifier gets right.",
        family="training",
        order=189,
    ),
    Measure(
        name="transfer_accuracy",
        title="Linear probe accuracy on the transfer dataset",
        short="transfer",
        sentence="Share of another dataset's test images that a linear classifier on the frozen encoder gets right.",
        family="training",
        order=190,
    ),
    Measure(
        name="corrupted_accuracy",
        title="Accuracy under corruptions",
        short="corrupted",
        sentence="Share of test images that the linear probe gets right, mean over 15 corruptions and 5 severities.",
        family="training",
        order=191,
    ),
    Measure(
        name="corrupted_accuracy/*",
        title="Accuracy under corruption: *",
        short="*",
        sentence="The same for one corruption, mean over five severities.",
        family="training",
        order=192,
    ),
)
