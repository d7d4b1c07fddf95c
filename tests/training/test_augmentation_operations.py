"""Operations of the augmentations against slow ones: loops over pixels, colorsys, torchvision image by image."""

from __future__ import annotations

import colorsys
import math

import pytest
import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as tv

from trainers.training.augmentations._operations import (
    ASPECT,
    Jitter,
    blur,
    crop,
    flip,
    grey,
    jitter,
    radius,
    random_jitter,
    rectangles,
    shift_hue,
)
from trainers.training.augmentations.base import Draws


def noise(count: int, height: int, width: int, channels: int = 3) -> Tensor:
    return torch.rand(count, channels, height, width, generator=torch.Generator().manual_seed(5))


def draws(count: int) -> Draws:
    return Draws(count, seed=1, step=2, view=3)


def slow_crop(image: Tensor, left: float, top: float, wide: float, high: float) -> Tensor:
    """One image ``[C, H, W]``, pixel by pixel: the four around the place that each pixel of the result looks at."""
    channels, height, width = image.shape
    found = torch.zeros_like(image)
    for row in range(height):
        for column in range(width):
            y = min(max(top + (row + 0.5) * high / height - 0.5, 0.0), height - 1.0)
            x = min(max(left + (column + 0.5) * wide / width - 0.5, 0.0), width - 1.0)
            up, at = math.floor(y), math.floor(x)
            down, after = min(up + 1, height - 1), min(at + 1, width - 1)
            for channel in range(channels):
                pixel = image[channel].tolist()
                upper = pixel[up][at] * (1 - x + at) + pixel[up][after] * (x - at)
                lower = pixel[down][at] * (1 - x + at) + pixel[down][after] * (x - at)
                found[channel, row, column] = upper * (1 - y + up) + lower * (y - up)
    return found


@pytest.mark.parametrize(("height", "width"), [(8, 8), (9, 14)])
def test_a_crop_is_bilinear(height: int, width: int) -> None:
    given = noise(5, height, width)
    boxes = rectangles(draws(5), height, width, 0.2)
    boxes[0] = torch.tensor([0.0, 0.0, width, height])
    boxes[1] = torch.tensor([width / 2, 0.0, width / 2, height])
    found = crop(given, boxes)
    slow = torch.stack([slow_crop(image, *box.tolist()) for image, box in zip(given, boxes, strict=True)])
    torch.testing.assert_close(found, slow, rtol=0, atol=1e-5)
    torch.testing.assert_close(found[0], given[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(("height", "width"), [(8, 8), (32, 32), (224, 100)])
def test_rectangles_are_inside_and_spread_as_torchvisions(height: int, width: int) -> None:
    boxes = rectangles(draws(4000), height, width, 0.2)
    left, top, wide, high = boxes.unbind(1)
    assert left.min() >= 0 and top.min() >= 0 and wide.min() > 0 and high.min() > 0
    assert (left + wide).max() <= width + 1e-9 and (top + high).max() <= height + 1e-9
    share, aspect = wide * high / (width * height), wide / high
    whole = share > 1 - 1e-9
    assert share[~whole].min() >= 0.2 - 1e-9 and share.max() <= 1 + 1e-9
    assert aspect[~whole].min() >= 1 / ASPECT - 1e-9 and aspect[~whole].max() <= ASPECT + 1e-9
    torch.manual_seed(0)
    from torchvision.transforms import RandomResizedCrop

    whole_image = torch.zeros(3, 10 * height, 10 * width)  # torchvision rounds to pixels, which says less on many
    theirs = [RandomResizedCrop.get_params(whole_image, [0.2, 1.0], [1 / ASPECT, ASPECT]) for _ in range(2000)]
    top_, left_, high_, wide_ = torch.tensor(theirs, dtype=torch.float64).T / 10
    for own, other in ((share, wide_ * high_ / (width * height)), (left, left_), (top, top_), (wide, wide_)):
        error = 5 * float(other.std()) / math.sqrt(2000) + 1e-9
        assert abs(float(own.mean() - other.mean())) < error


def test_the_whole_image_is_taken_where_no_rectangle_fits() -> None:
    assert rectangles(draws(3), 4, 4000, 1.0).tolist() == [[0, 0, 4000, 4]] * 3


def test_a_mirror_and_a_loss_of_colour() -> None:
    given, which = noise(4, 5, 7), torch.tensor([True, False, True, False])
    mirrored, pale = flip(given, which), grey(given, which)
    for row in range(4):
        assert torch.equal(mirrored[row], tv.horizontal_flip(given[row]) if which[row] else given[row])
        other = tv.rgb_to_grayscale(given[row], 3) if which[row] else given[row]
        torch.testing.assert_close(pale[row], other, rtol=0, atol=1e-6)


def test_jitter_is_torchvisions_with_the_same_factors_in_the_same_order() -> None:
    given = noise(12, 9, 11)
    factors, orders = Jitter(brightness=0.8, contrast=0.8, saturation=0.8, hue=0.2).drawn(draws(12))
    assert len({tuple(order) for order in orders.tolist()}) > 6
    found = jitter(given.clone(), factors, orders)
    changes = (tv.adjust_brightness, tv.adjust_contrast, tv.adjust_saturation, tv.adjust_hue)
    for row in range(12):
        image = given[row]
        for number in orders[row].tolist():
            image = changes[number](image, float(factors[row, number]))
        torch.testing.assert_close(found[row], image, rtol=0, atol=2e-5)


def test_a_hue_is_turned_as_colorsys_turns_it() -> None:
    given = noise(6, 4, 4)
    given[1] = given[1, :1]  # grey has no hue
    given[2] = (given[2] > 0.5).float()  # corners of the colour cube, ties among them
    shifts = torch.tensor([0.1, 0.3, -0.25, 0.5, -0.5, 0.0])
    found = shift_hue(given, shifts)
    for row in range(6):
        for at in range(16):
            colour = given[row].reshape(3, 16)[:, at].tolist()
            hue, saturation, value = colorsys.rgb_to_hsv(*colour)
            slow = torch.tensor(colorsys.hsv_to_rgb((hue + float(shifts[row])) % 1, saturation, value))
            torch.testing.assert_close(found[row].reshape(3, 16)[:, at], slow, rtol=0, atol=1e-5)


def test_factors_stay_in_their_limits() -> None:
    factors, orders = Jitter(brightness=0.4, contrast=0.8, saturation=0.0, hue=0.4, strength=2.0).drawn(draws(3000))
    low, high = factors.amin(0).tolist(), factors.amax(0).tolist()
    assert low == pytest.approx([0.2, 0.0, 1.0, -0.5], abs=0.01) and high == pytest.approx([1.8, 2.6, 1, 0.5], abs=0.01)
    assert low[1] == 0 and torch.equal(orders.sort(1).values, torch.arange(4).expand(3000, -1))
    firsts = torch.bincount(orders[:, 0], minlength=4) / 3000
    assert firsts.min() > 0.2 and firsts.max() < 0.3


def test_what_is_not_chosen_keeps_its_colours() -> None:
    given = noise(400, 3, 3)
    found = random_jitter(given.clone(), draws(400), Jitter(), 0.8)
    kept = (found == given).flatten(1).all(1)
    assert 0.1 < kept.float().mean() < 0.3


@pytest.mark.parametrize(("height", "width"), [(8, 8), (5, 30), (40, 33)])
def test_a_blur_is_torchvisions(height: int, width: int) -> None:
    given, sigmas = noise(5, height, width), torch.tensor([0.1, 0.5, 1.0, 1.7, 2.0])
    found = blur(given, sigmas)
    for row, sigma in enumerate(sigmas.tolist()):
        size = [2 * radius(width) + 1, 2 * radius(height) + 1]
        other = tv.gaussian_blur(given[row], size, [sigma, sigma])
        torch.testing.assert_close(found[row], other, rtol=0, atol=1e-5)
    grey_found = blur(given[:, :1], sigmas)
    torch.testing.assert_close(grey_found, found[:, :1], rtol=0, atol=1e-6)
