"""The probe shows the whole tree, and nothing that could not be found again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainers.data.roles import Roles, choose_probe


def tree(sizes: list[int], kinds: int = 4, aisles: int = 2) -> torch.Tensor:
    rows = [(c, c % kinds, (c % kinds) % aisles) for c, size in enumerate(sizes) for _ in range(size)]
    labels = torch.tensor(rows)
    return labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(1))]


@settings(deadline=None, max_examples=80)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=3, max_size=40).filter(lambda sizes: max(sizes) > 1),
    size=st.integers(4, 120),
    seed=st.integers(0, 9),
)
def test_the_picked_are_sorted_distinct_and_have_company(sizes, size, seed):
    labels = tree(sizes)
    picked = choose_probe(labels, size, seed)
    assert torch.equal(picked, choose_probe(labels, size, seed))
    assert picked.dtype == torch.int64 and torch.equal(picked, picked.unique())
    if size >= len(labels):
        assert len(picked) == len(labels)
        return
    counts = Counter(labels[picked, 0].tolist())
    assert min(counts.values()) >= 2
    assert len(picked) <= size
    large = [c for c, n in enumerate(sizes) if n > 1]
    if 2 * len(large) <= size:
        assert sorted(counts) == large
        assert len(picked) == min(size, sum(sizes[c] for c in large))


@pytest.mark.parametrize("size", [16, 32, 80])
def test_few_classes_are_spread_over_the_coarser_levels(size):
    labels = tree([10] * 64, kinds=16, aisles=4)
    picked = choose_probe(labels, size, 0)
    assert len(picked) == size
    kinds = Counter(labels[picked, 1].tolist())
    aisles = Counter(labels[picked, 2].tolist())
    assert len(kinds) == min(16, size // 4) and max(kinds.values()) - min(kinds.values()) <= 4
    assert set(aisles.values()) == {size // 4}


def test_one_level_and_flat_labels_do():
    labels = torch.arange(50) % 5
    assert torch.equal(choose_probe(labels, 20, 3), choose_probe(labels[:, None], 20, 3))


@pytest.mark.parametrize("cameras", [None, 2])
@pytest.mark.parametrize("size", [8, 20, 60, 150])
def test_queries_are_shown_with_what_they_find(size: int, cameras: int | None) -> None:
    draws = np.random.default_rng(size)
    labels = tree([8] * 20)
    query = draws.random(len(labels)) < 0.3
    gallery = ~query
    gallery[labels[:, 0].numpy() == 3] = False  # nothing to find
    query[labels[:, 0].numpy() == 5] = False  # distractors
    camera = None if cameras is None else draws.integers(0, cameras, len(labels))
    roles = Roles(query=query, gallery=gallery & ~query, camera=camera)
    picked = choose_probe(labels, size, 0, roles)
    assert torch.equal(picked, choose_probe(labels, size, 0, roles)) and len(picked) <= size
    of_probe = roles.take(picked.numpy())
    finding = of_probe.query & (of_probe.to_find(labels[picked].numpy())[:, 0] > 0)
    shown, found = set(labels[picked, 0].tolist()), set(labels[picked, 0].numpy()[finding].tolist())
    assert (of_probe.query | of_probe.gallery).all() and 3 not in shown
    if size < 150:
        assert shown == found  # a query of every class finds some
    else:  # all of them are there, and distractors
        assert shown > found and 5 in shown


def test_all_images_are_shown_where_there_is_room_for_them() -> None:
    labels = tree([3] * 4)
    half = np.arange(len(labels)) % 2 == 0
    assert choose_probe(labels, 12, 0, Roles(query=half, gallery=~half)).tolist() == list(range(12))
