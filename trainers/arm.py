"""One arm of a comparison: an encoder, a loss and their optimisers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from trainers.batches import Batch
from trainers.encoders import Encoder
from trainers.errors import UserError
from trainers.losses import LossDescriptor, LossModule

GRADIENT_LIMIT = 10.0  # norm; the Sup bounds have slope 100, and one such batch must not undo the warm-up


class NonFiniteLossError(UserError):
    """The loss or its gradient stopped being a number."""


class Arm:
    """Steps one model with one loss. Arms of a run start from the same weights and see the same batches."""

    def __init__(
        self,
        index: int,
        descriptor: LossDescriptor,
        loss: LossModule,
        encoder: Encoder,
        *,
        learning_rate: float,
        weight_decay: float,
        device: torch.device,
    ) -> None:
        self.index = index
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
        self._optimiser = torch.optim.AdamW(groups)
        self._rates = [group["lr"] for group in groups]
        self._trained = trained + proxies

    def step(self, batch: Batch, factor: float) -> dict[str, float]:
        """One optimiser step.

        Args:
            batch: the shared batch; a loss without views uses the first one.
            factor: the schedule's factor on the learning rates, 0..1.

        Returns:
            ``loss`` and, for a loss of several parts, ``term/<name>``.

        Raises:
            NonFiniteLossError: before any weight changes.
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
        value = loss.item()
        self._optimiser.zero_grad(set_to_none=True)
        norm = math.nan
        if math.isfinite(value):
            loss.backward()
            norm = nn.utils.clip_grad_norm_(self._trained, GRADIENT_LIMIT).item()
        if not math.isfinite(norm):
            rows = ", ".join(str(row) for row in batch.rows[:6].tolist())
            raise NonFiniteLossError(
                f"{self.descriptor.title} stopped being a number (loss {value}, gradient {norm}). "
                f"The batch held {len(batch.rows)} images, the first of them training rows {rows}. "
                "Try a smaller learning rate, or look at these images."
            )
        for group, rate in zip(self._optimiser.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        self._optimiser.step()
        scalars = {"loss": value}
        if len(terms) > 1:
            scalars.update({f"term/{name}": term.item() for name, term in terms.items()})
        return scalars

    def tensors(self) -> dict[str, Tensor]:
        """Weights, loss state and optimiser state by name, for a checkpoint."""
        prefix = f"arm{self.index}"
        found = {f"{prefix}/encoder/{name}": value for name, value in self.encoder.state_dict().items()}
        found.update({f"{prefix}/loss/{name}": value for name, value in self.loss.state_dict().items()})
        for number, state in self._optimiser.state_dict()["state"].items():
            found.update({f"{prefix}/optimiser/{number}/{name}": value for name, value in state.items()})
        return found

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`tensors` gave."""
        prefix = f"arm{self.index}/"
        own = {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
        self.encoder.load_state_dict(_under(own, "encoder/"))
        self.loss.load_state_dict(_under(own, "loss/"))
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in _under(own, "optimiser/").items():
            number, _, key = name.partition("/")
            state.setdefault(int(number), {})[key] = value
        whole = self._optimiser.state_dict()
        whole["state"] = state
        self._optimiser.load_state_dict(whole)


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value for name, value in tensors.items() if name.startswith(prefix)}
