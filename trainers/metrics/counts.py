"""How much stands behind a run's numbers: written as numbers of their own, shown beside the others."""

from __future__ import annotations

from collections.abc import Mapping

PROBE = "probe_images"  # test images on the map, that the numbers during training speak of
TRAIN = "train_images"  # training images that train R@1 speaks of
IMAGES = "images"  # of the final score
BEFORE_CAP = "images_before_cap"  # test images that the set has, where a cap on images left some out
QUERIES = "queries"  # object-removed photos
SENTENCES = "sentences"  # that they are scored against
PHOTO_CAP = "photos_of_each_split"  # most that were read, where a cap on photos was reached

_ALL = frozenset({PROBE, TRAIN, IMAGES, BEFORE_CAP, QUERIES, SENTENCES, PHOTO_CAP})


def is_count(key: str) -> bool:
    """Whether a scalar counts something, and so is no curve."""
    name = key.removeprefix("test/")
    return name in _ALL or name.startswith("queries_")


def whole_test(found: Mapping[str, float]) -> str:
    """What the final numbers are about, e.g. ``whole test set, 60,995 images``.

    Args:
        found: the final numbers by key, ``test/`` taken off; older runs have no counts among them.
    """
    if QUERIES in found and PHOTO_CAP in found:
        said = f"{found[QUERIES]:,.0f} removals against {found[SENTENCES]:,.0f} sentences"
        return f"{said}, of {found[PHOTO_CAP]:,.0f} photos of each split at most"
    if QUERIES in found:
        return f"all {found[QUERIES]:,.0f} removals of the test set against all {found[SENTENCES]:,.0f} sentences"
    if BEFORE_CAP in found:
        return f"test set, {found[IMAGES]:,.0f} of its {found[BEFORE_CAP]:,.0f} images under the cap"
    return f"whole test set, {found[IMAGES]:,.0f} images" if IMAGES in found else "whole test set"
