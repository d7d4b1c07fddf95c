"""The probe of a fine-tuning run: test images as they are, then those with an object painted over."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from torch import Tensor

from trainers.data.captioned_images import CaptionedDataset
from trainers.hierarchy import Hierarchy
from trainers.object_removal.benchmark import Benchmark


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
