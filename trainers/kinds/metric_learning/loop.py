"""Metric learning on images with labels: several losses in lockstep on the same batches."""

from __future__ import annotations

import copy
import dataclasses
import math

import torch
from torch import Tensor

from trainers.data import load_data
from trainers.data.base import LoadedData, Progress
from trainers.data.labelled.stored import image_fingerprint
from trainers.data.probe import choose_probe
from trainers.encoders import ENCODERS, Encoder
from trainers.kinds.metric_learning.advice import advice
from trainers.kinds.metric_learning.arm import LossArm
from trainers.kinds.metric_learning.batches import Batch, Batches
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.evaluation import LEFT_OUT, Evaluator, left_out
from trainers.kinds.metric_learning.frozen_features import frozen_features
from trainers.kinds.metric_learning.gap_batches import gap_batches
from trainers.kinds.metric_learning.memory import footprint
from trainers.kinds.metric_learning.shown_images import ShownImages
from trainers.losses import LOSSES, forms, kernel
from trainers.losses._memory import give_memory
from trainers.metrics.asked import check_size
from trainers.samplers import SAMPLERS
from trainers.training.encoder_file import start_from
from trainers.training.evaluation import Finish
from trainers.training.loop import Loop
from trainers.training.memory_estimate import Shape, check_fits
from trainers.training.trained_on import TrainedOn

TRAIN_SECONDS = 10.0  # of training between two train R@1, which changes slowly and costs half an evaluation


class MetricLearningLoop(Loop):
    """Trains an encoder per loss; see :class:`trainers.training.loop.Loop`."""

    arms: list[LossArm]
    config: MetricLearningConfig
    _train_evaluated = (-1, -math.inf)  # step and seconds of the last train R@1

    def _batch(self) -> Batch:
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
        for number, arm in enumerate(self.arms, start=1):
            which = f", {arm.title} ({number} of {len(self.arms)})" if len(self.arms) > 1 else ""
            ended.append(
                self._evaluator.whole_test(arm.encoder, lambda text, done, which=which: tell(text + which, done))
            )
            self._scalars.now(arm.index, self.step, self.seconds, ended[-1].numbers)
        self.folder.write_queries(self._evaluator.query_scores(ended))
        self.folder.log(left_out(ended[-1].numbers[f"test/{LEFT_OUT}"], "of the test set"))

    # ----------------------------------------------------------------- set-up

    def _build(self, tell: Progress) -> None:
        config = self.config
        data = load_data(config.data, tell)
        for note in data.notes:
            self.folder.log(f"data: {note}")
        classes, compact = torch.unique(data.train.labels[:, 0], return_inverse=True)
        usable = int((torch.bincount(compact) > 1).sum())
        per_batch = max(1, min(config.classes_per_batch, usable))
        if per_batch < config.classes_per_batch:
            self.folder.log(
                f"batch: {per_batch} classes, all there are to train on; {config.classes_per_batch} were asked for"
            )
        self._epoch = max(1, len(compact) // (per_batch * config.images_per_class))
        check_size(config.metrics, data.test.labels.shape[1], len(data.test))
        for sentence in advice(config, per_batch):
            self.folder.log(f"note: {sentence}")
        labels = torch.cat([compact[:, None], data.train.labels[:, 1:]], dim=1)
        _, channels, side, _ = data.train.images.shape
        self._images, self._trained_on = (channels, side), TrainedOn.of(data.train.labels)
        images = len(data.train) + len(data.test)
        check_fits(footprint(config, Shape(images=images, channels=channels, side=side, classes=len(classes))))
        torch.manual_seed(config.seed)
        encoder = ENCODERS[config.encoder.name].build(
            channels=channels, side=side, dim=config.dim, parameters=config.encoder.parameters
        )
        if config.start:
            start_from(encoder, self.folder, config.start)
        train, test = data.train.images, data.test.images
        if encoder.frozen:
            train, test = (self._features(encoder, data, part, tell) for part in ("train", "test"))
        self.arms = self._make_arms(encoder, labels, len(classes))
        if ranked := set().union(*(forms(arm.loss) for arm in self.arms)):
            self.folder.log(kernel(self._device, ranked))  # compiles here, before the first step is timed
        sampler = SAMPLERS[config.sampler].build(labels, per_batch, config.images_per_class, config.seed)
        views = max(arm.descriptor.views for arm in self.arms)
        self._batches = Batches(
            dataclasses.replace(data.train, labels=labels),
            sampler,
            features=train if encoder.frozen else None,
            augmentation=config.augmentation,
            views=views,
            seed=config.seed,
            device=self._device,
        )
        probe = choose_probe(data.test.labels, config.probe_size, seed=0)
        shown = probe if config.probe_of == "test" else choose_probe(data.train.truth, config.probe_size, seed=0)
        self._shown = None if config.probe_of == "test" else ShownImages(train[shown], self._device)
        self._evaluator = Evaluator(
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
        )
        known = self._write_labelled_probe(data, shown, self._evaluator.floor, config.probe_of)
        if known is not None:
            self.folder.log(f"probe: R@1 without any training {known['floor_R_at_1']:.3f}")
            self.folder.log(left_out(known[LEFT_OUT], "of the probe"))

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
                num_classes=classes, dim=self.config.dim, class_labels=first, **dict(choice.parameters)
            )
            loss, note = give_memory(
                loss,
                descriptor,
                size=self.config.memory,
                after=self.config.memory_after,
                dim=self.config.dim,
                levels=labels.shape[1],
            )
            if note:
                self.folder.log(note)
            arms.append(LossArm(index, descriptor, loss, copy.deepcopy(encoder), self._device))
        return arms
