"""Training pairs: every epoch shows every photo once, the same at every call, and subsets are nested."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.errors import DataError
from trainers.mending.examples import Examples, Pool
from trainers.mending.recipes import Recipe


def pool(count: int, sentences: int, mark: int) -> Pool:
    """Photo i is filled with i; its sentences are tokens (mark, i, number)."""
    images = torch.arange(count, dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, 2, 2).contiguous()
    tokens = torch.tensor([[mark, i, n] for i in range(count) for n in range(sentences)])
    return Pool.of(images, tokens, [sentences] * count)


def examples(recipe: Recipe, batch: int = 8, seed: int = 0) -> Examples:
    return Examples(pool(40, 5, 0), pool(30, 1, 1), recipe, batch=batch, seed=seed)


def test_photos_keep_their_own_sentences_and_an_epoch_shows_each_once():
    found = examples(Recipe())
    seen = []
    for step in range(len(found) // found.batch):
        images, tokens, rows = found.at(step)
        assert images.shape == (8, 3, 2, 2) and images.dtype == torch.uint8
        assert torch.equal(images[:, 0, 0, 0].long(), tokens[:, 1])
        seen += [tuple(pair) for pair in tokens[:, :2].tolist()]
        assert sorted(rows.tolist()) == sorted((40 * mark + row) for mark, row in tokens[:, :2].tolist())
    assert len(seen) == len(set(seen)) == 64  # 70 pairs; the last 6 of an epoch do not fill a batch


def test_sentences_take_turns():
    found = examples(Recipe(removed=False))
    per_epoch = len(found) // found.batch
    said = [set() for _ in range(40)]
    for step in range(5 * per_epoch):
        for _, row, number in found.at(step)[1].tolist():
            said[row].add(number)
    assert min(map(len, said)) == 5


def test_a_batch_is_a_function_of_seed_and_step():
    first, again, other = examples(Recipe()), examples(Recipe()), examples(Recipe(), seed=1)
    assert np.array_equal(first.at(11)[2], again.at(11)[2])
    assert not np.array_equal(first.at(11)[2], other.at(11)[2])
    assert not np.array_equal(first.at(3)[2], first.at(4)[2])


@pytest.mark.parametrize(
    ("recipe", "originals", "removed"),
    [
        (Recipe(), 40, 30),
        (Recipe(removed=False), 40, 0),
        (Recipe(originals="none"), 0, 30),
        (Recipe(originals="matched", removed=False), 30, 0),
        (Recipe(ratio=0.25), 40, 10),
        (Recipe(ratio=1.0), 40, 30),
    ],
)
def test_how_many_of_each(recipe, originals, removed):
    found = examples(recipe)
    assert (found.originals, found.removed, len(found)) == (originals, removed, originals + removed)


def test_a_larger_ratio_adds_to_a_smaller_one():
    def removed(ratio: float) -> set[int]:
        found = examples(Recipe(originals="none", ratio=ratio))
        return {row for step in range(len(found) // 8) for row in found.at(step)[2].tolist()}

    small, large = examples(Recipe(ratio=0.3)), examples(Recipe(ratio=0.6))
    assert set(small._rows.tolist()) < set(large._rows.tolist())
    assert removed(0.5)


def test_too_few_pairs_are_said():
    with pytest.raises(DataError, match=r"At least 8 pairs.*3 came"):
        Examples(pool(3, 1, 0), None, Recipe(removed=False), batch=8, seed=0)
