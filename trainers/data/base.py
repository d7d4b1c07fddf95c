"""The common form of every dataset with labels, and how it tells how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from trainers.data.pixel_range import PixelRange
from trainers.hierarchy import Hierarchy

ROLE = "role"
"""Attribute of the images of a test set that is divided in those that are searched for and those that are searched."""
QUERY, GALLERY = "query", "gallery"
"""Its values, in this order."""
CAMERA = "camera"
"""Attribute of images for re-identification: a query does not find images of its class by its own camera."""


@dataclass(frozen=True, kw_only=True)
class ImageSet:
    """One split, decoded once.

    Attributes:
        images: uint8 [N, C, H, W], C is 1 (all grey) or 3; H equals W. May be backed by a memory map.
        labels: int64 [N, L], finest level first; class ids index ``Hierarchy.names``.
        true_labels: int64 [N, L], as they were before label noise; None: ``labels`` are.
        before_cap: images there were before the cap on images; N or fewer: nothing was cut.
        attributes: int64 [N] each, what is known of the images beside their classes; ids index
            ``LoadedData.attributes`` of the same name.
        names: file name of each image below the folder of the dataset; nothing where they have none.
        chosen: equal for equal choices among the images of the split; empty: they are all there.
    """

    images: Tensor
    labels: Tensor
    true_labels: Tensor | None = None
    before_cap: int = 0
    attributes: Mapping[str, Tensor] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    chosen: str = ""

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    @property
    def truth(self) -> Tensor:
        """The labels without label noise, int64 [N, L]."""
        return self.labels if self.true_labels is None else self.true_labels


@dataclass(frozen=True, kw_only=True)
class LoadedData:
    """A dataset ready for training: train and test share no finest class, unless whole images are held out.

    Attributes:
        name: what was asked for (catalogue name, folder or Hub id).
        title: a short name to show.
        hierarchy: class names of both splits together, finest level first.
        train, test: the two splits; both hold images of the same shape.
        fingerprint: hexadecimal; equal when the images, labels and their order are equal. It is that of the images
            without label noise and with what is withheld.
        notes: plain sentences about decisions and losses, in the order they were made.
        licence: of the images, ``unknown`` if not stated.
        labelled: False: there are no classes; every label is 0.
        attributes: names of the values of each attribute of the images.
        revision: the commit of the Hub that was read; empty: it is not of the Hub, or the Hub was not asked.
        pixel_range: the values that became black and white in images of more than 8 bits; None: there are none.
    """

    name: str
    title: str
    hierarchy: Hierarchy
    train: ImageSet
    test: ImageSet
    fingerprint: str
    notes: tuple[str, ...]
    licence: str
    labelled: bool = True
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    revision: str = ""
    pixel_range: PixelRange | None = None

    def mark(self, part: str) -> str:
        """Return a mark that is equal where the images of a part, ``train`` or ``test``, and their order are."""
        chosen: ImageSet = getattr(self, part)
        return f"{self.fingerprint}/{part}{chosen.chosen}"
