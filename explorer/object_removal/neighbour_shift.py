"""A metric-learning run's image with something filled: which neighbours it had, and which it has now."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from explorer.object_removal import bodies
from explorer.object_removal.removal import FilledImages
from explorer.object_removal.strokes import read_drawing
from explorer.server.cache import Cache
from explorer.server.library import MEGABYTE, Library
from explorer.server.run import Run
from explorer.titles import data_title, run_title
from trainers.data import load_data
from trainers.encoders import ENCODERS, Encoder
from trainers.errors import DataError, RunError, UserError
from trainers.kinds import arm_titles
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.object_removal.fills import fill_named, paint
from trainers.retrieval.severity import shared_levels
from trainers.runs.damage import reading
from trainers.runs.regular import is_regular
from trainers.training.optimizer import under

MOST_K = 20
_IMAGES = 256 * MEGABYTE  # of test images kept; those used last are kept however many they are
_RUNS = 2


@dataclass(frozen=True, kw_only=True)
class Arms:
    """The trained encoders of a run, as its checkpoint has them at ``step``."""

    encoders: tuple[Encoder, ...]
    step: int


class NeighbourShift:
    """Embeds painted images with the encoders of finished runs. Test images and encoders of the last runs are kept."""

    def __init__(self, library: Library, fills: FilledImages) -> None:
        self._library = library
        self._fills = fills
        self._images: Cache[Tensor] = Cache(limit=_IMAGES, cost=lambda images: images.nbytes, large=True)
        self._arms: Cache[Arms] = Cache(limit=_RUNS)
        self._lock = threading.Lock()  # loading takes memory, and a network serves one thread at a time

    def runs(self) -> list[dict[str, Any]]:
        """Metric-learning runs, newest first, recordings last, with what stands in the way of using them."""
        found = []
        for folder in self._library.folders():
            try:
                with reading(folder.id):
                    run = self._library.get(folder.id)
                    if isinstance(run.config, MetricLearningConfig):
                        found.append(run.at_rest("nearby", lambda run=run: _about(run, _why_not(run))))
            except RunError:
                continue  # a damaged run is told in the list of runs
        return found

    def image(self, run_id: str, index: int, side: int) -> np.ndarray:
        """An image on the maps of the run, uint8 ``[H, W, 3]``, its side brought to ``side``.

        Raises:
            RunError: no such run or point.
            DataError: its images cannot be read any more.
        """
        run = self._usable(run_id, weights=False)
        with self._lock:
            pixels = self._pixels(run, index)
        scaled = Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC)
        return np.array(scaled, dtype=np.uint8)

    def neighbours(self, asked: bodies.Neighbours) -> dict[str, Any]:
        """Neighbours before and after.

        Raises:
            UserError: something is wrong with the request, or the run cannot be used; the message says why.
        """
        run = self._usable(asked.run, weights=True)
        index, drawing, fill = asked.index, read_drawing(asked.remove), fill_named(asked.fill)
        with self._lock:
            pixels = self._pixels(run, index)
            mask = drawing.mask(pixels.shape[1], pixels.shape[0])
            if not mask.any():
                raise DataError("Nothing that was drawn lies inside the image. Draw over the object again.")
            filled = paint(fill, pixels, mask)
            arms, grey = self._encoders(run), self._split(run).shape[1] == 1
            vectors = [_embedded(encoder, [pixels, filled], grey) for encoder in arms.encoders]
        k, last = _last_snapshot(run)
        gallery = self._library.embeddings(run, k)
        if gallery is None:
            raise DataError("This run kept no embeddings of its last picture; train it again to use it here.")
        count = min(asked.k, MOST_K, len(gallery[0]) - 1)
        arms_told = zip(gallery, vectors, arm_titles(run.config), strict=True)
        return {
            "filled": self._fills.keep(filled),
            "share": round(float(mask.mean()), 4),
            "notes": [*drawing.notes, *_notes(asked.k, count, last, arms.step)],
            "arms": [_compared(run, index, *of, count) | {"title": title} for *of, title in arms_told],
        }

    def _usable(self, run_id: str, *, weights: bool) -> Run:
        run = self._library.get(run_id)
        why = _why_not(run)
        if why is not None and (weights or run.probe is None):
            raise DataError(why)
        return run

    def _split(self, run: Run) -> Tensor:
        """The images of the part of a run's dataset that its maps show, uint8 ``[N, C, H, W]``."""
        choice, part = run.config.data, "test" if run.probe is None else run.probe.part
        return self._images.get((choice, part), lambda: getattr(load_data(choice), part).images)

    def _pixels(self, run: Run, index: int) -> np.ndarray:
        probe = run.probe
        count = 0 if probe is None else len(probe.rows)
        if probe is None or not 0 <= index < count:
            raise RunError(f"The run {run.id} has {count} points, numbered from 0; there is no point {index}.")
        images, row = self._split(run), int(probe.rows[index])
        if row >= len(images):
            raise DataError("The images of this run have changed since it was trained, so it cannot be used here.")
        pixels = images[row].permute(1, 2, 0).numpy()
        return np.ascontiguousarray(np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels)

    def _encoders(self, run: Run) -> Arms:
        with reading(run.id):
            written = max(path.stat().st_mtime_ns for path in (run.folder.path / "ckpt").glob("*.safetensors"))
        return self._arms.get((run.id, written), lambda: _read_arms(run, self._split(run)))


def _read_arms(run: Run, images: Tensor) -> Arms:
    config, found = run.config, run.folder.read_checkpoint()
    if found is None:
        raise RunError(f"The run {run.id} has no readable checkpoint.")
    tensors, about = found
    descriptor = ENCODERS.get(config.encoder.name)
    if descriptor is None:
        raise DataError(f"This program knows no encoder {config.encoder.name!r}, so the run cannot be used here.")
    parameters = dict(config.encoder.parameters)
    if "pretrained" in getattr(descriptor.parameters, "__dataclass_fields__", {}):
        parameters["pretrained"] = False  # the checkpoint has every weight
    encoders = []
    for arm in range(config.arms):
        encoder = descriptor.build(
            channels=images.shape[1], side=images.shape[-1], dim=config.dim, parameters=parameters
        )
        try:
            encoder.load_state_dict(under(tensors, f"arm{arm}/encoder/"))
        except (KeyError, RuntimeError) as error:
            raise RunError(f"The checkpoint of run {run.id} does not fit its configuration: {error}") from error
        encoders.append(encoder.eval().requires_grad_(False))
    return Arms(encoders=tuple(encoders), step=int(str(about.get("step", 0))))


@torch.inference_mode()
def _embedded(encoder: Encoder, pictures: list[np.ndarray], grey: bool) -> np.ndarray:
    """Unit embeddings float32 ``[N, D]`` of images uint8 ``[H, W, 3]`` of one size."""
    images = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255
    if grey:
        images = images.mean(1, keepdim=True)
    images = images.contiguous(memory_format=torch.channels_last)
    # frozen features pass through half precision when the head is trained on them
    raw = encoder(encoder.features(images).half().float()) if encoder.frozen else encoder(images)
    return functional.normalize(raw.float(), dim=1).numpy()


def _compared(run: Run, index: int, gallery: np.ndarray, vectors: np.ndarray, count: int) -> dict[str, Any]:
    """The nearest points of the original and of the painted image; the image itself is not among them."""
    probe = run.probe
    assert probe is not None
    points = gallery.astype(np.float32)
    if not np.isfinite(points).all() or not np.isfinite(vectors).all():
        raise DataError("The embeddings of this run are not numbers: its training blew up. Choose another run.")
    lists = []
    for vector in vectors:
        similarity = points @ vector
        similarity[index] = -np.inf
        ids = np.argsort(-similarity, kind="stable")[:count]
        shared = shared_levels(probe.labels[ids], probe.labels[index])
        near = zip(ids.tolist(), shared.tolist(), similarity[ids].tolist(), strict=True)
        lists.append([{"index": i, "shared": n, "similarity": round(value, 4), "move": None} for i, n, value in near])
    before, after = lists
    ranks = {one["index"]: rank for rank, one in enumerate(before)}
    for rank, one in enumerate(after):
        one["move"] = ranks[one["index"]] - rank if one["index"] in ranks else "new"
    return {"before": before, "after": after}


def _last_snapshot(run: Run) -> tuple[int, int]:
    """Number and step of the newest snapshot whose embeddings were kept."""
    for k, step, _ in reversed(run.folder.snapshots()):
        if is_regular(run.folder.embeddings_path(k)):
            return k, step
    raise DataError("This run kept no embeddings; train it again to use it here.")


def _notes(asked: int, count: int, last: int, step: int) -> list[str]:
    notes = []
    if asked > count:
        notes.append(f"{asked:,} neighbours were asked for; {count} are shown.")
    if last != step:
        notes.append(f"The weights are those of step {step:,}; the other images were embedded at step {last:,}.")
    return notes


def _why_not(run: Run) -> str | None:
    """Why a run cannot embed a new image, or None."""
    if not isinstance(run.config, MetricLearningConfig):
        return "This run fine-tunes an image-text model; choose it among the models instead."
    if run.recorded:
        return "This recording came without weights. Train a run of your own to use it here."
    if run.probe is None:
        return "This run has not read its images yet."
    if not any((run.folder.path / "ckpt").glob("*.safetensors")):
        return "This run has no checkpoint yet. Wait until it has trained for some seconds."
    try:
        _last_snapshot(run)
    except UserError as error:
        return str(error)
    return None


def _about(run: Run, why: str | None) -> dict[str, Any]:
    return {
        "id": run.id,
        "title": run_title(run),
        "data": data_title(run),
        "arms": arm_titles(run.config),
        "points": 0 if run.probe is None else len(run.probe.labels),
        "usable": why is None,
        "why": why,
    }
