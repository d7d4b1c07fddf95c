"""The plots of a comparison of losses, and the sample of the probe on which the contextual loss is measured."""

from __future__ import annotations

import json

import pytest
import torch

from tests.losses.reference import contextual_similarity
from tests.metrics import slow
from trainers.kinds.metric_learning.evaluation import CLASSES, PER_CLASS, ContextualSample
from trainers.kinds.metric_learning.measures import MEASURES
from trainers.metrics.catalogue.training import CONTEXTUAL_AP, CONTEXTUAL_LOSS

PLOTS = {plot.name: plot for plot in MEASURES.plots}


def sample_of(count: int, classes: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Random embeddings ``[count, 6]`` and labels ``[count, 2]``."""
    draws = torch.Generator().manual_seed(seed)
    fine = torch.randint(classes, (count,), generator=draws)
    return torch.randn(count, 6, generator=draws), torch.stack([fine, fine // 2], 1)


def test_the_page_is_told_of_every_plot_in_order() -> None:
    plots = MEASURES.json()["plots"]
    assert [one["name"] for one in plots] == list(PLOTS)
    assert json.loads(json.dumps(plots)) == plots
    for plot, one in zip(PLOTS.values(), plots, strict=True):
        assert one["title"] and one["note"].endswith(".") and (one["source"] == "" or one["url"])
        assert not plot.keys() or one["missing"].endswith(".")


def test_the_sample_has_four_images_of_each_of_at_most_32_classes() -> None:
    _, labels = sample_of(900, 50)
    rows = ContextualSample(labels).rows
    found, counts = labels[rows, 0].unique(return_counts=True)
    assert len(found) == CLASSES and counts.tolist() == [PER_CLASS] * CLASSES
    assert len(rows.unique()) == len(rows) == PER_CLASS * CLASSES
    few = torch.cat([labels[labels[:, 0] < 5], torch.tensor([[70, 35]] * 3)])  # three images are one too few
    assert ContextualSample(few).rows.shape == (4 * 5,)
    assert torch.equal(ContextualSample(labels).rows, rows)


@pytest.mark.parametrize("seed", range(3))
def test_its_numbers_are_those_of_the_definitions(seed: int) -> None:
    emb, labels = sample_of(40, 5, seed)
    sample = ContextualSample(labels)
    rows, fine = emb[sample.rows], labels[sample.rows, 0]
    overlap = contextual_similarity(rows, PER_CLASS, 0.0)
    n, wanted = len(rows), 0.0
    for i in range(n):
        for j in range(n):
            wanted += (float(fine[i] == fine[j]) - float(overlap[i, j])) ** 2 if i != j else 0.0
    lists = slow.ranked_levels(rows, fine)
    ap = sum(slow.ap([level > 0 for level in one]) for one in lists) / n
    assert sample.numbers(emb) == pytest.approx({CONTEXTUAL_LOSS: wanted / n**2, CONTEXTUAL_AP: ap}, abs=1e-6)


def test_too_few_classes_for_a_neighbourhood_have_no_numbers() -> None:
    labels = torch.tensor([[0]] * 6 + [[1]] * 6 + [[2]] * 3)
    assert ContextualSample(labels).numbers(torch.randn(15, 4)) == {}
    assert ContextualSample(torch.arange(9)[:, None]).numbers(torch.randn(9, 4)) == {}
