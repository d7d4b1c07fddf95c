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


def slow_clip(images: Tensor, texts: Tensor, scale: float) -> float:
    total, count = 0.0, len(images)
    for i in range(count):
        right = math.exp(scale * cosine(images[i], texts[i]))
        total -= math.log(right / sum(math.exp(scale * cosine(images[i], texts[j])) for j in range(count)))
        total -= math.log(right / sum(math.exp(scale * cosine(images[j], texts[i])) for j in range(count)))
    return total / (2 * count)


def slow_siglip(images: Tensor, texts: Tensor, scale: float, bias: float) -> float:
    total, count = 0.0, len(images)
    for i in range(count):
        for j in range(count):
            sign = 1 if i == j else -1
            total += math.log(1 + math.exp(-sign * (scale * cosine(images[i], texts[j]) + bias)))
    return total / count


def slow_triplet(images: Tensor, texts: Tensor, margin: float) -> float:
    total, count = 0.0, len(images)
    for i in range(count):
        own = cosine(images[i], texts[i])
        total += max(max(0.0, margin - own + cosine(images[i], texts[j])) for j in range(count) if j != i)
        total += max(max(0.0, margin - own + cosine(images[j], texts[i])) for j in range(count) if j != i)
    return total / count


@pytest.mark.parametrize("size", [2, 3, 9])
def test_against_loops(size):
    images, texts = pairs(size)
    for scale in (1.0, 14.3, 100.0):
        assert clip_loss(images, texts, torch.tensor(scale)).item() == pytest.approx(slow_clip(images, texts, scale))
        found = siglip_loss(images, texts, torch.tensor(scale), torch.tensor(-3.0)).item()
        assert found == pytest.approx(slow_siglip(images, texts, scale, -3.0))
    for margin in (0.0, 0.2, 1.5):
        found = hardest_triplet_loss(images, texts, margin).item()
        assert found == pytest.approx(slow_triplet(images, texts, margin))


def test_against_open_clip():
    images, texts = pairs(12, 8, torch.float32)
    units = functional.normalize(images), functional.normalize(texts)
    scale, bias = torch.tensor(10.0), torch.tensor(-10.0)
    torch.testing.assert_close(clip_loss(images, texts, scale), ClipLoss()(*units, scale))
    torch.testing.assert_close(siglip_loss(images, texts, scale, bias), SigLipLoss()(*units, scale, bias))


def test_a_worked_triplet():
    texts = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    images = torch.tensor([[2.0, 0.0], [3.0, 4.0]])  # cosines: 1 and 0, 0.6 and 0.8
    # rows: max(0, .2-1+0) and max(0, .2-.8+.6)=0; columns: max(0, .2-1+.6) and max(0, .2-.8+0)
    assert hardest_triplet_loss(images, texts, 0.2).item() == pytest.approx(0.0, abs=1e-6)
    # with .5: rows 0 and .3, columns .1 and 0
    assert hardest_triplet_loss(images, texts, 0.5).item() == pytest.approx((0.3 + 0.1) / 2)


@every
def test_gradients(name):
    images, texts = (side.requires_grad_() for side in pairs(4, 3))
    torch.autograd.gradcheck(LOSSES[name], (images, texts))


def test_gradients_of_scale_and_bias():
    images, texts = pairs(4, 3)
    scale, bias = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (5.0, -2.0))
    torch.autograd.gradcheck(lambda s: clip_loss(images, texts, s), (scale,))
    torch.autograd.gradcheck(lambda s, b: siglip_loss(images, texts, s, b), (scale, bias))


@every
def test_the_order_and_length_of_rows_do_not_matter(name):
    images, texts = pairs(7)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(1))
    expected = LOSSES[name](images, texts)
    torch.testing.assert_close(LOSSES[name](images[order], texts[order]), expected)
    torch.testing.assert_close(LOSSES[name](images * 30, texts * torch.arange(1, 8)[:, None]), expected)
    torch.testing.assert_close(LOSSES[name](texts, images), expected)  # both directions count alike


@every
def test_right_pairs_cost_less_than_shuffled_ones(name):
    images, _ = pairs(8, 16)
    assert LOSSES[name](images, images) < LOSSES[name](images, images.roll(1, 0))


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
def test_refusals(name):
    with pytest.raises(UserError, match="at least 2"):
        LOSSES[name](torch.ones(1, 3), torch.ones(1, 3))
    with pytest.raises(UserError, match="at least 2"):
        LOSSES[name](torch.ones(0, 3), torch.ones(0, 3))
    with pytest.raises(UserError, match="one shape"):
        LOSSES[name](torch.ones(4, 3), torch.ones(3, 3))
    with pytest.raises(UserError, match="one shape"):
        LOSSES[name](torch.ones(4), torch.ones(4))
