"""Evaluates encoders during contrastive training, and at its end: the whole test set, and another dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.config import DataChoice
from trainers.data import load_data
from trainers.data.base import LoadedData
from trainers.data.roles import Roles, choose_probe
from trainers.devices.host import send
from trainers.distributed.group import rank
from trainers.errors import UserError
from trainers.kinds.contrastive.arm import MethodArm
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.metrics import counts
from trainers.metrics.catalogue.counts import LEFT_OUT
from trainers.metrics.names import joined, measurable
from trainers.metrics.representation import (
    alignment,
    class_collapse,
    effective_rank,
    knn_accuracy,
    linear_probe,
    uniformity,
)
from trainers.metrics.scores import score_roles
from trainers.progress import Progress, part_of
from trainers.training.embedding import embed, embedded, folded
from trainers.training.evaluation import Finish, HostCopy, ProbeResult

BANK = 2000  # training images that vote and train the probe while training goes on
PAIRS = 256  # probe images whose two views are compared
KEYS = 256  # of the dictionary, compared with what the encoder says now
AGES = 8  # groups of keys by age
PROBE_STEPS = 200


@dataclass(frozen=True, kw_only=True)
class EvaluationImages:
    """The images that encoders are evaluated on.

    Attributes:
        train, test: uint8 ``[N, C, H, W]``.
        train_labels, test_labels: int64 ``[N, L]``, finest first, numbered alike; None: the images have no classes.
        probe: int64 ``[P]``, rows of the test set on the maps.
        before_cap: test images before the cap on images.
        metrics: names of further metrics; on the probe those that it is large enough for.
        roles: of the test images in retrieval; None: each is searched for among all others.
    """

    train: Tensor
    test: Tensor
    train_labels: Tensor | None
    test_labels: Tensor | None
    probe: Tensor
    before_cap: int = 0
    metrics: tuple[str, ...] = ()
    roles: Roles | None = None

    @property
    def comparable(self) -> bool:
        """Whether test images are of classes that are trained on, so that they can be classified."""
        if self.train_labels is None or self.test_labels is None:
            return False
        return bool(torch.isin(self.test_labels[:, 0], self.train_labels[:, 0]).any())


class ContrastiveEvaluator:
    """Holds the fixed images that every arm is evaluated on.

    Args:
        images: all of them.
        view: makes an augmented view of a number of uint8 images, for the alignment of pairs.
        classes: int64 ``[C]``, label of each column of the classifiers.
        device: where encoders live.
    """

    def __init__(
        self,
        images: EvaluationImages,
        *,
        view: Callable[[Tensor, int], Tensor],
        classes: Tensor | None,
        device: torch.device,
    ) -> None:
        self._images, self._classes, self._device = images, classes, device
        self._probe = send(images.test[images.probe], device)
        self._labels = None if images.test_labels is None else images.test_labels[images.probe]
        self._roles = None if images.roles is None else images.roles.take(images.probe.numpy())
        if images.train_labels is None:
            rows = torch.linspace(0, len(images.train) - 1, min(BANK, len(images.train))).long()
        else:
            rows = choose_probe(images.train_labels, BANK, seed=0)
        self._bank = send(images.train[rows], device)
        self._bank_labels = None if images.train_labels is None else images.train_labels[rows]
        self._pairs = tuple(view(self._probe[:PAIRS], number) for number in (0, 1))

    # ---------------------------------------------------------- while it trains

    def begin(self, arm: MethodArm, *, classifier: bool, probing: bool) -> Finish:
        """Begin an evaluation: the encoder's work is queued on the device; the returned function scores copies of it.

        Args:
            classifier: the arm's classifier has been trained, and is scored.
            probing: also train a linear probe.
        """
        twin = folded(arm.encoder)
        sources = {"probe": self._probe, "first": self._pairs[0], "second": self._pairs[1]}
        if self._bank_labels is not None:
            sources["bank"] = self._bank
        copies = {
            name: [HostCopy(part) for part in embedded(twin, images, self._device, unit=False)]
            for name, images in sources.items()
        }
        head = on_host(arm.classifier) if classifier and arm.classifier is not None else None
        known = {} if rank() else self._dictionary(arm)

        def finish() -> ProbeResult:
            raw = {name: torch.cat([part.get() for part in parts]) for name, parts in copies.items()}
            numbers = {} if rank() else self._scored(raw, head, probing) | known  # the first process alone scores
            return ProbeResult(embeddings=functional.normalize(raw["probe"], dim=1), numbers=numbers)

        return finish

    def _scored(self, raw: Mapping[str, Tensor], head: nn.Linear | None, probing: bool) -> dict[str, float]:
        numbers = {
            "alignment": alignment(raw["first"], raw["second"]),
            "uniformity": uniformity(raw["probe"]),
            "effective_rank": effective_rank(raw["probe"]),
        }
        if self._labels is None or self._bank_labels is None:
            return numbers
        results = len(self._labels) if self._roles is None else 1 + len(self._roles.searched)
        asked = measurable(self._images.metrics, self._labels.shape[1], results)
        numbers |= retrieval(functional.normalize(raw["probe"], dim=1), self._labels, asked, roles=self._roles)
        numbers["class_collapse"] = class_collapse(raw["probe"], self._labels)
        if not self._images.comparable:
            return _finite(numbers)
        numbers |= knn_accuracy(raw["bank"], self._bank_labels, raw["probe"], self._labels)
        if head is not None and self._classes is not None:
            numbers["classifier_accuracy"] = classified(head, self._classes, raw["probe"], self._labels)
        if probing:
            result = linear_probe(raw["bank"], self._bank_labels, raw["probe"], self._labels, steps=PROBE_STEPS)
            numbers |= {"probe_accuracy": result.accuracy, "probe_rate": result.rate}
        return _finite(numbers)

    def _dictionary(self, arm: MethodArm) -> dict[str, float]:
        """Measure how full the dictionary is, and how similar its keys are to those that their images have now."""
        dictionary = arm.method.dictionary
        if dictionary is None:
            return {}
        keys, rows, ages = dictionary.sample(KEYS)
        if not len(keys):
            return {}
        training = arm.method.training
        arm.method.eval()
        images = send(self._images.train[rows.cpu()], self._device).float().div_(255)
        now = functional.normalize(dictionary.encode_keys(images).float(), dim=1)
        arm.method.train(training)
        similar = (now * keys.float()).sum(1)
        numbers = {
            "queue_filled": dictionary.filled,
            "dictionary_agreement": float(similar.mean()),
            "key_variance": float((keys - keys.mean(0)).float().square().sum(1).mean()),
        }
        for key, values in (("queue_similarity", similar), ("queue_age", ages.float())):
            groups = enumerate(values.chunk(AGES), start=1)
            numbers |= {f"{key}/{group} of {AGES}": float(part.mean()) for group, part in groups}
        return numbers

    # ------------------------------------------------------------------ at first

    def floor(self) -> dict[str, float]:
        """Measure what is known before training: the number of images and, with classes, the scores of raw pixels."""
        sizes = {counts.PROBE: float(len(self._probe))}
        if self._labels is None or self._bank_labels is None:
            return sizes
        pixels, bank = (part.cpu().float().flatten(1) for part in (self._probe, self._bank))
        scores = score_roles(functional.normalize(pixels, dim=1), self._labels, self._roles, ["R_at_1"])
        result = scores.means(self._labels.shape[1])
        known = {"floor_R_at_1": result["R_at_1"], LEFT_OUT: result[LEFT_OUT]}
        known |= counts.of_roles(self._roles, counts.OF_PROBE)
        if self._images.comparable:
            known["floor_knn_accuracy"] = knn_accuracy(bank, self._bank_labels, pixels, self._labels)["knn_accuracy"]
        return sizes | {counts.TRAIN: float(len(self._bank))} | {key: float(value) for key, value in known.items()}


def _finite(numbers: Mapping[str, float]) -> dict[str, float]:
    return {key: value for key, value in numbers.items() if math.isfinite(value)}


def retrieval(
    embeddings: Tensor,
    labels: Tensor,
    asked: Sequence[str] = (),
    *,
    left_out: bool = False,
    roles: Roles | None = None,
) -> dict[str, float]:
    """Compute R@1, mAP@R, the hierarchical metrics and those ``asked`` for, of unit embeddings.

    Args:
        left_out: and :data:`LEFT_OUT`.
        roles: of the images; None: each is searched for among all others.
    """
    names = joined(["R_at_1", "AP_at_R", "HAP", "NDCG", "ASI"], asked)
    result = score_roles(embeddings, labels, roles, names).means(labels.shape[1])
    return {name: float(result[name]) for name in [*names, *([LEFT_OUT] if left_out else [])]}


@torch.inference_mode()
def classified(head: nn.Linear, classes: Tensor, features: Tensor, labels: Tensor) -> float:
    """Share of features that a classifier gets right.

    Args:
        head: on the CPU.
        classes: int64 ``[C]``, the label of each of its columns.
        features: ``[N, F]``, raw.
        labels: int64 ``[N, L]``, of which the finest are used.
    """
    return float((classes[head(features).argmax(1)] == labels[:, 0]).float().mean())


def on_host(head: nn.Linear) -> nn.Linear:
    """Copy a layer to the CPU."""
    copied = nn.Linear(head.in_features, head.out_features)
    copied.load_state_dict({name: value.detach().cpu().clone() for name, value in head.state_dict().items()})
    return copied


LAST_PROBE_STEPS = 1000
LAST_PAIRS = 5000  # test images whose pairs give the uniformity


class FinalNumbers:
    """Holds what the last numbers are measured on.

    Args:
        config: of the run.
        images: of the run.
        classes: int64 ``[C]``, label of each column of the classifiers; None: the images have no classes.
        device: where encoders live.
    """

    def __init__(
        self, config: ContrastiveConfig, images: EvaluationImages, classes: Tensor | None, device: torch.device
    ) -> None:
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
            "uniformity": uniformity(test[:: max(1, count // LAST_PAIRS)]),
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
        probe = linear_probe(
            *both, steps=LAST_PROBE_STEPS, progress=counter(tell, "training a linear probe", LAST_PROBE_STEPS)
        )
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
        progress = counter(tell, f"training a linear probe on {source}", LAST_PROBE_STEPS)
        return linear_probe(
            parts[0], data.train.labels, parts[1], data.test.labels, steps=LAST_PROBE_STEPS, progress=progress
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
