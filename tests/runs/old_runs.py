"""Resuming what earlier versions wrote: a few steps from the stored checkpoint, beside those that its own version took.

After many steps the rounding of another processor leads elsewhere; after three it does not.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from trainers.kinds import kind_of
from trainers.runs import RunFolder
from trainers.runs.files import read_tensors

STEPS = 3
RESUMED: dict[str, dict[str, tuple[float, float]]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "resumed.json").read_text()
)
"""By archive and tensor: the :func:`sketch` of the checkpoint ``STEPS`` steps after its own version resumed it."""


def sketch(path: Path) -> dict[str, tuple[float, float]]:
    """Norm, and product with cos(0), cos(1), ..., of every tensor of a checkpoint in float64."""
    flat = {name: tensor.double().flatten() for name, tensor in read_tensors(path)[0].items()}
    waves = {name: torch.cos(torch.arange(len(tensor), dtype=torch.float64)) for name, tensor in flat.items()}
    return {name: (tensor.norm().item(), (tensor @ waves[name]).item()) for name, tensor in flat.items()}


def assert_resumes(name: str, path: Path) -> None:
    """Resume the folder of an archive for a few steps, compare its checkpoint, and score the test images."""
    folder = RunFolder(path)
    loop = kind_of(folder.config).loop()(folder, lambda _text, _share: None)
    first = loop.step
    while loop.step < first + STEPS:
        assert loop.advance(1e-3)  # less than a step takes: one at a time
    loop.checkpoint()
    resumed = sketch(path / "ckpt" / "last.safetensors")
    assert resumed.keys() == RESUMED[name].keys()
    for tensor, (norm, wave) in RESUMED[name].items():
        assert resumed[tensor] == pytest.approx((norm, wave), rel=1e-4, abs=1e-4 * norm), tensor
    loop.finish()
    scored = {scalar.arm for scalar in folder.scalars() if scalar.key.startswith("test/")}
    assert scored == set(range(folder.config.arms))
    folder.db.close()
