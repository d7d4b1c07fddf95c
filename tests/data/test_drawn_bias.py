"""Drawn pots whose background tells their class: in training alone, and to a known share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from trainers.config import DataChoice
from trainers.data import inspect_data, load_data, named, peek_data
from trainers.data.labelled.datasets import drawn
from trainers.data.source_check import check_source
from trainers.data.synthetic.pottery.background import WALL_NAMES
from trainers.errors import ParameterError
from trainers.kinds.labelled import source_title

SIZE, SEED = 16, 0


def choice(bias: float, **changes: object) -> DataChoice:
    source = f"drawn:bias={bias}" if bias else "drawn"
    return DataChoice(**({"source": source, "image_size": SIZE, "max_images": 192} | changes))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RANKSCOPE_CACHE", "off")
    yield


def test_without_bias_the_images_are_what_they_were() -> None:
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


def test_in_another_room_the_pot_is_the_same_and_what_surrounds_it_is_not() -> None:
    same, other = [], []
    for shot in drawn.test_shots(choice(0))[::17]:
        here = drawn.draw_shot(shot, 64, SEED, {}).astype(int)
        room = (drawn.background_of(shot, SEED) + 1) % len(WALL_NAMES)
        there = drawn.draw_shot(shot, 64, SEED, {}, room=room).astype(int)
        mask = drawn.pot_mask(shot, 64, SEED, {})
        inside = np.zeros_like(mask)
        inside[1:-1, 1:-1] = mask[1:-1, 1:-1] & mask[:-2, 1:-1] & mask[2:, 1:-1] & mask[1:-1, :-2] & mask[1:-1, 2:]
        same.append((here == there).all(axis=0)[inside].mean())
        other.append((here != there).any(axis=0)[~mask].mean())
    assert np.mean(same) > 0.9 and np.mean(other) > 0.75


def test_the_dataset_is_named_with_its_parameters() -> None:
    assert source_title("drawn") == "Drawn world" and source_title("drawn:bias=0.0") == "Drawn world"
    assert source_title("drawn:bias=0.9") == "Drawn world, backgrounds tied to classes 0.9"
    assert load_data(choice(0.9)).title == inspect_data(choice(0.9)).title == source_title("drawn:bias=0.9")
    assert peek_data(choice(1.0), 3).shape == (3, 3, SIZE, SIZE)
    assert named("drawn:bias=2") is not None and named("a/b") is None
    for wrong in ("drawn:bias=2", "drawn:bias=x", "drawn:tied=1", "drawn:bias"):
        with pytest.raises(ParameterError):
            check_source(wrong)


def test_the_backgrounds_are_kept_with_the_images(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path))
    drawn_now = load_data(choice(0.5))
    monkeypatch.setattr(drawn, "draw_shot", None)
    kept = load_data(choice(0.5))
    assert kept.attributes == drawn_now.attributes and kept.fingerprint == drawn_now.fingerprint
    for part in ("train", "test"):
        both = (getattr(data, part).attributes[drawn.BACKGROUND] for data in (drawn_now, kept))
        assert torch.equal(*both)
