"""The drawn world: the same bytes from the same seed, a true hierarchy, and hard enough to be worth training on."""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from trainers.config import DataChoice
from trainers.data.base import LoadedData
from trainers.data.labelled.datasets import drawn
from trainers.data.synthetic.engine import colour, exact_math, rng
from trainers.data.synthetic.pottery import background, classes, motifs, scene, silhouettes
from trainers.data.synthetic.pottery.motifs import MOTIFS
from trainers.data.synthetic.pottery.silhouettes import SHELVES, Silhouette, relief
from trainers.errors import DataError

SMALL = DataChoice(image_size=16, max_images=192)


@pytest.fixture(scope="module", autouse=True)
def _drawn_afresh() -> Iterator[None]:
    """Without the cache: a world that is read back proves nothing about drawing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", "off")
        yield


@pytest.fixture(scope="module")
def world() -> LoadedData:
    return drawn.load(DataChoice(max_images=480))


@pytest.fixture(scope="module")
def told() -> list[float]:
    return []


@pytest.fixture(scope="module")
def small_world(told: list[float]) -> LoadedData:
    return drawn.load(SMALL, lambda text, done: told.append(done))


def test_shapes_and_counts(world: LoadedData) -> None:
    assert world.train.images.dtype == world.test.images.dtype == torch.uint8
    assert world.train.labels.dtype == torch.int64
    assert world.train.images.shape == (96 * 5, 3, 64, 64)
    assert world.test.images.shape == (80 * 6, 3, 64, 64)
    assert world.train.labels.shape == (96 * 5, 3)
    assert world.train.labels[:, 0].bincount().tolist() == [5] * 96


def test_finest_classes_are_disjoint_and_coarser_ones_shared(world: LoadedData) -> None:
    train, test = (set(part.labels[:, 0].tolist()) for part in (world.train, world.test))
    assert not train & test
    for level in (1, 2):
        shared = [set(part.labels[:, level].tolist()) for part in (world.train, world.test)]
        assert shared[0] == shared[1] == set(range(len(world.hierarchy.names[level])))


def test_hierarchy_is_a_tree_with_names(world: LoadedData) -> None:
    labels = torch.cat((world.train.labels, world.test.labels))
    assert world.hierarchy.levels == ("pot", "shape", "shelf")
    assert [len(names) for names in world.hierarchy.names] == [176, 16, 4]
    for names in world.hierarchy.names:
        assert len(set(names)) == len(names)
    for fine, coarse in ((0, 1), (1, 2)):
        pairs = {(int(row[fine]), int(row[coarse])) for row in labels}
        assert len(pairs) == len({child for child, _ in pairs})
    for pot, shape, _ in labels.tolist():
        assert world.hierarchy.names[1][shape] in world.hierarchy.names[0][pot]


def test_the_same_seed_draws_the_same_bytes_whatever_the_global_random_state(small_world: LoadedData) -> None:
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    again = drawn.load(SMALL)
    assert torch.equal(small_world.train.images, again.train.images)
    assert torch.equal(small_world.test.images, again.test.images)
    assert small_world.fingerprint == again.fingerprint
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tolist() == before[1]
    assert torch.equal(torch.get_rng_state(), before[2])


def test_every_platform_draws_the_same_bytes(small_world: LoadedData) -> None:
    # Recorded with and without AVX; a change of the pictures changes it, a change of machine or library must not.
    assert small_world.fingerprint == "68ef5a2c4f18ac21e93b9f9f8fa6b276"


def one(pot: classes.Pot, pot_id: int, number: int, size: int, seed: int = 0) -> np.ndarray:
    """Image ``number`` of a pot, drawn alone."""
    return drawn.draw_shot(drawn.Shot(pot=pot, pot_id=pot_id, number=number), size, seed, {})


def test_another_seed_draws_another_world(world: LoadedData) -> None:
    pots, other_pots = (sum(classes.make_pots(seed), ()) for seed in (0, 1))
    assert tuple(pot.name for pot in pots) == world.hierarchy.names[0]
    other = classes.hierarchy(other_pots)
    assert other.names[0] != world.hierarchy.names[0]
    assert other.names[1:] == world.hierarchy.names[1:]
    ours, theirs = (one(pots[0], 0, 0, 32, seed) for seed in (0, 1))
    assert not np.array_equal(ours, theirs)


def test_an_image_does_not_depend_on_what_was_drawn_before(world: LoadedData) -> None:
    train, test = classes.make_pots(0)
    for pot_id, number in ((0, 4), (95, 0), (40, 2)):
        alone = one(train[pot_id], pot_id, number, 64)
        assert np.array_equal(world.train.images[5 * pot_id + number].numpy(), alone)
    assert np.array_equal(world.test.images[6 * 7 + 3].numpy(), one(test[7], 96 + 7, 3, 64))


@pytest.mark.parametrize("size", [32, 64, 96])
def test_sizes_show_the_same_picture(size: int) -> None:
    pot = classes.make_pots(0)[0][0]
    reference = one(pot, 0, 0, 32).astype(np.float32)
    image = one(pot, 0, 0, size)
    assert image.shape == (3, size, size)
    step = size // 32
    shrunk = image.astype(np.float32).reshape(3, 32, step, 32, step).mean(axis=(2, 4))
    assert np.abs(shrunk - reference).mean() < 6


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(DataError, match="image size from 16 to 256; got 8"):
        drawn.load(DataChoice(image_size=8))
    with pytest.raises(DataError, match="at least 192 images"):
        drawn.load(DataChoice(max_images=100))


def test_progress_rises_from_zero_to_the_end(small_world: LoadedData, told: list[float]) -> None:
    assert told == sorted(told)
    assert told[0] == 0.0
    assert 0.95 < told[-1] <= 1.0


def test_paint_tells_a_pot_but_no_shelf() -> None:
    train, test = classes.make_pots(3)
    pots = train + test
    assert len({(pot.glaze, pot.motif, pot.ink) for pot in pots}) == len(pots)
    for trait in ("glaze", "motif", "ink"):
        for value in {getattr(pot, trait) for pot in pots}:
            assert len({pot.shelf for pot in pots if getattr(pot, trait) == value}) >= 3


@pytest.mark.parametrize("name", sorted(MOTIFS))
def test_every_motif_has_ink_and_ground(name: str) -> None:
    axis = (np.arange(240, dtype=np.float32) + 0.5) / 60
    ink = np.broadcast_to(MOTIFS[name](axis[None, :], axis[:, None], 0.1), (240, 240))
    assert ink.min() >= 0
    assert ink.max() <= 1
    assert 0.15 < ink.mean() < 0.65


@pytest.mark.parametrize(
    "silhouette", [one for _, silhouettes in SHELVES for one in silhouettes], ids=lambda one: one.name
)
def test_every_silhouette_stands_within_its_map(silhouette: Silhouette) -> None:
    seen = relief(silhouette, 0.26, 72)
    assert np.isfinite(seen.cells).all()
    cover = np.maximum(seen.cells[..., 0], seen.cells[..., 7])
    assert cover[[0, -1]].max() == 0
    assert cover[:, [0, -1]].max() == 0
    assert 0.08 < cover.mean() < 0.5


def test_own_functions_agree_with_the_library() -> None:
    angle = np.linspace(-0.4999, 0.4999, 4001)
    s, c = np.sin(2 * np.pi * angle), np.cos(2 * np.pi * angle)
    assert np.abs(exact_math.turn(s.astype(np.float32), c.astype(np.float32)) - angle).max() < 1e-4
    own = np.array([exact_math.cos_sin(a) for a in np.linspace(-2, 2, 1001)])
    turns = 2 * np.pi * np.linspace(-2, 2, 1001)
    assert np.abs(own - np.stack((np.cos(turns), np.sin(turns)), axis=1)).max() < 1e-7


def test_random_numbers_are_even() -> None:
    stream = rng.Rng(0, "test")
    draws = np.array([stream.unit() for _ in range(20_000)])
    assert abs(draws.mean() - 0.5) < 0.01
    counts = np.bincount([stream.below(7) for _ in range(14_000)], minlength=7)
    assert counts.min() > 1800
    assert sorted(stream.shuffled(range(50))) == list(range(50))
    assert rng.Rng(0, "a", 1).bits() != rng.Rng(0, "a", 2).bits()


def test_the_stream_of_random_numbers_is_pinned() -> None:
    # splitmix64 of state 0, as its reference implementation gives it.
    stream = rng.Rng()
    assert stream.bits() == 0xE220A8397B1DCDAF
    assert stream.bits() == 0x6E789E6AA1B965F4


def test_drawing_uses_no_platform_dependent_function() -> None:
    unsafe = {"sin", "cos", "tan", "arctan2", "arcsin", "exp", "log", "power", "random", "default_rng", "normal"}
    for module in (rng, exact_math, colour, silhouettes, motifs, background, scene, classes):
        source = inspect.getsource(module)
        called = {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
        assert not called & unsafe, module


def test_raw_pixels_do_not_find_the_pot(world: LoadedData) -> None:
    flat = world.test.images.flatten(1).float()
    for features in (flat, flat - flat.mean(dim=0)):
        assert recall_at_1(features, world.test.labels[:, 0]) < 0.35


def test_an_untrained_network_does_not_find_the_pot(world: LoadedData) -> None:
    generator = torch.Generator().manual_seed(0)
    layers: list[nn.Module] = []
    width = 3
    for out in (32, 64, 128):
        conv = nn.Conv2d(width, out, 3, stride=2, padding=1)
        with torch.no_grad():
            conv.weight.normal_(0, (2 / (9 * width)) ** 0.5, generator=generator)
        layers += [conv, nn.BatchNorm2d(out), nn.ReLU()]
        width = out
    with torch.no_grad():
        features = nn.Sequential(*layers)(world.test.images.float() / 255).mean(dim=(2, 3))
    assert recall_at_1(features, world.test.labels[:, 0]) < 0.35


def recall_at_1(features: Tensor, labels: Tensor) -> float:
    unit = nn.functional.normalize(features, dim=1)
    similarity = (unit @ unit.T).fill_diagonal_(-2)
    return float((labels[similarity.argmax(dim=1)] == labels).float().mean())


def test_a_second_start_reads_what_the_first_one_drew(
    small_world: LoadedData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path))
    drawn.load(SMALL)

    def refuse(*_arguments: object) -> None:
        raise AssertionError("drawn again")

    monkeypatch.setattr(drawn, "draw_shot", refuse)
    kept = drawn.load(SMALL)
    assert kept.fingerprint == small_world.fingerprint
    assert kept.hierarchy == small_world.hierarchy and kept.notes == small_world.notes
    assert torch.equal(kept.test.images, small_world.test.images)
