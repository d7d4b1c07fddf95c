"""What the classifier of the second stage is trained on: crops and mirrored images, whatever the encoder saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from tests.kinds.contrastive.test_run import SMALL, in_second_stage, run
from tests.training.batches import next_batch
from trainers.data import load_data
from trainers.kinds.contrastive.loop import ContrastiveLoop
from trainers.kinds.contrastive.methods import METHODS
from trainers.parameters import Choice

STRONG = Choice(name="moco_v2", parameters={"strength": 2.0, "grey": 0.5, "blur": 1.0})
PARAMETERS = {
    "moco_v1": SMALL,
    "moco_v2": SMALL,
    "memory_bank": {"negatives": 12},
    "supcon_queue": SMALL,
}


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images without an edge but the one between a left half and a right half of other colours, 12 of each class."""
    root = tmp_path_factory.mktemp("halves")
    draws = np.random.default_rng(0)
    for label in range(3):
        folder = root / str(label)
        folder.mkdir()
        for number in range(12):
            pixels = np.empty((16, 16, 3), dtype=np.uint8)
            pixels[:, :8], pixels[:, 8:] = draws.integers(0, 256, (2, 1, 1, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{number}.png")
    return root


def seen(net: nn.Module, loop: ContrastiveLoop) -> tuple[Tensor, Tensor]:
    """The images of the next batch, and what a network is given of them."""
    given: list[Tensor] = []
    hook = net.register_forward_pre_hook(lambda _net, inputs: given.append(inputs[0].detach().clone()))
    rows = next_batch(loop).rows
    hook.remove()
    return load_data(loop.config.data).train.images[rows].float() / 255, torch.cat(given)


def is_crop_of(view: Tensor, image: Tensor) -> bool:
    """Whether every row is the same, and runs between the image's two colours from one side to the other."""
    left, right = image[:, 0, 0], image[:, 0, -1]
    along = (view[:, 0] - left[:, None]) * (right - left)[:, None]
    share = along.sum(0) / (right - left).square().sum()
    drawn = left[:, None] + share * (right - left)[:, None]
    steps = share.diff()
    one_way = bool((steps >= -1e-4).all()) or bool((steps <= 1e-4).all())
    return one_way and torch.allclose(view, drawn[:, None].expand_as(view), atol=1e-4)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("cross_entropy", "max_margin")])
def test_the_classifier_sees_crops_and_mirrored_images_alone(tmp_path: Path, halves: Path, name: str) -> None:
    method = Choice(name=name, parameters=PARAMETERS.get(name, {}))
    loop = run(tmp_path, halves, method, augmentation=STRONG, steps=2)
    loop.advance(0)
    encoder = loop.arms[0].encoder
    trained_on, views = seen(encoder, loop)
    assert sum(is_crop_of(*pair) for pair in zip(views[:8], trained_on, strict=True)) < 4  # jitter and grey; of 8
    in_second_stage(loop)
    trained_on, views = seen(encoder, loop)
    assert views.shape == (8, 3, 16, 16)
    assert all(is_crop_of(*pair) for pair in zip(views, trained_on, strict=True))


def test_it_is_mirrored_and_cropped_anew_in_every_step(tmp_path: Path, halves: Path) -> None:
    loop = in_second_stage(run(tmp_path, halves, Choice(name="simclr"), batch=24, steps=1, augmentation=STRONG))
    mirrored = []
    for _ in range(3):
        trained_on, views = seen(loop.arms[0].encoder, loop)
        nearer = (views[..., 0] - trained_on[..., 0]).square() < (views[..., 0] - trained_on[..., -1]).square()
        mirrored += (nearer.flatten(1).float().mean(1) < 0.5).tolist()
    assert 15 < sum(mirrored) < 57  # of 72


def test_another_augmentation_can_be_chosen(tmp_path: Path, halves: Path) -> None:
    settings = {"head_augmentation": Choice(name="none"), "augmentation": STRONG, "steps": 1}
    loop = in_second_stage(run(tmp_path, halves, Choice(name="simclr"), **settings))
    trained_on, views = seen(loop.arms[0].encoder, loop)
    assert torch.equal(views, trained_on)
