"""Augmentation is a pure function of (seed, step, view), and small."""

from __future__ import annotations

import torch

from trainers.training.augmentation import Augmentation, augment, for_channels

STILL = Augmentation(rotate=0, scale=0, shift=0, light=0, flip=False)


def images(channels: int = 3) -> torch.Tensor:
    return torch.randint(0, 256, (5, channels, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def test_the_same_draws_for_the_same_names() -> None:
    state = torch.get_rng_state()
    one = augment(images(), Augmentation(), seed=3, step=7, view=0)
    assert torch.equal(one, augment(images(), Augmentation(), seed=3, step=7, view=0))
    for other in ({"seed": 4}, {"step": 8}, {"view": 1}):
        assert not torch.equal(one, augment(images(), Augmentation(), **({"seed": 3, "step": 7, "view": 0} | other)))
    assert torch.equal(torch.get_rng_state(), state)


def test_range_shape_and_type() -> None:
    out = augment(images(), Augmentation(light=0.9), seed=0, step=0, view=0)
    assert out.shape == (5, 3, 16, 16) and out.dtype == torch.float32
    assert out.min() >= 0 and out.max() <= 1


def test_nothing_allowed_changes_nothing() -> None:
    out = augment(images(), STILL, seed=0, step=0, view=0)
    assert torch.allclose(out, images().float() / 255, atol=1e-5)


def test_letters_are_never_mirrored() -> None:
    assert not for_channels(1).flip and for_channels(3).flip
    flipped = augment(images(), Augmentation(rotate=0, scale=0, shift=0, light=0), seed=0, step=0, view=0)
    plain = images().float() / 255
    same = [torch.allclose(a, b, atol=1e-5) for a, b in zip(flipped, plain, strict=True)]
    mirrored = [torch.allclose(a.flip(-1), b, atol=1e-5) for a, b in zip(flipped, plain, strict=True)]
    assert all(s != m for s, m in zip(same, mirrored, strict=True)) and any(mirrored) and any(same)
