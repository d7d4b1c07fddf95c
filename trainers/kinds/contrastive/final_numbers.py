"""Scores an arm at the end of a run: the whole test set, and another dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor
from torch.nn import functional

from trainers.config import DataChoice
from trainers.data import load_data
from trainers.data.base import LoadedData
from trainers.errors import UserError
from trainers.kinds.contrastive.arm import MethodArm
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.contrastive.evaluation import Images, classified, on_host, retrieval
from trainers.metrics import counts
from trainers.metrics.representation import (
    class_collapse,
    effective_rank,
    knn_accuracy,
    linear_probe,
    uniformity,
)
from trainers.progress import Progress, part_of
from trainers.training.embedding import embed

PROBE_STEPS = 1000
PAIRS = 5000  # test images whose pairs give the uniformity


class FinalNumbers:
    """Holds what the last numbers are measured on.

    Args:
        config: of the run.
        images: of the run.
        classes: int64 ``[C]``, label of each column of the classifiers; None: the images have no classes.
        device: where encoders live.
    """

    def __init__(self, config: ContrastiveConfig, images: Images, classes: Tensor | None, device: torch.device) -> None:
        self._config, self._images, self._classes, self._device = config, images, classes, device

    def check(self, tell: Progress) -> None:
        """Read the other dataset once before training, so that what is wrong with it is known before hours of it.

        Raises:
            UserError: it cannot be read, or has too few classes or images of another kind.
        """
        if self._config.transfer is not None:
            self._other(self._config.transfer, tell)

    def of(self, arm: MethodArm, classifier: bool, tell: Progress) -> Iterator[dict[str, float]]:
        """Yield the numbers of an arm, keyed ``test/<metric>``, a part at a time; those of another dataset come last.

        Args:
            classifier: the arm's classifier has been trained.
            tell: told what is done, and the fraction; it may raise to give up.

        Raises:
            UserError: the other dataset has too few classes or images of another kind.
        """
        share = 1.0 if self._config.transfer is None else 0.5
        yield _keyed(self._whole_test(arm, classifier, part_of(tell, 0, share)))
        if self._config.transfer is not None:
            accuracy = self._transferred(arm, self._config.transfer, part_of(tell, share, 1))
            yield _keyed({"transfer_accuracy": accuracy})

    def _whole_test(self, arm: MethodArm, classifier: bool, tell: Progress) -> dict[str, float]:
        images, count = self._images, len(self._images.test)
        test = self._embedded(arm, images.test, "test", tell)
        values = {
            "uniformity": uniformity(test[:: max(1, count // PAIRS)]),
            "effective_rank": effective_rank(test),
            counts.IMAGES: float(count),
        }
        if images.before_cap > count:
            values[counts.BEFORE_CAP] = float(images.before_cap)
        if images.train_labels is None or images.test_labels is None:
            return values
        unit, labels = functional.normalize(test, dim=1), images.test_labels
        values |= retrieval(unit, labels, images.metrics, left_out=True, roles=images.roles)
        values |= counts.of_roles(images.roles)
        values["class_collapse"] = class_collapse(test, images.test_labels)
        if not images.comparable:
            return values
        train = self._embedded(arm, images.train, "training", tell)
        both = (train, images.train_labels, test, images.test_labels)
        values |= knn_accuracy(*both, progress=counter(tell, "classifying by neighbours", count))
        probe = linear_probe(*both, steps=PROBE_STEPS, progress=counter(tell, "training a linear probe", PROBE_STEPS))
        values |= {"probe_accuracy": probe.accuracy, "probe_rate": probe.rate}
        if classifier and arm.classifier is not None and self._classes is not None:
            values["classifier_accuracy"] = classified(on_host(arm.classifier), self._classes, test, images.test_labels)
        return values

    def _embedded(self, arm: MethodArm, images: Tensor, which: str, tell: Progress) -> Tensor:
        return embed(
            arm.encoder, images, self._device, counter(tell, f"embedding the {which} set", len(images)), unit=False
        )

    def _transferred(self, arm: MethodArm, source: str, tell: Progress) -> float:
        """Measure a linear probe on another dataset, of which images are held out."""
        data = self._other(source, part_of(tell, 0, 0.3))
        parts = [self._embedded(arm, part.images, source, tell) for part in (data.train, data.test)]
        progress = counter(tell, f"training a linear probe on {source}", PROBE_STEPS)
        return linear_probe(
            parts[0], data.train.labels, parts[1], data.test.labels, steps=PROBE_STEPS, progress=progress
        ).accuracy

    def _other(self, source: str, tell: Progress) -> LoadedData:
        shape = self._images.train.shape[1:]
        most = self._config.data.max_images
        choice = DataChoice(source=source, held_out="images", image_size=int(shape[-1]), max_images=most)
        data = load_data(choice, tell)
        _check_transfer(data, source, int(shape[0]))
        return data


def _keyed(values: Mapping[str, float]) -> dict[str, float]:
    return {f"test/{key}": value for key, value in values.items() if math.isfinite(value)}


def _check_transfer(data: LoadedData, source: str, channels: int) -> None:
    if not data.labelled:
        raise UserError(f"Transfer needs a dataset with classes, and {source} has none. Choose another one.")
    if data.train.images.shape[1] != channels:
        kinds = {1: "grey", 3: "colour"}
        raise UserError(
            f"The encoder was trained on {kinds[channels]} images and {source} has "
            f"{kinds[data.train.images.shape[1]]} ones. Choose another dataset to transfer to."
        )


def counter(tell: Progress, doing: str, total: int) -> Callable[[int], None]:
    """Make a function of a count done that tells it in words."""
    return lambda done: tell(f"{doing}: {done:,} of {total:,}", done / total)
