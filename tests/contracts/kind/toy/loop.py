"""The toy's loop: two stages, a second encoder that follows the first, a hook after the step."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from trainers.hierarchy import Hierarchy
from trainers.metrics import evaluate
from trainers.progress import Progress
from trainers.training.arm import Arm
from trainers.training.evaluation import Finish, ProbeResult
from trainers.training.labelled_loop import write_probe
from trainers.training.loop import Loop
from trainers.training.stage import Stage

POINTS = 12


class ToyArm(Arm):
    """An encoder, its moving average, a queue of embeddings, and a classifier that the second stage trains alone."""

    what = "points"

    def __init__(self, index, title, encoder, head, rate, device):
        self.encoder, self.head, self.rate = encoder, head, rate
        self.average = copy.deepcopy(encoder).requires_grad_(False)
        networks = {"encoder": encoder, "average": self.average, "head": head}
        super().__init__(index, title, networks, device, {"queue": torch.zeros(POINTS, 4), "place": torch.zeros(())})

    def groups(self, networks, stage):
        weights = [weight for net in networks.values() for weight in net.parameters() if weight.requires_grad]
        return [{"params": weights, "lr": self.rate, "weight_decay": stage.weight_decay}]

    def step(self, batch, factor):
        points, labels, rows, number = batch
        embeddings = functional.normalize(self.encoder(points), dim=1)
        loss = functional.cross_entropy(self.head(embeddings), labels)
        loss = loss + 0.01 * (embeddings @ self.state["queue"].T).square().mean()
        self.descend(loss, factor, number, rows)
        self.state["queue"][int(self.state["place"])] = embeddings[0].detach()
        self.state["place"].add_(1).remainder_(POINTS)
        return {"loss": loss.detach(), "examples": float(len(labels))}

    @torch.no_grad()
    def after_step(self):
        for mean, weight in zip(self.average.parameters(), self.encoder.parameters(), strict=True):
            mean.lerp_(weight, 0.5)


class ToyLoop(Loop):
    """Trains encoder and head, then the head alone."""

    def _stages(self):
        joint = Stage.of(self.config, networks=("encoder", "head"), title="encoder and head")
        return joint, Stage.of(
            self.config, networks=("head",), title="head alone", steps=self.config.head_steps, minutes=None
        )

    def _batch(self):
        rows = torch.arange(self.step, self.step + 8) % len(self.labels)
        return self.points[rows], self.labels[rows], rows, self.step

    def _result(self, arm):
        with torch.inference_mode():
            embeddings = functional.normalize(arm.average(self.points), dim=1)
        scores = evaluate(embeddings, self.labels[:, None], metrics=["R_at_1"])
        return ProbeResult(embeddings=embeddings.clone(), numbers={"R_at_1": float(scores["R_at_1"])})

    def _evaluate(self, arm) -> Finish:
        result = self._result(arm)
        return lambda: result

    def _last_numbers(self, tell: Progress) -> None:
        for arm in self.arms:
            tell("scoring", 0.0)
            numbers = {"test/R_at_1": self._result(arm).numbers["R_at_1"], "test/images": float(len(self.labels))}
            self._scalars.now(arm.index, self.step, self.seconds, numbers)

    def _build(self, tell: Progress) -> None:
        config = self.config
        draws = torch.Generator().manual_seed(config.seed)
        self.labels = torch.arange(config.clusters).repeat_interleave(POINTS)
        centres = torch.randn(config.clusters, 6, generator=draws)
        self.points = centres[self.labels] + 0.5 * torch.randn(len(self.labels), 6, generator=draws)
        torch.manual_seed(config.seed)
        encoder, head = nn.Linear(6, 4), nn.Linear(4, config.clusters)
        self.arms = [
            ToyArm(i, f"rate {rate:g}", copy.deepcopy(encoder), copy.deepcopy(head), rate, self._device)
            for i, rate in enumerate(config.rates)
        ]
        if self.folder.probe() is None:
            names = tuple(f"cluster {n}" for n in range(config.clusters))
            shades = (self.labels * 40 % 256).to(torch.uint8)[:, None, None, None].expand(-1, 3, 16, 16)
            self._scalars.write_at_start(len(self.arms), {"probe_images": float(len(self.labels))})
            write_probe(
                self.folder,
                shades,
                labels=self.labels[:, None].to(torch.int32).numpy(),
                rows=np.arange(len(self.labels)),
                hierarchy=Hierarchy(levels=("cluster",), names=(names,)),
                data_title="Clusters",
            )
