"""Accuracy of a classifier on corrupted images, and its errors against those of a reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainers.data.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from trainers.devices.host import finest, host
from trainers.errors import UserError
from trainers.parameters import entry

BATCH = 256
_ROUNDING = 1e-9  # of shares of at most some millions of images


@dataclass(frozen=True, kw_only=True)
class CorruptedAccuracy:
    """Shares of images that are classified correctly.

    Attributes:
        clean: on the images as they are.
        accuracy: corruption to severity to share.
    """

    clean: float
    accuracy: Mapping[str, Mapping[int, float]]

    @property
    def means(self) -> dict[str, float]:
        """Corruption to its mean over severities."""
        return {name: float(np.mean(list(shares.values()))) for name, shares in self.accuracy.items()}

    @property
    def mean(self) -> float:
        """Over all corruptions and severities."""
        return float(np.mean(list(self.means.values())))

    def mce(self, reference: CorruptedAccuracy) -> float:
        """Return the mean corruption error (Hendrycks and Dietterich 2019): errors summed over severities, divided by
        those of the reference, mean over corruptions; NaN where the reference makes no error under one of them.

        Raises:
            UserError: the corruptions or severities are others than those of the reference.
        """
        return _mean_ratio(self._errors(reference), reference._errors(self))

    def relative_mce(self, reference: CorruptedAccuracy) -> float:
        """Compute the same of the errors beyond those on the images as they are; NaN where a corruption adds none to
        the reference's. The mean over severities takes the place of the sum, which cancels.

        Raises:
            UserError: as of :meth:`mce`.
        """
        errors, of_reference = self._errors(reference), reference._errors(self)
        return _mean_ratio(errors - (1 - self.clean), of_reference - (1 - reference.clean))

    def _errors(self, like: CorruptedAccuracy) -> np.ndarray:
        """Return the mean error over severities, float64 ``[C]``, corruptions by name."""
        shown = {name: sorted(shares) for name, shares in self.accuracy.items()}
        if shown != {name: sorted(shares) for name, shares in like.accuracy.items()}:
            raise UserError(
                "Errors are compared under the same corruptions and severities; these differ. Measure both alike."
            )
        return np.array([1 - self.means[name] for name in sorted(shown)])


def _mean_ratio(errors: np.ndarray, reference: np.ndarray) -> float:
    """Return the mean of quotients; NaN where the reference has nothing, but for rounding, to divide by."""
    return float((errors / reference).mean()) if (reference > _ROUNDING).all() else math.nan


def corrupted_accuracy(
    predict: Callable[[Tensor], Tensor],
    images: Tensor,
    labels: Tensor,
    severities: Sequence[int] = SEVERITIES,
    progress: Callable[[int, int], None] | None = None,
    *,
    names: Sequence[str] | None = None,
    seed: int = 0,
    batch: int = BATCH,
    device: torch.device | None = None,
) -> CorruptedAccuracy:
    """Classify the images under every corruption at every severity, and as they are.

    Args:
        predict: uint8 ``[b, C, H, W]`` on the device to class ids, integers ``[b]`` on any device.
        images: uint8 ``[N, C, H, W]``.
        labels: class ids ``[N]`` or ``[N, L]``, of which the finest are used.
        severities: some of 1 to 5.
        progress: called after each batch with the images classified so far and in all; it may raise to stop.
        names: corruptions; None: all.
        seed: of the draws.
        batch: images at a time, drawn together: another number draws otherwise.
        device: where to corrupt; None: where the images are.

    Raises:
        UserError: there is no image, no severity or no such corruption, or the numbers of labels do not fit.
    """
    chosen = tuple(CORRUPTIONS if names is None else names)
    for name in chosen:
        entry(CORRUPTIONS, name, "corruption")
    classes = host(finest(torch.as_tensor(labels)))
    if not chosen or not severities or len(images) == 0 or len(classes) != len(images):
        raise UserError(
            f"Accuracy on corrupted images needs a corruption, a severity, and images with a label each; got "
            f"{len(chosen)}, {len(severities)}, {len(images)} images and {len(classes)} labels."
        )
    device = images.device if device is None else device
    wanted = [("", 0), *((name, severity) for name in chosen for severity in severities)]
    right = dict.fromkeys(wanted, 0)
    done, total = 0, len(images) * len(wanted)
    for first in range(0, len(images), batch):
        some = images[first : first + batch].to(device)
        for name, severity in wanted:
            given = corrupt(CORRUPTIONS[name], some, severity=severity, seed=seed, first=first) if name else some
            right[name, severity] += int((host(predict(given)) == classes[first : first + batch]).sum())
            done += len(some)
            if progress is not None:
                progress(done, total)
    shares = {key: count / len(images) for key, count in right.items()}
    accuracy = {name: {severity: shares[name, severity] for severity in severities} for name in chosen}
    return CorruptedAccuracy(clean=shares["", 0], accuracy=accuracy)
