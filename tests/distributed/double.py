"""``python -m tests.distributed.double IMAGES OUT LOSS...``: trains in float64, alone or in a group."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from tests.tiny import tiny_config, tiny_contrastive
from trainers.config import DataChoice, RunConfig
from trainers.distributed.group import join, rank
from trainers.kinds.contrastive.loop import ContrastiveLoop
from trainers.kinds.contrastive.methods import METHODS
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.parameters import Choice
from trainers.runs import RunFolder, list_runs
from trainers.training import query_shares
from trainers.training.embedding import embed

STEPS = 20


def in_double(patch: pytest.MonkeyPatch) -> None:
    """Everything that asks for float32 gets float64."""
    patch.setattr(torch.Tensor, "float", torch.Tensor.double)
    patch.setattr(torch, "float32", torch.float64)
    torch.set_default_dtype(torch.float64)


def trained(images: Path, root: Path, names: list[str]) -> dict[str, torch.Tensor]:
    """The weights after the steps; goes on with a run that is there."""
    known = list_runs(root)
    pretrains = names[0].partition(":")[0] in METHODS
    make = pretraining if pretrains else metric_learning
    folder = known[0] if known else RunFolder.create(root, make(images, names))
    loop = (ContrastiveLoop if pretrains else MetricLearningLoop)(folder)
    if stop := int(os.environ.get("STOP_AFTER", "0")):
        while loop.step < stop:
            loop.take_step()
        loop.checkpoint()
    else:
        loop.advance(600)
    tensors = {name: value.clone().contiguous() for arm in loop.arms for name, value in arm.tensors().items()}
    test = torch.rand(33, 3, 24, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return tensors | {"embedded": embed(loop.arms[0].encoder, test, torch.device("cpu"))}


def metric_learning(images: Path, losses: list[str]) -> RunConfig:
    """Cross-batch memories are in use, and gradients are clipped; ``SETTINGS`` has further ones."""
    values: dict[str, Any] = {"steps": STEPS, "memory": 30, "memory_after": 3, "clip_norm": 0.5, "dim": 8}
    values |= {"classes_per_batch": 4, "images_per_class": 3, "snapshot_steps": 10}
    return tiny_config(images, *losses, **values | json.loads(os.environ.get("SETTINGS", "{}")))


def pretraining(images: Path, methods: list[str]) -> RunConfig:
    """Queues begin anew, and a classifier is trained in a second stage."""
    norm = os.environ.get("NORM", "batch")
    data = DataChoice(source=str(images), image_size=24)
    few: dict[str, Any] = {"norm": norm, "splits": 4, "steps": STEPS // 2, "head_steps": 4, "snapshot_steps": 6}
    return tiny_contrastive(images, *map(parsed, methods), data=data, **few)


def parsed(method: str) -> Choice:
    """``name:parameter=number,...``."""
    name, _, given = method.partition(":")
    pairs = [pair.split("=") for pair in given.split(",") if pair]
    return Choice(name=name, parameters={key: json.loads(value) for key, value in pairs})


def main(images: str, out: str, *losses: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        in_double(patch)
        patch.setattr(query_shares, "LARGEST", int(os.environ.get("LARGEST", query_shares.LARGEST)))
        join()
        save_file(trained(Path(images), Path(out) / f"rank{rank()}", list(losses)), Path(out) / f"{rank()}.safetensors")


if __name__ == "__main__":
    main(*sys.argv[1:])
