"""Contrastive training: several methods in lockstep on the same views, then a linear classifier for each."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from trainers.data.base import LoadedData
from trainers.data.roles import Roles, choose_probe
from trainers.distributed.group import rank
from trainers.encoders import Encoder
from trainers.encoders.norms import replace_norms
from trainers.errors import UserError
from trainers.kinds import kind_of
from trainers.kinds.contrastive.arm import CLASSIFIER, MethodArm
from trainers.kinds.contrastive.batches import ViewBatch, ViewBatches, head_views_of, views_of
from trainers.kinds.contrastive.config import COMPARISON, HEAD, STAGES, ContrastiveConfig
from trainers.kinds.contrastive.diagnosis import advice
from trainers.kinds.contrastive.evaluation import ContrastiveEvaluator, EvaluationImages, FinalNumbers
from trainers.kinds.contrastive.footprint import footprint
from trainers.kinds.contrastive.methods import METHODS, Method, MethodDescriptor, Parts
from trainers.kinds.contrastive.networks import Projected, projector
from trainers.metrics.catalogue import counts
from trainers.metrics.names import check_size, joined, own_metrics
from trainers.progress import Progress
from trainers.training.evaluation import Finish
from trainers.training.footprint import Shape, check_fits
from trainers.training.labelled_loop import LabelledLoop
from trainers.training.memory import chunks
from trainers.training.stage import Stage
from trainers.untrained.of_training import UntrainedRows, of_data

PROBE_SECONDS = 20.0  # of training between two linear probes, each of which takes a second or two
FIXED_VIEWS = -1  # step number of the views that alignment is measured on; those of a run's batches begin at 0


TIMED = 3
"""Steps after which the speed says how many a budget in minutes allows."""
HEAD_SHARE = 0.25
"""Of a budget in minutes, kept for the second stage, which ends earlier if it has taken its steps. Ours."""


class ContrastiveLoop(LabelledLoop):
    """Trains a method per arm; see :class:`trainers.training.loop.Loop`."""

    arms: list[MethodArm]
    config: ContrastiveConfig
    _probed = (-1, -math.inf)  # step and seconds of the last linear probe

    def _stages(self) -> Sequence[Stage]:
        first = Stage.of(self.config, title=COMPARISON, word=STAGES[COMPARISON])
        if not self._classes or not self.config.head_steps:
            return (first,)
        minutes = self.config.minutes
        if minutes is not None:
            first = dataclasses.replace(first, minutes=minutes * (1 - HEAD_SHARE))
        head = Stage.of(
            self.config,
            title=HEAD,
            word=STAGES[HEAD],
            networks=(CLASSIFIER,),
            steps=self.config.head_steps,
            minutes=None if minutes is None else minutes * HEAD_SHARE,
            epochs=None,
            learning_rate=self.config.head_learning_rate,
            optimiser="sgd",
            weight_decay=0.0,
        )
        return first, head

    def snapshot(self) -> None:
        """See :class:`Loop`; what the budget of the first stage comes to in epochs is written beside."""
        self._tell_epochs(self._reached.planned_in(0))
        super().snapshot()

    def _one_step(self) -> None:
        if self.step == TIMED:
            self._tell_epochs(self._reached.planned_in(0))
        super()._one_step()

    def _next_stage(self) -> None:
        self._tell_epochs(self.step)
        super()._next_stage()

    def _tell_epochs(self, steps: int | None) -> None:
        """Write how many epochs the steps of the first stage are, if that is known."""
        if steps is not None:
            for arm in self.arms:
                self._scalars.now(arm.index, self.step, self.seconds, {counts.EPOCHS: steps / self._epoch})

    def _batch(self) -> ViewBatch:
        return (self._head_batches if self._stage.index else self._batches).batch(self.step)

    def _evaluate(self, arm: MethodArm) -> Finish:
        if self.config.snapshot_steps or self.seconds - self._probed[1] >= PROBE_SECONDS:
            self._probed = (self.step, self.seconds)
        probing = self._probed[0] == self.step
        return self._evaluator.begin(arm, classifier=self._has_classifier(arm), probing=probing)

    def _has_classifier(self, arm: MethodArm) -> bool:
        """Return whether the arm's classifier has been trained by now."""
        if arm.method.classifier == "after":
            return self._stage.index > 0 and self.step > self._stage.step
        return self.step > 0

    def _last_numbers(self, tell: Progress) -> None:
        for arm, progress in self._each_arm(tell):
            for values in self._final.of(arm, self._has_classifier(arm), progress):
                self._scalars.now(arm.index, self.step, self.seconds, values)
                self._scalars.flush()

    # ----------------------------------------------------------------- set-up

    def _build(self, tell: Progress) -> None:
        config = self.config
        data = self._load(tell)
        check_metrics(config.metrics, data)
        size = self._batch_size(len(data.train))
        classes, labels = _classes(data)
        self._classes = 0 if classes is None else len(classes)
        channels, side = self._images
        shape = Shape(images=len(data.train) + len(data.test), channels=channels, side=side, classes=self._classes)
        check_fits(footprint(config, shape))
        self.arms = self._make_arms(len(data.train))
        view = views_of(config, channels)
        batches = partial(ViewBatches, data.train.images, labels, size=size, seed=config.seed, device=self._device)
        self._batches, self._head_batches = batches(view=view), batches(view=head_views_of(config, channels))
        self._epoch = self._batches.epoch
        for sentence in advice(config, self._epoch * size):
            self.folder.log(f"note: {sentence}")
        roles = Roles.of(data.test.attributes, data.attributes) if labels is not None else None
        images = EvaluationImages(
            train=data.train.images,
            test=data.test.images,
            train_labels=None if labels is None else data.train.truth,
            test_labels=None if labels is None else data.test.labels,
            probe=choose_probe(data.test.labels, config.probe_size, seed=0, roles=roles),
            before_cap=data.test.before_cap,
            metrics=config.metrics,
            roles=roles,
        )

        def fixed(part: Tensor, number: int) -> Tensor:
            return view(part, seed=0, step=FIXED_VIEWS, view=number)

        self._evaluator = ContrastiveEvaluator(images, view=fixed, classes=classes, device=self._device)
        self._final = FinalNumbers(config, images, classes, self._device)
        if self.folder.read_checkpoint() is None:
            self._final.check(tell)
        if labels is not None and not rank():
            rows = of_data(data, images.probe, joined(own_metrics(data.test.labels.shape[1]), config.metrics))
            UntrainedRows(self.folder, config, rows, None, self._device).begin()
        self._write_labelled_probe(data, images.probe, self._evaluator.floor)

    def _batch_size(self, images: int) -> int:
        if images < 2:
            raise UserError(f"Contrastive training compares images; it needs two or more, got {images}. Add images.")
        if images < self.config.batch:
            self.folder.log(f"batch: {images} images, all there are; {self.config.batch} were asked for")
        return min(images, self.config.batch)

    def _make_arms(self, images: int) -> list[MethodArm]:
        config = self.config
        encoder = self._first_encoder(config.dim)
        width = encoder.without_head()
        titles = [arm.title for arm in kind_of(config).arms(config)]
        return [
            MethodArm(
                index,
                titles[index],
                self._method(METHODS[choice.name], dict(choice.parameters), copy.deepcopy(encoder), width, images),
                self._classifier(width),
                config.seed + 2,
                self._device,
            )
            for index, choice in enumerate(config.methods)
        ]

    def _method(
        self, descriptor: MethodDescriptor, parameters: dict[str, object], encoder: Encoder, width: int, images: int
    ) -> Method:
        if descriptor.labels and not self._classes:
            raise UserError(
                f"{descriptor.title} needs the class of every image, and these images have none. Choose MoCo or "
                "SimCLR, or name the columns of the labels."
            )
        norm = "batch" if descriptor.together and self.config.norm == "split" else self.config.norm
        settings = descriptor.checked(parameters)
        batch = settings.images(min(images, self.config.batch))
        # a chunk is a group of groups: so many of each make those of the batch where the chunks divide them
        splits = max(1, self.config.splits // chunks(batch, self.config.chunk))
        normed = replace_norms(encoder, norm, splits)
        torch.manual_seed(self.config.seed + 1)  # equal projection heads and queues where arms have them
        net = Projected(normed, projector(width, self.config.dim, mlp=descriptor.mlp))
        parts = Parts(net=net, dim=self.config.dim, images=images, classes=self._classes)
        return descriptor.module(settings, parts)

    def _classifier(self, width: int) -> nn.Linear | None:
        torch.manual_seed(self.config.seed + 2)
        return nn.Linear(width, self._classes) if self._classes else None


def check_metrics(metrics: Sequence[str], data: LoadedData) -> None:
    """Check the metrics that a run is asked for against its images.

    Raises:
        UserError: the images have no classes, or too few levels or images.
    """
    if metrics and not data.labelled:
        raise UserError(
            f"{metrics[0]} compares classes, and these images have none. Ask for no further metrics, or choose "
            "images with classes."
        )
    roles = Roles.of(data.test.attributes, data.attributes)
    searched = None if roles is None else len(roles.searched)
    check_size(metrics, data.test.labels.shape[1], len(data.test), searched)


def _classes(data: LoadedData) -> tuple[Tensor | None, Tensor | None]:
    """Return the finest labels of the training images int64 ``[C]``, ascending, and each image's index ``[M]``."""
    if not data.labelled:
        return None, None
    classes, indices = torch.unique(data.train.labels[:, 0], return_inverse=True)
    return classes, indices
