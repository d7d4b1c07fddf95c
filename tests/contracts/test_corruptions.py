"""Every corruption: shapes and types are kept, the seed decides the bytes, a higher severity changes more."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import Tensor

from trainers.data.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from trainers.data.corruptions.base import length, strength
from trainers.data.corruptions.blur import disk
from trainers.data.corruptions.digital import cells
from trainers.errors import UserError
from trainers.metrics.corrupted_accuracy import corrupted_accuracy

STILL = ("defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg")  # without random draws


def photographs(count: int, side: int, channels: int = 3, seed: int = 0) -> Tensor:
    """Images with the spectrum of photographs (amplitudes fall with the frequency) and a few edges."""
    draws = torch.Generator().manual_seed(seed)
    rows, columns = torch.fft.fftfreq(side)[:, None], torch.fft.rfftfreq(side)[None]
    fall = 1 / (rows.square() + columns.square()).sqrt().clamp(min=1 / side)
    shape = (count, channels, side, side // 2 + 1)
    spectrum = torch.complex(torch.randn(shape, generator=draws), torch.randn(shape, generator=draws)) * fall
    values = torch.fft.irfft2(spectrum, (side, side))
    values = 0.15 * values / values.std((2, 3), keepdim=True)
    bright = torch.rand(count, channels, 1, 1, generator=draws) * 0.6 + 0.2
    values[..., side // 4 : side // 2, side // 3 :] += 0.3 - bright / 2
    return ((values + bright) * 255).clamp(0, 255).to(torch.uint8)


def distance(images: Tensor, others: Tensor) -> float:
    """Root mean square, in grey levels."""
    return float((images.float() - others.float()).square().mean().sqrt())


def test_there_are_the_papers_fifteen() -> None:
    groups = [entry.group for entry in CORRUPTIONS.values()]
    assert {group: groups.count(group) for group in groups} == {"noise": 3, "blur": 4, "weather": 4, "digital": 4}
    assert all(entry.differs == "" or entry.differs.endswith(".") for entry in CORRUPTIONS.values())


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize(("channels", "height", "width"), [(3, 32, 32), (1, 32, 32), (1, 28, 28), (3, 40, 61)])
def test_shape_and_type_are_kept_and_the_input_is_left_alone(name, channels, height, width) -> None:
    images = photographs(3, 64, channels)[..., :height, :width]
    before = images.clone()
    for severity in SEVERITIES:
        found = corrupt(CORRUPTIONS[name], images, severity=severity, seed=1)
        assert found.dtype == torch.uint8 and found.shape == images.shape and not torch.equal(found, images)
    assert torch.equal(images, before)


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("side", [1, 2, 5])
def test_tiny_images_and_empty_batches_are_no_trouble(name, side) -> None:
    images = torch.full((2, 3, side, side), 90, dtype=torch.uint8)
    for severity in (1, 5):
        assert corrupt(CORRUPTIONS[name], images, severity=severity, seed=0).shape == images.shape
        assert corrupt(CORRUPTIONS[name], images[:0], severity=severity, seed=0).shape == (0, 3, side, side)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_seed_decides(name) -> None:
    images = photographs(4, 32)
    one, same, other, later = (
        corrupt(CORRUPTIONS[name], images, severity=3, **given)
        for given in ({"seed": 5}, {"seed": 5}, {"seed": 6}, {"seed": 5, "first": 4})
    )
    assert torch.equal(one, same)
    assert torch.equal(one, other) == torch.equal(one, later) == (name in STILL)


@pytest.mark.parametrize("name", [name for name in CORRUPTIONS if name not in STILL])
def test_each_image_has_draws_of_its_own(name) -> None:
    images = photographs(1, 32).expand(2, -1, -1, -1)
    found = corrupt(CORRUPTIONS[name], images, severity=5, seed=0)
    assert not torch.equal(found[0], found[1])


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_generator_of_the_program_is_left_alone(name) -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    corrupt(CORRUPTIONS[name], photographs(2, 16), severity=2, seed=0)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize(("side", "channels", "count"), [(32, 3, 40), (32, 1, 40), (64, 3, 16), (224, 3, 4)])
def test_a_higher_severity_changes_more(name, side, channels, count) -> None:
    images = photographs(count, side, channels)
    changed = [corrupt(CORRUPTIONS[name], images, severity=severity, seed=0) for severity in SEVERITIES]
    distances = [distance(images, some) for some in changed]
    assert distances[0] > 0.5 and all(low < high for low, high in pairwise(distances)), distances


def test_strengths_are_the_papers_at_their_sizes_and_between_them_in_between() -> None:
    small, large = (1, 2, 3, 4, 5), (10, 20, 30, 40, 50)
    for severity in SEVERITIES:
        found = [strength(torch.empty(1, 3, side, side), severity, small, large) for side in (8, 32, 64, 224, 448)]
        assert found[0] == found[1] == small[severity - 1] and found[3] == found[4] == large[severity - 1]
        assert found[1] < found[2] < found[3]
        reach = [length(torch.empty(1, 3, side, 500), severity, small, large) for side in (16, 32, 224, 448)]
        assert reach == pytest.approx([severity / 2, severity, 10 * severity, 20 * severity])


def test_noise_has_the_strength_it_names() -> None:
    images = torch.full((8, 3, 32, 32), 128, dtype=torch.uint8)
    for severity, sigma in enumerate((0.04, 0.06, 0.08, 0.09, 0.10), start=1):
        found = corrupt(CORRUPTIONS["gaussian_noise"], images, severity=severity, seed=0).float()
        assert float(found.std()) == pytest.approx(255 * sigma, rel=0.03)
        found = corrupt(CORRUPTIONS["impulse_noise"], images, severity=severity, seed=0)
        share = (0.01, 0.02, 0.03, 0.05, 0.07)[severity - 1]
        assert float((found != 128).float().mean()) == pytest.approx(share, rel=0.15)
        assert set(found.unique().tolist()) == {0, 128, 255}
        found = corrupt(CORRUPTIONS["shot_noise"], images, severity=severity, seed=0).float() / 255
        photons = (500, 250, 100, 75, 50)[severity - 1]
        assert float(found.var()) == pytest.approx(0.5 / photons, rel=0.06)


def test_what_is_computed_exactly() -> None:
    images = photographs(2, 32)
    half = corrupt(CORRUPTIONS["contrast"], images, severity=2, seed=0).double()
    mean = images.double().mean((2, 3), keepdim=True)
    assert float((half - (mean + images.double()) / 2).abs().max()) <= 0.51
    black = corrupt(CORRUPTIONS["brightness"], torch.zeros(1, 3, 32, 32, dtype=torch.uint8), severity=4, seed=0)
    assert black.unique().tolist() == [51]
    red = torch.tensor([100, 50, 0], dtype=torch.uint8)[None, :, None, None].expand(1, 3, 32, 32)
    assert corrupt(CORRUPTIONS["brightness"], red, severity=4, seed=0)[0, :, 0, 0].tolist() == [151, 76, 0]


@pytest.mark.parametrize("name", ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "elastic", "pixelate"])
def test_blurs_and_distortions_keep_a_flat_image(name) -> None:
    flat = torch.full((2, 3, 32, 32), 77, dtype=torch.uint8)
    assert torch.equal(corrupt(CORRUPTIONS[name], flat, severity=5, seed=0), flat)


def test_kernels_sum_to_one() -> None:
    for radius, sigma in ((0.3, 0.4), (1.5, 0.1), (10, 0.5)):
        kernel = disk(radius, sigma)
        assert float(kernel.sum()) == pytest.approx(1) and torch.allclose(kernel, kernel.T)
    for new, old in ((3, 8), (8, 3), (1, 5), (5, 5), (20, 32)):
        assert torch.allclose(cells(new, old).sum(1), torch.ones(new), atol=1e-5)
    assert torch.allclose(cells(5, 5), torch.eye(5), atol=1e-5)


@pytest.mark.parametrize(
    ("images", "severity", "words"),
    [
        (torch.zeros(2, 3, 8, 8), 1, "uint8"),
        (torch.zeros(2, 4, 8, 8, dtype=torch.uint8), 1, "1 or 3"),
        (torch.zeros(3, 8, 8, dtype=torch.uint8), 1, "uint8"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), 6, "1 to 5"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), 0, "1 to 5"),
    ],
)
def test_what_cannot_be_corrupted_is_refused(images, severity, words) -> None:
    with pytest.raises(UserError, match=words):
        corrupt(CORRUPTIONS["fog"], images, severity=severity, seed=0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_cuda_gives_the_same_distance(name) -> None:
    images = photographs(40, 32)
    there = corrupt(CORRUPTIONS[name], images.cuda(), severity=3, seed=0)
    assert there.device.type == "cuda"
    here = corrupt(CORRUPTIONS[name], images, severity=3, seed=0)
    assert distance(images, there.cpu()) == pytest.approx(distance(images, here), rel=0.1)


# ----------------------------------------------------------------- accuracy


def bright(images: Tensor) -> Tensor:
    """A classifier: 1 for an image that is brighter than the middle."""
    return (images.float().mean((1, 2, 3)) > 128).long()


def test_accuracy_of_every_corruption_and_severity() -> None:
    images = photographs(30, 32)
    labels = bright(images)
    labels[:3] = 1 - labels[:3]
    told: list[tuple[int, int]] = []
    found = corrupted_accuracy(
        bright, images, labels, (1, 4), lambda done, total: told.append((done, total)), names=("fog", "jpeg"), batch=8
    )
    assert found.clean == pytest.approx(0.9) and set(found.accuracy) == {"fog", "jpeg"}
    assert [done for done, _ in told] == sorted(done for done, _ in told) and told[-1] == (150, 150)
    for name, shares in found.accuracy.items():
        assert set(shares) == {1, 4}
        for severity, share in shares.items():
            parts = [
                bright(corrupt(CORRUPTIONS[name], images[at : at + 8], severity=severity, seed=0, first=at))
                for at in range(0, 30, 8)
            ]
            assert share == pytest.approx(float((torch.cat(parts) == labels).float().mean()))
    assert found.mean == pytest.approx(sum(sum(shares.values()) for shares in found.accuracy.values()) / 4)


def test_all_corruptions_are_the_default() -> None:
    images = photographs(2, 16)
    tree = torch.stack([bright(images), torch.zeros(2).long()], 1)
    found = corrupted_accuracy(bright, images, tree)
    assert list(found.accuracy) == list(CORRUPTIONS) and found.clean == 1
    assert all(tuple(shares) == SEVERITIES for shares in found.accuracy.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"names": ("rain",)}, "no corruption 'rain'"),
        ({"names": ()}, "needs a corruption"),
        ({"severities": ()}, "needs a corruption"),
        ({"labels": torch.zeros(3).long()}, "a label each"),
        ({"images": torch.zeros(0, 3, 8, 8, dtype=torch.uint8), "labels": torch.zeros(0).long()}, "a label each"),
    ],
)
def test_accuracy_says_what_is_missing(change, words) -> None:
    given = {"images": photographs(2, 8), "labels": torch.zeros(2).long()} | change
    with pytest.raises(UserError, match=words):
        corrupted_accuracy(bright, **given)
