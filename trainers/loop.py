"""The one training loop: every arm of a comparison in lockstep, resumable after any step."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable

import torch
from torch import Tensor

from trainers import schedule
from trainers.arm import Arm
from trainers.batches import Batches
from trainers.data import load_data
from trainers.data.base import LoadedData
from trainers.data.probe import choose_probe
from trainers.device import choose
from trainers.encoders import ENCODERS, Encoder
from trainers.errors import RunError
from trainers.features import frozen_features
from trainers.losses import LOSSES
from trainers.losses._memory import give_memory
from trainers.observer import LEFT_OUT, Observer, left_out
from trainers.samplers import SAMPLERS
from trainers.scalars import ScalarBuffer
from trainers.store import RunFolder
from trainers.thumbs import COLUMNS, sheets, tile_size
from trainers.types import Probe, Snapshot
from trainers.validation import check

Progress = Callable[[str, float], None]

SNAPSHOT_SECONDS = 1.0  # a map that moves about once a second looks continuous when points glide half a second
SNAPSHOT_SHARE = 3.0  # a snapshot may cost a quarter of the time: it waits three times what the last one took
CHECKPOINT_SECONDS = 5.0  # a killed run loses at most ten seconds: five, and a step and a snapshot on top


class Trainer:
    """Trains one run folder.

    Builds everything in the constructor (data, encoders, losses), continues from the folder's checkpoint if there is
    one, and then only :meth:`advance` moves. Usable in a worker process, in a time slice and in a test.

    Args:
        folder: the run; its lock is the caller's business.
        progress: told what the set-up is doing, in words, and the fraction done; it may raise to give up.
    """

    def __init__(self, folder: RunFolder, progress: Progress | None = None) -> None:
        self.folder = folder
        self.config = folder.config
        self.step = 0
        self.seconds = 0.0
        self._k = 0
        self._last_snapshot = (-1, 0.0, 0.0)  # step, seconds, cost
        self._last_checkpoint = time.monotonic()
        tell = progress or (lambda _text, _fraction: None)
        check(self.config)
        if self.config.threads is not None:
            torch.set_num_threads(self.config.threads)
        self._device, reason = choose(self.config.device)
        folder.log(f"device: {self._device}, because {reason}")
        data = load_data(self.config.data, tell)
        for note in data.notes:
            folder.log(f"data: {note}")
        self._build(data, tell)
        self._scalars = ScalarBuffer(folder)
        self._restore()

    # ----------------------------------------------------------------- public

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.progress >= 1.0

    @property
    def progress(self) -> float:
        """Share of the budget used, 0..1; of steps and minutes the larger."""
        steps = self.step / self.config.steps if self.config.steps else 0.0
        time_used = self.seconds / (60 * self.config.minutes) if self.config.minutes else 0.0
        return min(1.0, max(steps, time_used))

    @property
    def planned_steps(self) -> int | None:
        """The number of steps the run will take: the limit, or an estimate from the speed so far."""
        if self.config.steps and not self.config.minutes:
            return self.config.steps
        if not self.step or not self.progress:
            return self.config.steps
        return max(self.step, round(self.step / self.progress))

    def advance(self, seconds: float) -> bool:
        """Train for about ``seconds`` or until the budget is spent; snapshots and checkpoints happen when due.

        Returns:
            whether there is more to do.

        Raises:
            NonFiniteLossError: the weights and the checkpoint are those of the last good step.
        """
        end = time.monotonic() + seconds
        if self._last_snapshot[0] < 0:
            self._timed(self.snapshot)
        while not self.done and time.monotonic() < end:
            self._timed(self._one_step)
            if self._snapshot_due():
                self._timed(self.snapshot)
            if time.monotonic() - self._last_checkpoint > CHECKPOINT_SECONDS:
                self._timed(self.checkpoint)
        return not self.done

    def snapshot(self) -> None:
        """Embed and score the probe for every arm, and hand the embeddings to the maps."""
        if self._last_snapshot[0] == self.step:
            return
        started = time.monotonic()
        embeddings: list[Tensor] = []
        for arm in self.arms:
            if self.step == 0 and embeddings:  # equal weights: one look serves all
                embedded = embeddings[0]
            else:
                embedded, scalars = self._observer.look(arm.encoder)
            embeddings.append(embedded)
            self._scalars.now(arm.index, self.step, self.seconds, scalars)
        self._scalars.flush()
        snapshot = Snapshot(k=self._k, step=self.step, seconds=self.seconds, embeddings=tuple(embeddings))
        self.folder.add_snapshot(snapshot)
        self._k += 1
        self._last_snapshot = (self.step, self.seconds, time.monotonic() - started)

    def checkpoint(self) -> None:
        """Write everything that resuming needs, atomically."""
        self._scalars.flush()
        tensors: dict[str, Tensor] = {}
        for arm in self.arms:
            tensors.update(arm.tensors())
        about = {"step": self.step, "seconds": self.seconds, "k": self._k, "last_snapshot": self._last_snapshot[:2]}
        self.folder.write_checkpoint(tensors, about)
        self._last_checkpoint = time.monotonic()

    def finish(self) -> None:
        """The last frame, the numbers over the whole test set, and the last checkpoint."""
        self.snapshot()
        for arm in self.arms:
            found = self._observer.whole_test(arm.encoder)
            self._scalars.now(arm.index, self.step, self.seconds, found)
        self.folder.log(left_out(found[f"test/{LEFT_OUT}"], "of the test set"))
        self.checkpoint()

    # --------------------------------------------------------------- one step

    def _one_step(self) -> None:
        batch = self._batches.batch(self.step)
        factor = schedule.factor(self.step, self.progress)
        for arm in self.arms:
            # dropout and the like must be the same for every arm, and the same again after a resume
            torch.manual_seed(self.config.seed * 1_000_003 + self.step)
            started = time.monotonic()
            scalars = arm.step(batch, factor)
            scalars["images_per_s"] = len(batch.rows) * arm.descriptor.views / (time.monotonic() - started)
            self._scalars.add(arm.index, self.step + 1, self.seconds, scalars)
        self.step += 1

    def _timed(self, work: Callable[[], None]) -> None:
        started = time.monotonic()
        work()
        self.seconds += time.monotonic() - started

    def _snapshot_due(self) -> bool:
        step, seconds, cost = self._last_snapshot
        if self.config.snapshot_steps:
            return self.step - step >= self.config.snapshot_steps
        return self.seconds - seconds >= max(SNAPSHOT_SECONDS, SNAPSHOT_SHARE * cost)

    # ----------------------------------------------------------------- set-up

    def _build(self, data: LoadedData, tell: Progress) -> None:
        config = self.config
        classes, compact = torch.unique(data.train.labels[:, 0], return_inverse=True)
        usable = int((torch.bincount(compact) > 1).sum())
        per_batch = max(1, min(config.classes_per_batch, usable))
        if per_batch < config.classes_per_batch:
            self.folder.log(
                f"batch: {per_batch} classes, all there are to train on; {config.classes_per_batch} were asked for"
            )
        labels = torch.cat([compact[:, None], data.train.labels[:, 1:]], dim=1)
        torch.manual_seed(config.seed)
        _, channels, side, _ = data.train.images.shape
        encoder = ENCODERS[config.encoder].build(
            channels=channels, side=side, dim=config.dim, parameters=config.encoder_parameters
        )
        train, test = data.train.images, data.test.images
        if encoder.frozen:
            train, test = (self._features(encoder, data, part, tell) for part in ("train", "test"))
        self.arms = self._make_arms(encoder, labels, len(classes))
        sampler = SAMPLERS[config.sampler].build(labels, per_batch, config.images_per_class, config.seed)
        views = max(arm.descriptor.views for arm in self.arms)
        self._batches = Batches(
            dataclasses.replace(data.train, labels=labels),
            sampler,
            features=train if encoder.frozen else None,
            views=views,
            seed=config.seed,
            device=self._device,
        )
        probe = choose_probe(data.test.labels, config.probe_size, seed=0)
        self._observer = Observer(
            train=train,
            train_labels=data.train.labels,
            test=test,
            test_labels=data.test.labels,
            probe=probe,
            device=self._device,
        )
        self._write_probe(data, probe)

    def _features(self, encoder: Encoder, data: LoadedData, part: str, tell: Progress) -> Tensor:
        images = getattr(data, part).images
        moved = encoder.to(self._device)
        mark = f"{data.fingerprint}/{part}"
        return frozen_features(moved, images, fingerprint=mark, device=self._device, progress=tell)

    def _make_arms(self, encoder: Encoder, labels: Tensor, classes: int) -> list[Arm]:
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
            arms.append(
                Arm(
                    index,
                    descriptor,
                    loss,
                    copy.deepcopy(encoder),
                    learning_rate=self.config.learning_rate,
                    weight_decay=self.config.weight_decay,
                    device=self._device,
                )
            )
        return arms

    def _write_probe(self, data: LoadedData, rows: Tensor) -> None:
        if self.folder.probe() is not None:
            return
        images = data.test.images[rows]
        known = self._observer.floor()
        self.folder.log(f"probe: {len(rows)} test images; R@1 without any training {known['floor_R_at_1']:.3f}")
        self.folder.log(left_out(known[LEFT_OUT], "of the probe"))
        probe = Probe(
            labels=data.test.labels[rows].numpy(),
            rows=rows.numpy(),
            hierarchy=data.hierarchy,
            data_title=data.title,
            notes=data.notes,
            tile=tile_size(images.shape[-1]),
            columns=COLUMNS,
        )
        self.folder.write_probe(probe, sheets(images))
        ScalarBuffer(self.folder).write_at_start(len(self.arms), known)

    def _restore(self) -> None:
        found = self.folder.read_checkpoint()
        if found is None:
            self.folder.rewind(0)
            return
        tensors, about = found
        try:
            for arm in self.arms:
                arm.load(tensors)
            self.step, self.seconds, self._k = int(about["step"]), float(about["seconds"]), int(about["k"])  # type: ignore[arg-type]
        except (KeyError, RuntimeError, ValueError, TypeError) as error:
            raise RunError(f"The checkpoint of run {self.folder.id} does not fit its configuration: {error}") from error
        step, seconds = about["last_snapshot"]  # type: ignore[misc]
        self._last_snapshot = (int(step), float(seconds), 0.0)
        self.folder.rewind(self.step)
        self.folder.log(f"resumed at step {self.step}")
