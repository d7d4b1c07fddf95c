"""The images on the maps of a fine-tuning run, drawn or read again: test images, and the same without an object."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from trainers.config import SceneChoice
from trainers.data import cache
from trainers.data.base import ImageSet, LoadedData
from trainers.data.captioned.loader import load_chosen
from trainers.data.captioned_images import CaptionedDataset
from trainers.hierarchy import Hierarchy
from trainers.object_removal.benchmark import Benchmark, make_benchmarks
from trainers.object_removal.gallery import CaptionGallery
from trainers.object_removal.regions import pixel_mask
from trainers.object_removal.vocabulary import load_words
from trainers.progress import Progress, part_of, silent


def probe_images(benchmark: Benchmark) -> Tensor:
    """Return its images uint8 ``[P, 3, S, S]``."""
    return torch.cat([benchmark.images, benchmark.queries])


def probe_labels(benchmark: Benchmark, scenes: CaptionedDataset) -> tuple[np.ndarray, Hierarchy]:
    """Label each image of the probe, int32 ``[P, 2]``: all objects and the commonest of them; also return the names."""
    often = Counter(name for part in scenes.splits.values() for scene in part for name in set(scene.classes))
    contents = [frozenset(scene.classes) for scene in benchmark.scenes]
    contents += [frozenset(removal.judgement.kept) for removal in benchmark.removals]
    mains = [max(sorted(content), key=lambda name: often[name], default="nothing") for content in contents]
    names = [" + ".join(sorted(content)) or "nothing" for content in contents]
    levels = [sorted(set(names)), sorted(set(mains))]
    columns = [[level.index(name) for name in of] for level, of in zip(levels, (names, mains), strict=True)]
    tree = Hierarchy(levels=("objects", "main object"), names=tuple(tuple(level) for level in levels))
    return np.array(columns, dtype=np.int32).T, tree


FILL = "telea"
"""Of the benchmark that a run is scored on, and so of its maps."""
_KEPT: dict[BenchmarkImages, tuple[CaptionedDataset, Benchmark]] = {}
_LOCK = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class BenchmarkImages:
    """The images that a fine-tuning run shows on its maps.

    Attributes:
        scenes: its dataset.
        queries: the images without an object are at most so many.
        image_size: of the square images, pixels.
    """

    scenes: SceneChoice
    queries: int
    image_size: int

    def at(self, revision: str) -> BenchmarkImages:
        """Return the same of a Hub dataset at a commit."""
        return replace(self, scenes=self.scenes.at(revision))

    def load(self, progress: Progress) -> LoadedData:
        """Load the images in the order of the maps, as both parts of a dataset: it has no others.

        Raises:
            UserError: the dataset cannot be read, or has no object that may be removed.
        """
        scenes, benchmark = _read(self, progress)
        labels, tree = probe_labels(benchmark, scenes)
        images = probe_images(benchmark)
        part = ImageSet(images=images, labels=torch.from_numpy(labels).long())
        return LoadedData(
            name=self.scenes.source,
            title=scenes.title,
            hierarchy=tree,
            train=replace(part, chosen="train"),
            test=part,
            fingerprint=cache.content_key((repr(self), images.numpy().tobytes())),
            notes=scenes.notes,
            licence=scenes.licence,
        )

    def objects(self, row: int, side: int) -> dict[str, np.ndarray]:
        """Map each class to the pixels of its boxes in an image, bool ``[S, S]``; of one without an object those that
        are left.

        Raises:
            UserError: as :meth:`load`.
        """
        _, benchmark = _read(self, silent)
        again = row >= len(benchmark.scenes)
        scene = benchmark.scenes[row % len(benchmark.scenes)]
        gone = benchmark.removals[row - len(benchmark.scenes)].judgement.removed if again else ()
        masks: dict[str, np.ndarray] = {}
        for (x0, y0, x1, y1), name in zip(scene.boxes, scene.classes, strict=True):
            if name not in gone:
                across, down = side / scene.width, side / scene.height
                mask = pixel_mask([(x0 * across, y0 * down, x1 * across, y1 * down)], side, side)
                masks[name] = masks[name] | mask if name in masks else mask
        return masks

    def without(self, row: int, removed: tuple[str, ...], fill: str) -> int | None:
        """Return the row of an image once these classes are removed from it and filled, if the maps show that."""
        _, benchmark = _read(self, silent)
        count = len(benchmark.scenes)
        known = row < count and fill == FILL and benchmark.removals[row].judgement.removed == removed
        return row + count if known else None

    def twin(self, row: int, count: int) -> int:
        """Return the row of the same photograph with or without its object, of ``count`` rows."""
        return (row + count // 2) % count


def _read(of: BenchmarkImages, progress: Progress) -> tuple[CaptionedDataset, Benchmark]:
    with _LOCK:
        if of not in _KEPT:
            scenes = load_chosen(of.scenes, part_of(progress, 0.0, 0.3))
            made = make_benchmarks(
                scenes.splits[scenes.test_split],
                CaptionGallery.of((scenes.title,), load_words().with_classes(scenes.classes)),  # no caption is searched
                [of.image_size],
                title=scenes.title,
                fill=FILL,
                limit=of.queries,
                recall_images=1,
                rerender=False,
                progress=part_of(progress, 0.3, 1.0),
            )
            _KEPT.clear()  # the last ones alone
            _KEPT[of] = scenes, made[of.image_size]
        return _KEPT[of]
