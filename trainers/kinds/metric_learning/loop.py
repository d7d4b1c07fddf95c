"""Metric learning on images with labels: several losses in lockstep on the same batches."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from trainers.data.base import LoadedData
from trainers.data.labelled.dataset_cache import image_fingerprint
from trainers.data.roles import Roles, choose_probe
from trainers.devices.precision import autocast
from trainers.distributed.gather import own_draws, whole, whole_statistics
from trainers.distributed.group import rank, world
from trainers.encoders import ENCODERS, Encoder
from trainers.kinds.metric_learning.batches import ImageBatch, ImageBatches
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.evaluation import (
    LEFT_OUT,
    ProbeEvaluator,
    ShownImages,
    gap_batches,
    left_out,
)
from trainers.kinds.metric_learning.frozen_features import fit_head, frozen_features
from trainers.kinds.metric_learning.suited import Suited, advice, suit
from trainers.losses import LOSSES, LossDescriptor, LossModule, kernel, surrogates
from trainers.losses._memory import give_memory
from trainers.metrics.names import joined, own_metrics
from trainers.progress import Progress
from trainers.training.arm import Arm
from trainers.training.evaluation import Finish
from trainers.training.labelled_loop import LabelledLoop
from trainers.training.query_shares import shared_terms
from trainers.training.stage import Stage
from trainers.untrained.of_training import UntrainedRows, of_data


class LossArm(Arm):
    """Steps one encoder with one loss, whose proxies are trained with it."""

    layout = torch.channels_last

    def __init__(
        self, index: int, descriptor: LossDescriptor, loss: LossModule, encoder: Encoder, device: torch.device
    ) -> None:
        self.descriptor = descriptor
        self.encoder = encoder.to(device).to(memory_format=self.layout)
        self.loss = loss.to(device)
        self._terms = shared_terms(self.loss, descriptor)
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

    def step(self, batch: ImageBatch, factor: float) -> dict[str, Tensor | float]:
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
            terms = self._terms(embeddings, batch.labels)
            loss = torch.stack(list(terms.values())).sum()
        self.descend(loss, factor, batch.step, batch.rows)
        scalars: dict[str, Tensor | float] = {"loss": loss.detach(), "examples": float(len(images) * world())}
        if len(terms) > 1:
            scalars.update({f"term/{name}": term.detach() for name, term in terms.items()})
        return scalars


TRAIN_SECONDS = 10.0  # of training between two train R@1, which changes slowly and costs half an evaluation


class MetricLearningLoop(LabelledLoop):
    """Trains an encoder per loss; see :class:`trainers.training.loop.Loop`."""

    arms: list[LossArm]
    config: MetricLearningConfig
    _roles: Roles | None
    _train_evaluated = (-1, -math.inf)  # step and seconds of the last train R@1

    def _batch(self) -> ImageBatch:
        return self._batches.batch(self.step)

    def _evaluate(self, arm: LossArm) -> Finish:
        # with training images rarely, where evaluations are timed by the clock
        if self.config.snapshot_steps or self.seconds - self._train_evaluated[1] >= TRAIN_SECONDS:
            self._train_evaluated = (self.step, self.seconds)
        evaluation = self._evaluator.begin(arm.encoder, training=self._train_evaluated[0] == self.step)
        return evaluation if self._shown is None else self._shown.beside(arm.encoder, evaluation)

    def _last_numbers(self, tell: Progress) -> None:
        if self._train_evaluated[0] != self.step:
            for arm in self.arms:
                self._scalars.now(arm.index, self.step, self.seconds, self._evaluator.train_score(arm.encoder))
        ended = []
        for arm, progress in self._each_arm(tell):
            ended.append(self._evaluator.whole_test(arm.encoder, progress))
            self._scalars.now(arm.index, self.step, self.seconds, ended[-1].numbers)
        if rank():
            return
        self.folder.write_queries(self._evaluator.query_scores(ended))
        self._untrained.end([each.judged for each in ended], tell)
        self.folder.log(left_out(ended[-1].numbers[f"test/{LEFT_OUT}"], "of the test set", self._roles))

    # ----------------------------------------------------------------- set-up

    def _build(self, tell: Progress) -> None:
        config = self.config
        data = self._load(tell)
        suited = suit(config, data)
        for sentence in suited.notes:
            self.folder.log(sentence)
        for sentence in advice(config, suited.per_batch):
            self.folder.log(f"note: {sentence}")
        self._epoch = max(1, len(suited.labels) // (suited.per_batch * config.images_per_class))
        encoder = self._first_encoder(config.width)
        if encoder.origin:
            self.folder.log(encoder.origin)
        train, test = data.train.images, data.test.images
        if encoder.frozen:
            train, test = (self._features(encoder, data, part, tell) for part in ("train", "test"))
        if encoder.fitted:
            fit_head(encoder, train, self._device, tell)
        self.arms = self._make_arms(encoder, suited.labels, suited.classes)
        if ranked := set().union(*(surrogates(arm.loss) for arm in self.arms)):
            self.folder.log(kernel(self._device, ranked))  # compiles here, before the first step is timed
        self._batches = self._make_batches(data, suited, train if encoder.frozen else None)
        self._prepare_evaluation(data, train, test)

    def _make_batches(self, data: LoadedData, suited: Suited, features: Tensor | None) -> ImageBatches:
        config = self.config
        return ImageBatches(
            dataclasses.replace(data.train, labels=suited.labels),
            suited.sampler,
            features=features,
            augmentation=config.augmentation,
            views=max(arm.descriptor.views for arm in self.arms),
            seed=config.seed,
            device=self._device,
        )

    def _prepare_evaluation(self, data: LoadedData, train: Tensor, test: Tensor) -> None:
        """Choose the probe and write it; ``train``, ``test``: images, or features of a frozen encoder."""
        config = self.config
        self._roles = roles = Roles.of(data.test.attributes, data.attributes)
        probe = choose_probe(data.test.labels, config.probe_size, seed=0, roles=roles)
        shown = probe if config.probe_of == "test" else choose_probe(data.train.truth, config.probe_size, seed=0)
        self._shown = None if config.probe_of == "test" else ShownImages(train[shown], self._device)
        names = joined(own_metrics(data.test.labels.shape[1]), config.metrics)
        rows = of_data(data, None if self._shown else probe, names)
        self._evaluator = ProbeEvaluator(
            train=train,
            train_labels=data.train.labels,
            train_truth=data.train.truth,
            test=test,
            test_labels=data.test.labels,
            probe=probe,
            device=self._device,
            test_before_cap=data.test.before_cap,
            metrics=config.metrics,
            batches=lambda labels: gap_batches(labels, config),
            fingerprint=image_fingerprint(data.test.images),
            roles=roles,
            chosen=rows.chosen,
        )
        published = ENCODERS[config.encoder.name].frozen and ENCODERS[config.encoder.name].pretrained(
            config.encoder.parameters
        )
        self._untrained = UntrainedRows(self.folder, config, rows, test if published else None, self._device)
        if not rank():
            self._untrained.begin()
        known = self._write_labelled_probe(data, shown, self._evaluator.floor, config.probe_of)
        if known is not None:
            of_probe = None if roles is None else roles.take(probe.numpy())
            self.folder.log(left_out(known[LEFT_OUT], "of the probe", of_probe))

    def _features(self, encoder: Encoder, data: LoadedData, part: str, tell: Progress) -> Tensor:
        images = getattr(data, part).images
        moved = encoder.to(self._device)
        return frozen_features(moved, images, fingerprint=data.mark(part), device=self._device, progress=tell)

    def _make_arms(self, encoder: Encoder, labels: Tensor, classes: int) -> list[LossArm]:
        first = torch.unique(labels, dim=0)  # sorted by the finest column, so row c is class c
        arms = []
        for index, choice in enumerate(self.config.losses):
            torch.manual_seed(self.config.seed + 1)  # equal proxies for losses that have them
            descriptor = LOSSES[choice.name]
            loss = descriptor.build(
                num_classes=classes, dim=self.config.width, class_labels=first, **dict(choice.parameters)
            )
            loss, note = give_memory(
                loss,
                descriptor,
                size=self.config.memory,
                after=self.config.memory_after,
                dim=self.config.width,
                levels=labels.shape[1],
            )
            if note:
                self.folder.log(note)
            arms.append(LossArm(index, descriptor, loss, copy.deepcopy(encoder), self._device))
        return arms
