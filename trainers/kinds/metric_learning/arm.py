"""One arm of a comparison: an encoder, a loss and their optimisers."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from trainers.encoders import Encoder
from trainers.kinds.metric_learning.batches import Batch
from trainers.losses import LossDescriptor, LossModule
from trainers.training.clipping import Clipping
from trainers.training.deferred import depth_for
from trainers.training.optimizer import Stepper, under


class Arm:
    """Steps one model with one loss. Arms of a run start from the same weights and see the same batches."""

    def __init__(
        self,
        index: int,
        descriptor: LossDescriptor,
        loss: LossModule,
        encoder: Encoder,
        *,
        optimiser: str = "adamw",
        learning_rate: float,
        weight_decay: float,
        device: torch.device,
        clip_norm: float | None = None,
    ) -> None:
        self.index = index
        self.title = descriptor.title
        self.descriptor = descriptor
        self.encoder = encoder.to(device=device, memory_format=torch.channels_last)
        self.loss = loss.to(device)
        self._device = device
        trained = [p for p in self.encoder.parameters() if p.requires_grad]
        groups = [{"params": trained, "lr": learning_rate, "weight_decay": weight_decay}]
        proxies = [p for p in self.loss.parameters() if p.requires_grad]
        if proxies:
            rate = descriptor.proxy_learning_rate or learning_rate
            groups.append({"params": proxies, "lr": rate, "weight_decay": 0.0})
        self._stepper = Stepper(groups, optimiser=optimiser, clip_norm=clip_norm, depth=depth_for(device))

    def step(self, batch: Batch, factor: float) -> dict[str, Tensor]:
        """One optimiser step.

        Args:
            batch: the shared batch; a loss without views uses the first one.
            factor: the schedule's factor on the learning rates, 0..1.

        Returns:
            ``loss`` and, for a loss of several parts, ``term/<name>``: scalars on the device, to be read later.

        Raises:
            NonFiniteLossError: this step, or on a GPU the one before, was bad; it changed no weight.
        """
        self.encoder.train()
        views = batch.views[: self.descriptor.views]
        images = torch.cat(views) if len(views) > 1 else views[0]
        if images.ndim == 4:
            images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cuda", torch.bfloat16, enabled=self._device.type == "cuda"):
            embeddings = self.encoder(images)
        embeddings = embeddings.float()
        if self.descriptor.views > 1:
            embeddings = embeddings.reshape(len(views), len(batch.labels), -1).transpose(0, 1)
        with torch.autocast(self._device.type, enabled=False):
            terms = self.loss.terms(embeddings, batch.labels)
            loss = torch.stack(list(terms.values())).sum()
        number, rows = batch.step, batch.rows
        self._stepper.step(loss, factor, lambda value, norm: self._blame(number, rows, value, norm))
        scalars = {"loss": loss.detach()}
        if len(terms) > 1:
            scalars.update({f"term/{name}": term.detach() for name, term in terms.items()})
        return scalars

    def settle(self) -> None:
        """Wait for the steps taken so far.

        Raises:
            NonFiniteLossError: one of them was bad.
        """
        self._stepper.settle()

    @property
    def clipping(self) -> Clipping:
        """How often this arm's gradient was clipped."""
        return self._stepper.clipping

    def tensors(self) -> dict[str, Tensor]:
        """Weights, loss state and optimiser state by name, for a checkpoint."""
        prefix = f"arm{self.index}"
        found = {f"{prefix}/encoder/{name}": value for name, value in self.encoder.state_dict().items()}
        found.update({f"{prefix}/loss/{name}": value for name, value in self.loss.state_dict().items()})
        found.update(self._stepper.tensors(f"{prefix}/optimiser/"))
        return found

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`tensors` gave."""
        own = under(tensors, f"arm{self.index}/")
        self.encoder.load_state_dict(under(own, "encoder/"))
        self.loss.load_state_dict(under(own, "loss/"))
        self._stepper.load(under(own, "optimiser/"))

    def _blame(self, step: int, rows: Tensor, value: float, norm: float) -> str:
        first = ", ".join(str(row) for row in rows[:6].tolist())
        return (
            f"{self.descriptor.title} stopped being a number (loss {value}, gradient {norm}) in step {step + 1}. "
            f"The batch held {len(rows)} images, the first of them training rows {first}. "
            "Try a smaller learning rate, or look at these images."
        )
