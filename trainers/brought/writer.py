"""Writes a run of embeddings that somebody brought: its probe, a snapshot at a step, and the numbers of both."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.brought.config import BroughtConfig
from trainers.brought.pictures import lettered, thumbnails
from trainers.brought.scoring import Scorer, scored
from trainers.brought.scoring import names as names_of
from trainers.brought.tree import tree_of
from trainers.config import MAX_ARMS
from trainers.data.roles import choose_probe
from trainers.errors import DataError
from trainers.metrics.catalogue import counts
from trainers.metrics.scores import score
from trainers.runs import RunFolder
from trainers.runs.lock import RunLock
from trainers.runs.probe import kept_queries
from trainers.runs.records import QueryScores, RunState, Scalar, Snapshot
from trainers.training.labelled_loop import write_probe
from trainers.untrained.of_training import score_on
from trainers.untrained.scoring import TestSet, score_untrained, stack_results
from trainers.untrained.ways.base import Setting

ON_MAPS = 1500
"""Images on the maps; all are in the numbers that end the run."""
MOST_IMAGES, WIDEST = 2_000_000, 65_536
UNLABELLED = (
    "These images have no labels: maps and search need none, but R@1, AP and mistakes do. Give labels to see them."
)


class BroughtRun:
    """A run folder that is being written by this process.

    Args:
        models: a name each.
        labels: see :func:`trainers.brought.tree.tree_of`; empty: none.
        images: see :func:`trainers.brought.pictures.thumbnails`.
        count: of images.
        logged: a training loop writes it.
        notes: sentences on the images, in place of that on what labels would add.

    Raises:
        UserError: what was needed, and what was given.
    """

    def __init__(
        self,
        root: Path,
        title: str,
        models: Sequence[str],
        labels: Mapping[str, Sequence[Any]],
        images: Sequence[Any] | None,
        count: int,
        *,
        logged: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        if not 1 <= len(models) <= MAX_ARMS:
            raise DataError(f"One to {MAX_ARMS} models were needed; got {len(models)}.")
        if not 3 <= count <= MOST_IMAGES:
            raise DataError(f"Embeddings of 3 to {MOST_IMAGES:,} images were needed; got {count:,}.")
        if images is not None and len(images) != count:
            raise DataError(f"An image for each of {count:,} rows was needed; got {len(images):,}.")
        self.count = count
        self._labels, tree = tree_of(labels, count)
        self._labelled = len(tree.names[0]) > 1
        self._rows = _on_maps(self._labels)
        self._scorer = Scorer(self._labels[self._rows]) if logged else None
        self._seconds = time.monotonic()
        self._state = RunState(phase="running", message="waiting for embeddings")
        self._last: list[np.ndarray] = []
        self._k = 0
        shown = self._labels[self._rows]
        if images is None and self._labelled:
            pictures, lost = lettered(shown, tree.names[0]), 0
        else:
            pictures, lost = thumbnails(images, self._rows.tolist())
        absent = [] if images is None else [at for at, row in enumerate(self._rows) if images[row] is None]
        if absent and self._labelled:
            pictures[absent] = lettered(shown[absent], tree.names[0])
        self._pictures = None if images is None or lost else pictures
        self.features: Tensor | None = None  # of the images on the maps by the encoder that comes with the program
        config = BroughtConfig(models=tuple(models), title=title, logged=logged)
        self.folder = RunFolder.create(root, config)
        self._lock = RunLock(self.folder.path)
        self._lock.acquire()
        self.folder.db.set_state(self._state)
        told = [*notes] if notes or self._labelled else [UNLABELLED]
        told += [f"{lost - len(absent):,} images could not be read and are grey."] if lost > len(absent) else []
        told += [f"{len(absent):,} rows have no image."] if absent else []
        self._fingerprint = _fingerprint(self._labels, tree.names, count)
        write_probe(
            self.folder,
            pictures,
            labels=shown,
            rows=self._rows.astype(np.int64),
            hierarchy=tree,
            data_title=title,
            notes=tuple(told),
            fingerprint=self._fingerprint,
        )

    def tell(self, message: str, fraction: float) -> None:
        """Say what is done for it, and how much of that."""
        self._tell(self._state.step, f"{message}, {fraction:.0%}")

    def snapshot(self, step: int, embeddings: Sequence[Any]) -> None:
        """Write the embeddings of all images at a step, one array ``[N, D]`` a model, with their numbers.

        Raises:
            DataError: their shape is another, or a number in them is not finite.
        """
        models = self.folder.config.arms
        if len(embeddings) != models:
            raise DataError(f"Embeddings of {models} models were needed; got {len(embeddings)}.")
        self._last = [checked(rows, self.count) for rows in embeddings]
        seconds = time.monotonic() - self._seconds
        for arm, rows in enumerate(self._last):
            self.numbers(arm, step, self._scored(rows[self._rows]), seconds)
        shown = tuple(rows[self._rows].astype(np.float16) for rows in self._last)
        self.folder.add_snapshot(Snapshot(k=self._k, step=step, seconds=seconds, embeddings=shown))
        self._k += 1
        self._tell(step, f"step {step:,}")

    def numbers(self, arm: int, step: int, values: Mapping[str, float], seconds: float | None = None) -> None:
        """Write numbers of a model at a step, by key as stored."""
        passed = time.monotonic() - self._seconds if seconds is None else seconds
        self.folder.db.add_metrics(
            Scalar(arm=arm, step=step, seconds=passed, key=key, value=float(value)) for key, value in values.items()
        )

    def finish(self, error: str = "") -> None:
        """Write the numbers of all images, and end the run; with ``error`` as failed."""
        try:
            self._finish(error)
        finally:
            self._close()
            self.folder.db.close()

    def _finish(self, error: str) -> None:
        step = self._state.step
        if self._last and not error and self._labelled:
            self._tell(step, "scoring all images")
            self._finals(step)
            self._write_untrained()
        self._state = RunState(
            phase="failed" if error else "finished",
            step=step,
            seconds=time.monotonic() - self._seconds,
            message="finished",
            error=error or None,
        )
        self.folder.db.set_state(self._state)

    def give_up(self) -> None:
        """Delete what was written."""
        self._close()
        self.folder.delete()

    def _close(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
        self._lock.release()

    def _tell(self, step: int, message: str) -> None:
        seconds = time.monotonic() - self._seconds
        self._state = RunState(phase="running", step=max(step, self._state.step), seconds=seconds, message=message)
        self.folder.db.set_state(self._state)

    def _scored(self, rows: np.ndarray) -> dict[str, float]:
        known = {counts.PROBE: float(len(rows))}
        if not self._labelled:
            return known
        return (self._scorer.score(rows) if self._scorer else scored(rows, self._labels[self._rows])) | known

    def _finals(self, step: int) -> None:
        labels, names = torch.from_numpy(self._labels).long(), names_of(self._labels.shape[1])
        kept, values = kept_queries(self.count), []
        for arm, rows in enumerate(self._last):
            scores = score(torch.from_numpy(rows), labels, metrics=names)
            means = scores.means(labels.shape[1])
            finals = {f"test/{name}": means[name] for name in (*names, counts.LEFT_OUT) if np.isfinite(means[name])}
            self.numbers(arm, step, finals | {f"test/{counts.IMAGES}": float(self.count)})
            values.append(np.stack([scores.values[name][kept] for name in names]))
        self.folder.write_queries(
            QueryScores(
                metrics=tuple(names),
                values=np.stack(values).astype(np.float32),
                labels=self._labels[kept, 0],
                rows=kept,
                images=self.count,
                fingerprint=self._fingerprint,
            )
        )

    def _write_untrained(self) -> None:
        """Write the rows without training of the images on the maps; nothing where there are no images."""
        if self._pictures is None:
            return
        shown = torch.from_numpy(self._labels[self._rows]).long()
        test = TestSet(
            images=self._pictures,
            labels=shown,
            roles=None,
            probe=torch.arange(len(shown)),
            mark="",
            names=names_of(shown.shape[1]),
            classes=0,
        )
        record = score_untrained(test, Setting(features=self.features, progress=self.tell), slow=False)
        arms = stack_results(score_on(torch.from_numpy(each[self._rows]), test, test.probe) for each in self._last)
        rows = self._rows.astype(np.int64)
        self.folder.write_untrained(replace(record, images=rows, total=self.count, arms=arms, lacking={}))


def checked(embeddings: Any, count: int | None = None) -> np.ndarray:
    """Return embeddings as float32 ``[N, D]`` with unit rows.

    Raises:
        DataError: they are not of this shape, of ``count`` rows, finite and of a length above 0.
    """
    rows = embeddings.detach().float().cpu().numpy() if isinstance(embeddings, Tensor) else np.asarray(embeddings)
    if rows.dtype.kind not in "fiu" or rows.ndim != 2 or not 1 <= rows.shape[1] <= WIDEST:
        raise DataError(f"Embeddings need the shape [images, numbers]; got {rows.dtype} {list(rows.shape)}.")
    if count is not None and len(rows) != count:
        raise DataError(f"An embedding for each of {count:,} images was needed; got {len(rows):,}.")
    rows = np.array(rows, np.float32)
    lengths = np.linalg.norm(rows, axis=1)
    if bad := int((~np.isfinite(lengths) | (lengths == 0)).sum()):
        what = "Embeddings need finite numbers, not all of them 0"
        raise DataError(f"{what}; {bad:,} of {len(rows):,} rows have others.")
    rows /= lengths[:, None]
    return rows


def _on_maps(labels: np.ndarray) -> np.ndarray:
    if labels[:, 0].any():
        return choose_probe(torch.from_numpy(labels).long(), ON_MAPS, seed=0).numpy()
    return np.unique(np.linspace(0, len(labels) - 1, min(len(labels), ON_MAPS)).round().astype(np.int64))


def _fingerprint(labels: np.ndarray, names: tuple[tuple[str, ...], ...], count: int) -> str:
    """Tell images apart as far as their labels do: runs of the same ones can be compared query by query."""
    digest = hashlib.sha256(repr((names, count)).encode("utf-8", "replace"))
    digest.update(labels.tobytes())
    return digest.hexdigest()[:32]
