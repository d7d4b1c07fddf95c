"""Curves against the definitions as loops; their areas against the metrics."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.metrics import slow
from tests.metrics.worlds import tree
from trainers.devices.host import columns
from trainers.metrics import evaluate
from trainers.metrics.blocks import ranked_blocks
from trainers.retrieval.results import Curve, Curves, curves_of


def query_curves(
    query: Tensor, label: Tensor, gallery: Tensor, gallery_labels: Tensor, own: int | None = None
) -> Curves:
    """The curves of one query ``[D]``, of the list that the metrics rank."""
    own_rows = None if own is None else np.array([own])
    ((_, block),) = ranked_blocks(query[None], columns(label[None]), gallery, columns(gallery_labels), own_rows)
    return curves_of(block)


def slow_plain(levels: list[int], depth: int, level: int) -> list[tuple[float, float]]:
    hits = [shared >= depth - level for shared in levels]
    return [(sum(hits[:r]) / sum(hits), sum(hits[:r]) / r) for r in range(1, len(hits) + 1) if hits[r - 1]]


def slow_hierarchical(levels: list[int], depth: int) -> list[tuple[float, float]]:
    rel = [shared / depth / levels.count(shared) if shared else 0.0 for shared in levels]
    return [
        (sum(rel[:r]) / sum(rel), sum(min(rel[r - 1], other) for other in rel[:r]) / (r * rel[r - 1]))
        for r in range(1, len(rel) + 1)
        if rel[r - 1]
    ]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_curves_follow_their_definitions_and_their_areas_are_the_metrics(depth) -> None:
    emb, labels = tree(depth, 50, depth)
    each = evaluate(emb, labels, metrics=["AP", "HAP", f"AP_level{depth - 1}"], per_query=True)
    for query, levels in enumerate(slow.ranked_levels(emb, labels)):
        whole = query_curves(emb[query], labels[query], emb, labels, own=query)
        for level, name in ((0, "AP"), (depth - 1, f"AP_level{depth - 1}")):
            coarser = labels[:, level:]
            found = query_curves(emb[query], coarser[query], emb, coarser, own=query).plain, whole.hierarchical
            wanted = slow_plain(levels, depth, level), slow_hierarchical(levels, depth)
            for curve, want, area in zip(found, wanted, (each[name][query], each["HAP"][query]), strict=True):
                if curve is None:
                    assert np.isnan(area) and not want
                    continue
                np.testing.assert_allclose(np.stack([curve.recall, curve.precision], 1), want, rtol=0, atol=1e-12)
                assert curve.area == pytest.approx(area, abs=1e-14)


def test_a_query_without_relatives_has_no_curve() -> None:
    labels = torch.tensor([[0, 0], [1, 0], [2, 1]])
    found = query_curves(torch.eye(3)[0], labels[0], torch.eye(3), labels, own=0)
    assert found.plain is None and found.hierarchical is not None
    assert query_curves(torch.eye(3)[2], labels[2], torch.eye(3), labels, own=2).hierarchical is None


@pytest.mark.parametrize("most", [2, 17, 300])
def test_thinning_keeps_the_area_and_the_ends(most) -> None:
    rng = np.random.default_rng(most)
    width = rng.random(5000)
    curve = Curve(recall=np.cumsum(width) / width.sum(), precision=np.sort(rng.random(5000))[::-1] ** 4)
    thin = curve.thinned(most)
    assert len(thin.recall) <= most and thin.recall[-1] == curve.recall[-1]
    assert thin.area == pytest.approx(curve.area, abs=1e-13)
    assert (np.diff(thin.recall) > 0).all() and thin.precision.max() <= curve.precision.max()
    assert curve.thinned(5000) is curve
