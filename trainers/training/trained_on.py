"""The images and labels that a checkpoint was trained on, so that it is resumed on no other ones."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from trainers.errors import RunError


@dataclass(frozen=True, kw_only=True)
class TrainedOn:
    """The training images of a run.

    Attributes:
        images: how many there are.
        labels: hexadecimal, equal where their labels are, label noise included.
    """

    images: int
    labels: str

    @classmethod
    def of(cls, labels: Tensor) -> TrainedOn:
        """Make it from labels int64 ``[N, L]``."""
        digest = hashlib.blake2b(labels.contiguous().numpy().data, digest_size=16)
        return cls(images=len(labels), labels=digest.hexdigest())

    def about(self) -> dict[str, object]:
        """Return what a checkpoint says of them."""
        return {"trained_on": self.images, "trained_labels": self.labels}

    def check(self, about: Mapping[str, object], run: str) -> None:
        """Refuse other images than those of a checkpoint: its rows would mean other ones; and other labels.

        Args:
            about: what the checkpoint says; one of an older version says less.

        Raises:
            RunError: they are others.
        """
        before = about.get("trained_on", self.images)
        if before != self.images:
            raise RunError(
                f"Run {run} has been trained on {before} images, and now there are {self.images}. Restore the images "
                "as they were, or start a new run."
            )
        if about.get("trained_labels", self.labels) != self.labels:
            raise RunError(
                f"Run {run} has been trained with other labels of its {self.images} images. Restore the images and "
                "their hard conditions as they were, or start a new run."
            )
