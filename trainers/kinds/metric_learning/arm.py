"""One arm of a metric-learning run: an encoder and a loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from trainers.devices.precision import autocast
from trainers.distributed.group import world
from trainers.distributed.whole import own_draws, whole, whole_statistics
from trainers.encoders import Encoder
from trainers.kinds.metric_learning.batches import Batch
from trainers.losses import LossDescriptor, LossModule
from trainers.training.arm import Arm
from trainers.training.own_queries import share_queries
from trainers.training.stage import Stage


class LossArm(Arm):
    """Steps one encoder with one loss, whose proxies are trained with it."""

    layout = torch.channels_last

    def __init__(
        self, index: int, descriptor: LossDescriptor, loss: LossModule, encoder: Encoder, device: torch.device
    ) -> None:
        self.descriptor = descriptor
        self.encoder = encoder.to(device).to(memory_format=self.layout)
        self.loss = loss.to(device)
        share_queries(self.loss, descriptor)
        super().__init__(index, descriptor.title, {"encoder": self.encoder, "loss": self.loss}, device)

    def groups(self, networks: Mapping[str, nn.Module], stage: Stage) -> list[dict[str, Any]]:
        """Return the encoder's weights, and without weight decay and at the loss's own rate its proxies."""
        rate = self.descriptor.proxy_learning_rate or stage.learning_rate
        kinds = {"encoder": (stage.learning_rate, stage.weight_decay), "loss": (rate, 0.0)}
        return [
            {
                "params": [p for p in net.parameters() if p.requires_grad],
                "lr": kinds[name][0],
                "weight_decay": kinds[name][1],
                # every process has the whole loss, and with it the whole gradient of its proxies
                "equal": list(net.parameters()) if name == "loss" else [],
            }
            for name, net in networks.items()
        ]

    def step(self, batch: Batch, factor: float) -> dict[str, Tensor | float]:
        """Take one optimizer step on the shared batch; a loss without views uses the first one.

        Returns:
            besides ``loss``, for a loss of several parts ``term/<name>``.
        """
        self.encoder.train()
        views = batch.views[: self.descriptor.views]
        images = self.laid_out(torch.cat(views) if len(views) > 1 else views[0])
        with autocast(self._device), own_draws(self._device), whole_statistics():
            embeddings = self.encoder(images)
        embeddings = embeddings.float()
        if self.descriptor.views > 1:
            embeddings = embeddings.reshape(len(views), len(views[0]), -1).transpose(0, 1)
        embeddings = whole(embeddings)
        with torch.autocast(self._device.type, enabled=False):
            terms = self.loss.terms(embeddings, batch.labels)
            loss = torch.stack(list(terms.values())).sum()
        self.descend(loss, factor, batch.step, batch.rows)
        scalars: dict[str, Tensor | float] = {"loss": loss.detach(), "examples": float(len(images) * world())}
        if len(terms) > 1:
            scalars.update({f"term/{name}": term.detach() for name, term in terms.items()})
        return scalars
