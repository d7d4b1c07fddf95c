"""The losses of image-text models against slow loops, against open_clip, and against what they promise."""

from __future__ import annotations

import math

import pytest
import torch
from open_clip.loss import ClipLoss, SigLipLoss
from torch import Tensor
from torch.nn import functional

from trainers.errors import UserError
from trainers.image_text.losses import clip_loss, hardest_triplet_loss, siglip_loss

LOSSES = {
    "clip": lambda images, texts: clip_loss(images, texts, torch.tensor(14.0)),
    "siglip": lambda images, texts: siglip_loss(images, texts, torch.tensor(10.0), torch.tensor(-10.0)),
    "triplet": lambda images, texts: hardest_triplet_loss(images, texts, 0.2),
}
every = pytest.mark.parametrize("name", LOSSES)


def pairs(size: int = 6, dim: int = 5, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(size * dim)
    return tuple(torch.randn(size, dim, generator=draw, dtype=torch.float64).to(dtype) for _ in range(2))


def cosine(first: Tensor, second: Tensor) -> float:
    dot = sum(a * b for a, b in zip(first.tolist(), second.tolist(), strict=True))
    return dot / math.sqrt(sum(a * a for a in first.tolist()) * sum(b * b for b in second.tolist()))


def slow_triplet(images: Tensor, texts: Tensor, margin: float) -> float:
    total, count = 0.0, len(images)
    for i in range(count):
        own = cosine(images[i], texts[i])
        total += max(max(0.0, margin - own + cosine(images[i], texts[j])) for j in range(count) if j != i)
        total += max(max(0.0, margin - own + cosine(images[j], texts[i])) for j in range(count) if j != i)
    return total / count


@pytest.mark.parametrize("size", [2, 3, 9])
@pytest.mark.parametrize("margin", [0.0, 0.2, 1.5])
def test_triplets_against_loops(size, margin):
    images, texts = pairs(size)
    found = hardest_triplet_loss(images, texts, margin).item()
    assert found == pytest.approx(slow_triplet(images, texts, margin))


@pytest.mark.parametrize("size", [2, 3, 12])
@pytest.mark.parametrize("value", [1.0, 14.3, 100.0])
def test_against_open_clip(size, value):
    images, texts = pairs(size, 8)
    units = functional.normalize(images), functional.normalize(texts)
    scale, bias = torch.tensor(value), torch.tensor(-3.0)
    torch.testing.assert_close(clip_loss(images, texts, scale), ClipLoss()(*units, scale))
    torch.testing.assert_close(siglip_loss(images, texts, scale, bias), SigLipLoss()(*units, scale, bias))


@every
def test_gradients(name):
    images, texts = (side.requires_grad_() for side in pairs(4, 3))
    torch.autograd.gradcheck(LOSSES[name], (images, texts))


@every
def test_the_order_and_length_of_rows_do_not_matter(name):
    images, texts = pairs(7)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(1))
    expected = LOSSES[name](images, texts)
    torch.testing.assert_close(LOSSES[name](images[order], texts[order]), expected)
    torch.testing.assert_close(LOSSES[name](images * 30, texts * torch.arange(1, 8)[:, None]), expected)
    torch.testing.assert_close(LOSSES[name](texts, images), expected)  # both directions count alike


@every
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_lifted(name, dtype):
    images, texts = pairs(16, 32, dtype)
    half = images.clone().requires_grad_()
    loss = LOSSES[name](half, texts)
    loss.backward()
    assert loss.dtype == torch.float32 and half.grad.isfinite().all() and half.grad.any()
    torch.testing.assert_close(loss, LOSSES[name](images.float(), texts.float()))
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(LOSSES[name](images.float(), texts.float()), loss, rtol=0, atol=0)


@every
def test_equal_and_zero_rows_keep_finite_gradients(name):
    for row in (torch.ones(4, 3), torch.zeros(4, 3)):
        images, texts = row.clone().requires_grad_(), row.clone().requires_grad_()
        loss = LOSSES[name](images, texts)
        loss.backward()
        assert loss.isfinite() and images.grad.isfinite().all() and texts.grad.isfinite().all()
    assert LOSSES["clip"](torch.ones(4, 3), torch.ones(4, 3)).item() == pytest.approx(math.log(4))
    assert LOSSES["triplet"](torch.ones(4, 3), torch.ones(4, 3)).item() == pytest.approx(0.4)


@every
@pytest.mark.parametrize(
    ("images", "texts", "words"),
    [
        ((1, 3), (1, 3), "at least 2"),
        ((0, 3), (0, 3), "at least 2"),
        ((4, 3), (3, 3), "one shape"),
        ((4,), (4,), "one shape"),
    ],
)
def test_refusals(name, images, texts, words):
    with pytest.raises(UserError, match=words):
        LOSSES[name](torch.ones(images), torch.ones(texts))
