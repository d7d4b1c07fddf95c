"""``python -m tests.distributed.double IMAGES OUT LOSS...``: trains in float64, alone or in a group."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.tiny import tiny_config
from trainers.distributed.group import join, rank
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.runs import RunFolder
from trainers.training.embedding import embed

STEPS = 20


def in_double(patch: pytest.MonkeyPatch) -> None:
    """Everything that asks for float32 gets float64."""
    patch.setattr(torch.Tensor, "float", torch.Tensor.double)
    patch.setattr(torch, "float32", torch.float64)
    torch.set_default_dtype(torch.float64)


def trained(images: Path, root: Path, losses: list[str], **changes: Any) -> dict[str, torch.Tensor]:
    """The weights after the steps, with cross-batch memories in use and gradients clipped."""
    values: dict[str, Any] = {"steps": STEPS, "memory": 30, "memory_after": 3, "clip_norm": 0.5, "dim": 8}
    values |= {"classes_per_batch": 4, "images_per_class": 3, "snapshot_steps": 10}
    loop = MetricLearningLoop(RunFolder.create(root, tiny_config(images, *losses, **values | changes)))
    loop.advance(600)
    tensors = {name: value.clone().contiguous() for arm in loop.arms for name, value in arm.tensors().items()}
    test = torch.rand(33, 3, 24, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return tensors | {"embedded": embed(loop.arms[0].encoder, test, torch.device("cpu"))}


def main(images: str, out: str, *losses: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        in_double(patch)
        join()
        save_file(trained(Path(images), Path(out) / str(rank()), list(losses)), Path(out) / f"{rank()}.safetensors")


if __name__ == "__main__":
    main(*sys.argv[1:])
