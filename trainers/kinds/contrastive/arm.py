"""One arm of contrastive training: a method and a linear classifier."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from trainers.devices.host import send
from trainers.distributed.gather import whole
from trainers.kinds.contrastive.batches import ViewBatch
from trainers.kinds.contrastive.methods import Method, Views
from trainers.kinds.contrastive.networks import encode_whole, first_output, full, started_again
from trainers.metrics.representation import mean_cosine
from trainers.training.arm import Arm
from trainers.training.stage import Stage

CLASSIFIER = "classifier"
"""Name of the classifier among an arm's networks."""


class MethodArm(Arm):
    """Trains a method; then, in a stage that trains the classifier alone, that on the frozen encoder.

    A classifier that was trained with the encoder stays as it is in that stage: its method has one stage (SupCon,
    section 4: joint training instead of two stages; cross-entropy).

    Args:
        index, title: of the arm.
        method: on its own networks.
        classifier: from features to classes; None: the images have no classes.
        seed: of the classifier's first weights in its own stage.
        device: where all of it lives.
    """

    layout = torch.channels_last

    def __init__(
        self, index: int, title: str, method: Method, classifier: nn.Linear | None, seed: int, device: torch.device
    ) -> None:
        self.method = method.to(device).to(memory_format=self.layout)
        self.classifier = None if classifier is None else classifier.to(device)
        self._seed = seed
        networks: dict[str, nn.Module] = {"method": self.method}
        if self.classifier is not None:
            networks[CLASSIFIER] = self.classifier
        super().__init__(index, title, networks, device)

    @property
    def encoder(self) -> nn.Module:
        """From images to features."""
        return self.method.encoder

    def begin(self, stage: Stage) -> None:
        """Train what ``stage`` trains; the classifier's own stage begins with new weights, the same for every arm."""
        self._alone = _alone(stage)
        self.waits = self._alone and self.method.classifier != "after"
        if self._alone and not self.waits and self.classifier is not None:
            started_again(self.classifier, self._seed)
        super().begin(stage)

    def groups(self, networks: Mapping[str, nn.Module], stage: Stage) -> list[dict[str, Any]]:
        """Return all weights that the method trains by gradient, at one rate."""
        left_out = CLASSIFIER if self.method.classifier == "after" and not _alone(stage) else None
        weights = [
            weight
            for name, net in networks.items()
            if name != left_out
            for weight in net.parameters()
            if weight.requires_grad
        ]
        equal = [] if self.classifier is None else list(self.classifier.parameters())  # it sees all images everywhere
        return [{"params": weights, "lr": stage.learning_rate, "weight_decay": stage.weight_decay, "equal": equal}]

    def step(self, batch: ViewBatch, factor: float) -> dict[str, Tensor | float]:
        """Take one optimizer step, or one for each part of the batch where the method takes fewer images at once.

        The learning rate of a part is the step's, times its share of the batch (the linear rule that SimCLR and MoCo's
        end-to-end training follow); all else is as if each part were a batch. The classifier's own stage has no parts.

        Returns:
            besides ``loss`` the method's own numbers, and ``batch_accuracy`` where a classifier is trained; means over
            the images of the batch.
        """
        count = 1 if self._alone else self.method.views
        size = None if self._alone else self.method.settings.batch
        views = self._views(batch, count)
        started = time.process_time()
        parts = [(len(part.rows) / len(batch.rows), self._optimised(part, factor, batch)) for part in views.parts(size)]
        # arms share views, and each is charged for those that it takes, as if it were trained alone
        self.processor_seconds += time.process_time() - started + sum(map(batch.seconds, range(count)))
        return {"examples": float(count * len(batch.rows)), **_mean(parts)}

    def _optimised(self, views: Views, factor: float, batch: ViewBatch) -> dict[str, Tensor]:
        """Take one optimizer step."""
        terms, numbers = self._classified(views) if self._alone else self._compared(views)
        loss = torch.stack(list(terms.values())).sum()
        self.descend(loss, factor * (len(views.rows) / len(batch.rows)), batch.step, views.rows)
        # also of a single term: the loss is another one in each stage
        named = {f"term/{name}": term.detach() for name, term in terms.items()}
        return {"loss": loss.detach(), **named, **numbers}

    def _compared(self, views: Views) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        self.method.train()
        count, share = len(views.rows), len(views.images[0])
        with first_output(self.encoder) as features, first_output(self.method.net) as projections:
            outcome = self.method(views)
        terms, numbers = dict(outcome.terms), dict(outcome.numbers)
        if projections and count > 1:
            numbers["projection_cosine"] = mean_cosine(whole(projections[0][:share].detach())).float()
        if self.method.classifier != "after" and self.classifier is not None and views.labels is not None:
            embeddings = whole(features[0][:share])
            logits = self.classifier(full(embeddings if self.method.classifier == "through" else embeddings.detach()))
            labels = send(views.labels, self._device)
            terms["classifier"] = self.method.criterion(logits, labels)
            numbers["batch_accuracy"] = _accuracy(logits, labels)
        return terms, numbers

    def _classified(self, views: Views) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        assert self.classifier is not None and views.labels is not None
        self.method.eval()
        with torch.no_grad():
            features = encode_whole(self.encoder, views.images[0])
        logits, labels = self.classifier(features), send(views.labels, self._device)
        terms = {"classifier": self.method.criterion(logits, labels)}
        return terms, {"batch_accuracy": _accuracy(logits, labels)}

    def _views(self, batch: ViewBatch, count: int) -> Views:
        images = tuple(self.laid_out(batch.view(number)) for number in range(count))
        return Views(images=images, labels=batch.labels, rows=batch.rows)


def _alone(stage: Stage) -> bool:
    return stage.networks is not None and set(stage.networks) == {CLASSIFIER}


def _mean(parts: Sequence[tuple[float, dict[str, Tensor]]]) -> dict[str, Tensor]:
    """Return each number's mean over parts of a batch, which are given with their shares of it."""
    (_, first), *others = parts
    if not others:
        return first
    return {key: torch.stack([share * numbers[key] for share, numbers in parts]).sum() for key in first}


def _accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    return (logits.detach().argmax(1) == labels).float().mean()
