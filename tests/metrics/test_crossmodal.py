"""Recall@k between photos and sentences against loops over ranked lists."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainers.errors import UserError
from trainers.metrics.image_text import recall_both_ways


def slow(photos, sentences, owner, texts, k):
    """Lists sorted one by one; texts None: every sentence differs."""
    unit = [table / table.norm(dim=1, keepdim=True) for table in (photos, sentences)]
    sim = (unit[0] @ unit[1].T).numpy()
    said = np.arange(len(owner)) if texts is None else texts.numpy()
    right = np.array(
        [
            [any(said[m] == said[o] and owner[o] == n for o in range(len(owner))) for m in range(len(owner))]
            for n in range(len(photos))
        ]
    )
    there = [
        float(right[n, np.argsort(-sim[n])[:k]].any()) if (owner == n).any() else np.nan for n in range(len(photos))
    ]
    back = [float(right[np.argsort(-sim[:, m])[:k], m].any()) for m in range(len(owner))]
    return there, back


@pytest.mark.parametrize("doubles", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_against_loops(seed, doubles, monkeypatch):
    torch.manual_seed(seed)
    photos, sentences, owner = torch.randn(11, 6).double(), torch.randn(40, 6).double(), torch.randint(0, 10, (40,))
    texts = torch.randint(0, 25, (40,)) if doubles else None
    monkeypatch.setattr("trainers.metrics.topk._QUERIES", 7)
    found = recall_both_ways(photos, sentences, owner, ks=(1, 4, 99), texts=texts)
    for k in (1, 4, 99):
        there, back = slow(photos, sentences, owner, texts, k)
        np.testing.assert_array_equal(found[f"i2t_R_at_{k}"], there)
        np.testing.assert_array_equal(found[f"t2i_R_at_{k}"], back)
    assert np.isnan(found["i2t_R_at_1"][10])


def test_a_collapsed_model_finds_nothing():
    owner = torch.arange(20).repeat_interleave(2)
    found = recall_both_ways(torch.ones(20, 4), torch.ones(40, 4), owner)
    assert all((value == 0).all() for value in found.values())


@pytest.mark.parametrize(
    ("photos", "owner", "needle"), [((3, 4), [0, 5], "0 to 2"), ((3, 5), [0, 1], "got"), ((3, 4), [0], "got")]
)
def test_refusals(photos, owner, needle):
    with pytest.raises(UserError, match=needle):
        recall_both_ways(torch.ones(photos), torch.ones(2, 4), torch.tensor(owner))
