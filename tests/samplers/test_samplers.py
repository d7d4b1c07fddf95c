"""Every sampler: right sizes, the same again from any step, nothing left out."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainers.errors import ParameterError
from trainers.samplers import SAMPLERS


def world(sizes: list[int], groups: int) -> torch.Tensor:
    """Labels [N, 2] of classes with these sizes, dealt out to groups in turn, rows shuffled."""
    rows = [(label, label % groups) for label, size in enumerate(sizes) for _ in range(size)]
    labels = torch.tensor(rows, dtype=torch.int64)
    return labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))]


worlds = st.builds(world, st.lists(st.integers(2, 9), min_size=4, max_size=25), st.integers(2, 5))


@pytest.mark.parametrize("name", sorted(SAMPLERS))
@settings(deadline=None, max_examples=40)
@given(labels=worlds, classes=st.integers(2, 12), images=st.integers(1, 6), seed=st.integers(0, 2**40))
def test_a_batch_has_p_classes_of_m_images(name, labels, classes, images, seed):
    classes = min(classes, len(labels[:, 0].unique()))
    sampler = SAMPLERS[name].build(labels, classes, images, seed)
    sizes = Counter(labels[:, 0].tolist())
    for step in (0, 1, sampler.batches_per_epoch - 1, sampler.batches_per_epoch, 997):
        rows = sampler.batch(step)
        assert rows.dtype == torch.int64 and rows.shape == (classes * images,)
        per_class = Counter(labels[rows, 0].tolist())
        assert len(per_class) == classes and set(per_class.values()) == {images}
        for label in per_class:
            times = Counter(rows[labels[rows, 0] == label].tolist())
            assert max(times.values()) - min(times.values()) <= 1
            assert len(times) == min(images, sizes[label])


@pytest.mark.parametrize("name", sorted(SAMPLERS))
@settings(deadline=None, max_examples=40)
@given(labels=worlds, classes=st.integers(2, 12), seed=st.integers(0, 99))
def test_an_epoch_meets_every_class(name, labels, classes, seed):
    classes = min(classes, len(labels[:, 0].unique()))
    sampler = SAMPLERS[name].build(labels, classes, 2, seed)
    for epoch in (0, 3):
        steps = range(epoch * sampler.batches_per_epoch, (epoch + 1) * sampler.batches_per_epoch)
        seen = torch.cat([labels[sampler.batch(step), 0] for step in steps]).unique()
        assert seen.tolist() == labels[:, 0].unique().tolist()


@pytest.mark.parametrize("name", sorted(SAMPLERS))
def test_a_batch_depends_on_seed_and_step_alone(name):
    labels = world([5] * 12, 3)
    one, other = (SAMPLERS[name].build(labels, 4, 3, 7) for _ in range(2))
    forward = [one.batch(step).tolist() for step in range(20)]
    backward = [other.batch(step).tolist() for step in reversed(range(20))][::-1]
    assert forward == backward
    assert forward != [SAMPLERS[name].build(labels, 4, 3, 8).batch(step).tolist() for step in range(20)]
    assert len({tuple(rows) for rows in forward}) == 20


@pytest.mark.parametrize("images", [1, 2, 3, 4])
def test_every_image_is_seen_in_as_many_epochs_as_it_takes(images):
    labels = world([7, 5, 3, 10], 2)
    sampler = SAMPLERS["m_per_class"].build(labels, 2, images, 1)
    epochs = -(-10 // images)
    seen = torch.cat([sampler.batch(step) for step in range(epochs * sampler.batches_per_epoch)])
    assert len(seen.unique()) == len(labels)


@settings(deadline=None, max_examples=40)
@given(groups=st.lists(st.integers(4, 30), min_size=2, max_size=6), seed=st.integers(0, 99))
def test_half_of_the_classes_come_from_each_of_two_super_classes(groups, seed):
    rows = [group for group, size in enumerate(groups) for _ in range(size) for _ in range(2)]
    coarse = torch.tensor(rows)
    labels = torch.stack([torch.arange(len(rows)) // 2, coarse, torch.zeros_like(coarse)], dim=1)
    sampler = SAMPLERS["two_super_classes"].build(labels, 8, 2, seed)
    for step in range(2 * sampler.batches_per_epoch):
        split = Counter(labels[sampler.batch(step), 1].tolist())
        assert sorted(split.values()) == [8, 8]


def test_small_super_classes_fill_a_batch_with_whole_families():
    labels = world([3] * 40, 20)  # two classes in each super-class
    sampler = SAMPLERS["two_super_classes"].build(labels, 8, 2, 0)
    for step in range(sampler.batches_per_epoch):
        families = Counter(labels[sampler.batch(step), 1].tolist())
        assert sorted(families.values()) == [4, 4, 4, 4]


@pytest.mark.parametrize(
    ("name", "labels", "classes", "images", "words"),
    [
        ("m_per_class", torch.tensor([0, 0, 1, 1, 2]), 3, 2, "at most 2"),
        ("m_per_class", torch.tensor([0, 1, 2]), 1, 2, "no class has two"),
        ("m_per_class", torch.tensor([0, 0, 1, 1]), 1, 1, "at least two images"),
        ("two_super_classes", torch.tensor([0, 0, 1, 1]), 2, 2, "coarser level"),
        ("two_super_classes", torch.tensor([[0, 0], [0, 0], [1, 0], [1, 0]]), 2, 2, "m_per_class"),
        ("two_super_classes", torch.tensor([[0, 0], [0, 0], [1, 1], [1, 1]]), 1, 2, "at least 2 classes"),
        ("two_super_classes", torch.tensor([[0, 0], [0, 0], [1, 1], [1, 1]]), 4, 2, "at most 2"),
    ],
)
def test_what_cannot_be_drawn_is_said(name, labels, classes, images, words):
    with pytest.raises(ParameterError, match=words):
        SAMPLERS[name].build(labels, classes, images, 0)
