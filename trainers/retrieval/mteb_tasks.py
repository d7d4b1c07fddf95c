"""Encoders on the image-to-image tasks of mteb, an optional package, which writes its results in its own format.

How many images of a task were trained on is counted here: mteb knows what published models were trained on, and
nothing of a run.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainers.config import DataChoice
from trainers.data.decode import decode_query, with_channels
from trainers.errors import UserError
from trainers.progress import Progress, silent
from trainers.retrieval.encoders import read_images
from trainers.training.image_encoder import Encoders, ImageEncoder

KIND = "Any2AnyRetrieval"
CATEGORY = "i2i"


@dataclass(frozen=True, kw_only=True)
class TaskScore:
    """What came of a task.

    Attributes:
        task: its name; ``measure``: mteb's name of its main score; ``score``: 0..1.
        images: queries and corpus of the task; ``trained``: those whose pixels equal those of a training image, at the
            encoder's size; None: the training images are not known.
        version: of mteb.
    """

    task: str
    measure: str
    score: float
    images: int
    trained: int | None
    version: str


def tasks_named(names: Sequence[str]) -> list[Any]:
    """Return tasks of mteb by name.

    Raises:
        UserError: mteb is not installed, or has no such image-to-image task.
    """
    mteb = _mteb()
    known = {
        task.metadata.name: task for task in mteb.get_tasks(task_types=[KIND]) if task.metadata.category == CATEGORY
    }
    for name in names:
        if name not in known:
            raise UserError(
                f"A task of mteb {mteb.__version__} was needed: {', '.join(sorted(known))}; got {name!r:.60}."
            )
    return [known[name] for name in names]


def evaluate(
    encoders: Encoders, arm: int, tasks: Iterable[Any], to: Path, progress: Progress = silent
) -> list[TaskScore]:
    """Run tasks of mteb, which downloads their images, and write its results below ``to``.

    Raises:
        UserError: mteb is not installed, the encoder cannot be had, or a task cannot be run.
    """
    mteb = _mteb()
    encoder = encoders.read(arm)
    seen = _trained_on(encoders, encoder, progress)
    scores = []
    for task in tasks:
        name = task.metadata.name
        model = _Model(encoder, _about(encoders, encoder), seen, progress)
        try:
            cache = mteb.ResultCache(cache_path=to)
            done = mteb.evaluate(model, task, cache=cache, show_progress_bar=False, overwrite_strategy="always")
        except UserError:
            raise
        except Exception as error:  # whatever a download or a task of mteb raises
            raise UserError(f"mteb could not run {name}: {error}") from error
        (result,) = done.task_results
        measure = task.metadata.main_score
        scores.append(
            TaskScore(
                task=name,
                measure=measure,
                score=float(result.get_score()),
                images=model.count,
                trained=None if seen is None else model.trained,
                version=mteb.__version__,
            )
        )
    return scores


def _mteb() -> Any:
    try:
        import mteb
    except ImportError as error:
        raise UserError(
            f"mteb is needed: pip install mteb (Python 3.11 or later). It cannot be loaded: {error}."
        ) from error
    return mteb


def _about(encoders: Encoders, encoder: ImageEncoder) -> Any:
    from mteb.models.model_meta import ModelMeta

    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{encoders.id}-{encoder.arm}").strip("-.")
    about = {"name": f"rankscope/{name}", "revision": encoder.digest[:40], "modalities": ["image"]}
    return ModelMeta.create_empty(about | {"framework": ["PyTorch"], "similarity_fn_name": "cosine"})


def _trained_on(encoders: Encoders, encoder: ImageEncoder, progress: Progress) -> set[bytes] | None:
    if not isinstance(encoders.data, DataChoice):
        return None
    images = with_channels(read_images(encoders.data, progress).train.images, encoder.channels)
    return {_digest(image) for image in images} if images.shape[-1] == encoder.side else None


def _digest(image: Tensor) -> bytes:
    return hashlib.blake2b(image.contiguous().numpy().tobytes(), digest_size=16).digest()


@dataclass
class _Model:
    """An encoder with the methods that mteb calls."""

    encoder: ImageEncoder
    mteb_model_meta: Any
    seen: set[bytes] | None
    progress: Progress
    count: int = 0
    trained: int = 0

    def encode(self, inputs: Iterable[Any], *, task_metadata: Any, **_: Any) -> Tensor:
        parts = []
        for batch in inputs:
            images = torch.cat([self._pixels(image) for image in batch["image"]])
            self.count += len(images)
            self.trained += sum(_digest(image) in self.seen for image in images) if self.seen else 0
            self.progress(f"{task_metadata.name}: {self.count:,} images", 0.5)
            parts.append(self.encoder.embed(images))
        return torch.cat(parts)

    def _pixels(self, image: Any) -> Tensor:
        buffer = io.BytesIO()
        image.save(buffer, "PNG", compress_level=1)
        return decode_query(buffer.getvalue(), channels=self.encoder.channels, side=self.encoder.side)

    def similarity(self, first: Any, second: Any) -> Tensor:
        return torch.as_tensor(first) @ torch.as_tensor(second).T

    def similarity_pairwise(self, first: Any, second: Any) -> Tensor:
        return (torch.as_tensor(first) * torch.as_tensor(second)).sum(-1)
