"""The numbers of images that a run's numbers are about, and where its stages begin."""

from __future__ import annotations

from trainers.data.roles import Roles
from trainers.metrics.measure import Measure
from trainers.runs.records import STAGE

PROBE = "probe_images"
TRAIN = "train_images"
IMAGES = "images"
BEFORE_CAP = "images_before_cap"
QUERIES = "queries"
CAPTIONS = "sentences"
ALL_CAPTIONS = "dataset_captions"
IMAGE_CAP = "photos_of_each_split"
EPOCHS = "epochs_planned"
ROLE_QUERIES = "role_queries"
ROLE_GALLERY = "role_gallery"
OF_PROBE = "probe_"
LEFT_OUT = "queries_without_positive"
LEFT_OUT_WORDS = (
    "queries: {queries_without_positive} images of the test set have no second image of their class to find; R@1 and "
    "the other means over classes leave them out"
)


def of_roles(roles: Roles | None, prefix: str = "") -> dict[str, float]:
    """Return how many images are queries and how many the gallery; nothing where they have no roles.

    Args:
        prefix: of the keys; :data:`OF_PROBE` where they are those on the maps.
    """
    if roles is None:
        return {}
    sizes = {ROLE_QUERIES: len(roles.queries), ROLE_GALLERY: len(roles.searched)}
    return {f"{prefix}{key}": float(size) for key, size in sizes.items()}


def _count(name: str, title: str, sentence: str) -> Measure:
    return Measure(name=name, title=title, sentence=sentence, family="count", unit="count", better="", order=300)


DESCRIPTORS = (
    _count(PROBE, "test images on the map", "Test images that the numbers during training are about."),
    _count(TRAIN, "training images measured", "Training images that the numbers on training images are about."),
    _count(IMAGES, "images", "Images that the final numbers are about."),
    _count(BEFORE_CAP, "images before the cap", "Test images of the dataset, where a cap on images left some out."),
    _count(ROLE_QUERIES, "images searched for", "Test images that are searched for among the gallery."),
    _count(ROLE_GALLERY, "images searched among", "Test images that queries are searched for among."),
    _count(f"{OF_PROBE}{ROLE_QUERIES}", "images on the map searched for", "Images on the map that are searched for."),
    _count(f"{OF_PROBE}{ROLE_GALLERY}", "images on the map searched among", "Images that those are searched among."),
    _count(QUERIES, "removals", "Images without an object that the numbers are about."),
    _count(CAPTIONS, "captions", "Captions that the images without an object are scored against."),
    _count(ALL_CAPTIONS, "captions of the dataset", "Distinct captions, of which the numbers may be about a part."),
    _count(IMAGE_CAP, "images of each split at most", "Cap on the images of each split, where it was reached."),
    _count(f"{STAGE}*", "Stage: *", "Number of the stage, counted from 0, that begins at this step."),
    _count(EPOCHS, "epochs of the budget", "Passes over the training images within the budget of the first stage."),
    _count(LEFT_OUT, "queries without a positive", "Images with no second image of their class to find."),
)
