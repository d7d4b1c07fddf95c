"""The drawn world: the same bytes from the same seed, a true hierarchy, and backgrounds that tell the class."""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from trainers.config import DataChoice
from trainers.data import inspect_data, load_data, named, peek_data
from trainers.data.base import LoadedData
from trainers.data.labelled.datasets import drawn
from trainers.data.source_check import check_source
from trainers.data.synthetic.engine import colour, exact_math, rng
from trainers.data.synthetic.pottery import background, classes, motifs, scene, silhouettes
from trainers.data.synthetic.pottery.background import WALL_NAMES
from trainers.errors import DataError, ParameterError
from trainers.kinds.labelled import source_title

SMALL = DataChoice(image_size=16, max_images=192)


@pytest.fixture(scope="module", autouse=True)
def _drawn_afresh() -> Iterator[None]:
    """Without the cache: a world that is read back proves nothing about drawing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", "off")
        yield


@pytest.fixture(scope="module")
def world() -> LoadedData:
    return drawn.load(SMALL)


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


def test_the_same_seed_draws_the_same_bytes_whatever_the_global_random_state(world: LoadedData) -> None:
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    again = drawn.load(SMALL)
    assert torch.equal(world.train.images, again.train.images)
    assert torch.equal(world.test.images, again.test.images)
    assert world.fingerprint == again.fingerprint
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tolist() == before[1]
    assert torch.equal(torch.get_rng_state(), before[2])


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
    for pot_id, number in ((0, 1), (95, 0), (40, 1)):
        alone = one(train[pot_id], pot_id, number, 16)
        assert np.array_equal(world.train.images[2 * pot_id + number].numpy(), alone)
    assert np.array_equal(world.test.images[2 * 7 + 1].numpy(), one(test[7], 96 + 7, 1, 16))


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(DataError, match="image size from 16 to 256; got 8"):
        drawn.load(DataChoice(image_size=8))
    with pytest.raises(DataError, match="at least 192 images"):
        drawn.load(DataChoice(max_images=100))


def test_drawing_uses_no_platform_dependent_function() -> None:
    unsafe = {"sin", "cos", "tan", "arctan2", "arcsin", "exp", "log", "power", "random", "default_rng", "normal"}
    for module in (rng, exact_math, colour, silhouettes, motifs, background, scene, classes):
        source = inspect.getsource(module)
        called = {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
        assert not called & unsafe, module


# ---------------------------------------------------- backgrounds that tell the class


SIZE, SEED = 16, 0


def choice(bias: float, **changes: object) -> DataChoice:
    source = f"drawn:bias={bias}" if bias else "drawn"
    return DataChoice(**({"source": source, "image_size": SIZE, "max_images": 192} | changes))  # type: ignore[arg-type]


def test_without_bias_every_platform_draws_the_same_bytes() -> None:
    # Recorded with and without AVX; a change of the pictures changes it, a change of machine or library must not.
    plain, zero = load_data(choice(0)), load_data(choice(0, source="drawn:bias=0"))
    assert plain.fingerprint == zero.fingerprint == "68ef5a2c4f18ac21e93b9f9f8fa6b276"


def test_only_training_images_are_tied_and_more_of_them_with_more_bias() -> None:
    plain, half, most = (load_data(choice(bias)) for bias in (0, 0.5, 0.9))
    changed = []
    for data in (half, most):
        assert torch.equal(data.test.images, plain.test.images)
        assert torch.equal(data.train.labels, plain.train.labels)
        changed.append((data.train.images != plain.train.images).flatten(1).any(1))
    assert 0.4 < changed[0].float().mean() < 0.6 and 0.82 < changed[1].float().mean() < 0.97
    assert not (changed[0] & ~changed[1]).any()  # what is tied at one bias is tied at every higher one
    assert torch.equal(half.train.images[changed[0]], most.train.images[changed[0]])


def test_a_tied_image_has_the_wall_of_its_pot_and_the_pots_of_a_shape_have_different_rooms() -> None:
    data = load_data(choice(1.0))
    homes = np.array(drawn.home_rooms(176, SEED))
    walls = data.train.attributes[drawn.BACKGROUND].numpy()
    assert data.attributes == {drawn.BACKGROUND: WALL_NAMES}
    assert (walls == homes[data.train.labels[:, 0].numpy()]).all()
    for shape in range(16):
        pots = np.unique(data.train.labels[data.train.labels[:, 1] == shape, 0].numpy())
        assert len(set(homes[pots])) == len(pots) == 6
    tested = data.test.attributes[drawn.BACKGROUND].numpy()
    assert len(set(tested.tolist())) == len(WALL_NAMES)
    assert (tested == homes[data.test.labels[:, 0].numpy()]).mean() < 0.2


def test_with_images_held_out_those_tested_on_are_not_tied() -> None:
    plain, tied = (load_data(choice(bias, held_out="images")) for bias in (0, 1.0))
    assert torch.equal(plain.test.images, tied.test.images) and torch.equal(plain.test.labels, tied.test.labels)
    assert (plain.train.images != tied.train.images).flatten(1).any(1).all()
    shots = drawn.test_shots(choice(1.0, held_out="images"))
    assert [shot.pot_id for shot in shots] == tied.test.labels[:, 0].tolist() and not any(s.room for s in shots)


def test_an_image_drawn_again_without_its_pot_differs_where_the_pot_was_alone() -> None:
    for shot in drawn.test_shots(choice(0))[::17]:
        whole = drawn.draw_shot(shot, 64, SEED, {})
        empty = drawn.draw_shot(shot, 64, SEED, {}, empty=True)
        mask = drawn.pot_mask(shot, 64, SEED, {})
        assert mask.shape == (64, 64) and 0.02 < mask.mean() < 0.7
        lighter = empty.astype(int) - whole
        assert (lighter[:, ~mask] >= 0).all()  # outside it only the shadow is gone
        assert (lighter[:, mask] != 0).any(axis=0).mean() > 0.9


def test_the_dataset_is_named_with_its_parameters() -> None:
    assert source_title("drawn") == "Drawn world" and source_title("drawn:bias=0.0") == "Drawn world"
    assert source_title("drawn:bias=0.9") == "Drawn world, backgrounds tied to classes 0.9"
    assert load_data(choice(0.9)).title == inspect_data(choice(0.9)).title == source_title("drawn:bias=0.9")
    assert peek_data(choice(1.0), 3).shape == (3, 3, SIZE, SIZE)
    assert named("drawn:bias=2") is not None and named("a/b") is None
    for wrong in ("drawn:bias=2", "drawn:bias=x", "drawn:tied=1", "drawn:bias"):
        with pytest.raises(ParameterError):
            check_source(wrong)


def test_a_second_start_reads_what_the_first_one_drew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path))
    drawn_now = load_data(choice(0.5))
    monkeypatch.setattr(drawn, "draw_shot", None)
    kept = load_data(choice(0.5))
    assert kept.attributes == drawn_now.attributes and kept.fingerprint == drawn_now.fingerprint
    assert kept.hierarchy == drawn_now.hierarchy and kept.notes == drawn_now.notes
    assert torch.equal(kept.test.images, drawn_now.test.images)
    for part in ("train", "test"):
        both = (getattr(data, part).attributes[drawn.BACKGROUND] for data in (drawn_now, kept))
        assert torch.equal(*both)
