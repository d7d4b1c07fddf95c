"""Splits by name, classes in halves, caps that keep classes whole, trees with unique ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainers.data.labelled.rows import Tree, compact, grow
from trainers.data.labelled.splits import cap, divide, pick_splits
from trainers.data.labelled.table import LabelCodes, encode
from trainers.errors import DataError


@pytest.mark.parametrize(
    ("names", "train", "test"),
    [
        (["train", "test"], "train", "test"),
        (["test", "train"], "train", "test"),
        (["train", "validation"], "train", "validation"),
        (["train", "validation", "test"], "train", "test"),
        (["train", "val"], "train", "val"),
        (["training", "testing"], "training", "testing"),
        (["train_small", "dev"], "train_small", "dev"),
        (["full"], "full", None),
        (["data"], "data", None),
        (["corpus", "qrels"], "corpus", None),
        (["test"], "test", None),
        (["validation", "test"], "validation", "test"),
        (["small1", "small2"], "small1", None),
    ],
)
def test_splits_are_found_by_their_names(names, train, test):
    assert pick_splits(names, None, None) == (train, test)


def test_wanted_splits_win_and_unknown_ones_are_said():
    assert pick_splits(["train", "test", "extra"], "extra", None) == ("extra", "test")
    assert pick_splits(["train", "test"], "test", None) == ("test", None)
    assert pick_splits(["train", "test"], "train", "train") == ("train", None)
    assert pick_splits(["a", "b"], None, "a") == ("b", "a")
    with pytest.raises(DataError, match="train, test"):
        pick_splits(["train", "test"], "nope", None)


@settings(deadline=None, max_examples=60)
@given(children=st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=6), min_size=1, max_size=5))
def test_every_parent_is_halved(children):
    rows, fine, kind = [], 0, 0
    for aisle, kinds in enumerate(children):
        for classes in kinds:
            for _ in range(classes):
                rows += [(fine, kind, aisle)] * 2
                fine += 1
            kind += 1
    labels = np.array(rows)
    side = divide(labels, 5)
    assert np.array_equal(side, divide(labels, 5))
    assert not set(labels[side, 0]) & set(labels[~side, 0])
    for level in range(3):
        for name in np.unique(labels[:, level]):
            here = labels[:, level] == name
            halves = [len(np.unique(labels[here & part, 0])) for part in (side, ~side)]
            assert level == 0 or abs(halves[0] - halves[1]) <= 1
    assert 0 <= len(np.unique(labels[side, 0])) - len(np.unique(labels[~side, 0])) <= 1


@settings(deadline=None, max_examples=60)
@given(sizes=st.lists(st.integers(2, 40), min_size=2, max_size=60), maximum=st.integers(4, 500))
def test_a_cap_holds_and_keeps_classes_of_two_or_more(sizes, maximum):
    classes = np.repeat(np.arange(len(sizes)), sizes)
    kept = cap(classes, maximum, 3)
    assert len(kept) <= maximum and np.array_equal(kept, np.unique(kept))
    counts = np.unique(classes[kept], return_counts=True)[1]
    assert counts.min() >= 2
    if sum(sizes) <= maximum:
        assert len(kept) == sum(sizes)


def test_a_cap_thins_huge_classes():
    classes = np.repeat(np.arange(5), 1000)
    kept = cap(classes, 100, 0)
    assert (np.unique(classes[kept], return_counts=True)[1] == 20).all() and len(kept) == 100
    assert np.unique(classes[cap(classes, 24, 0)], return_counts=True)[1].tolist() == [8, 8, 8]
    assert np.unique(classes[cap(classes, 5, 0)], return_counts=True)[1].tolist() == [2, 2]


def test_a_name_under_two_parents_becomes_two_classes():
    size, kind = encode(["small", "small", "large", "small"]), encode(["shirt", "shoe", "shoe", "shirt"])
    tree = grow(("size", "kind"), [size, kind])
    names = tree.hierarchy.names
    assert [names[0][i] for i in tree.labels[:, 0]] == ["shirt / small", "shoe / small", "large", "shirt / small"]
    assert names[1] == ("shirt", "shoe")
    for fine in np.unique(tree.labels[:, 0]):
        assert len(np.unique(tree.labels[tree.labels[:, 0] == fine, 1])) == 1


def test_compact_drops_unused_names():
    tree = grow(("a",), [LabelCodes(values=np.array([4, 1, 4]), names=tuple("vwxyz"))])
    assert tree.hierarchy.names == (("w", "z"),)
    rest = compact(Tree(labels=tree.labels[[0, 2]], hierarchy=tree.hierarchy))
    assert rest.labels.tolist() == [[0], [0]] and rest.hierarchy.names == (("z",),)
