"""The decomposability gap that runs measure: batches as the sampler composes them, and the numbers by loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.metrics import slow
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.evaluation import Evaluator, gap_batches


def labels_of(sizes: list[int]) -> torch.Tensor:
    finest = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    order = torch.randperm(len(finest), generator=torch.Generator().manual_seed(0))
    return torch.stack([finest, finest // 3], 1)[order]


@pytest.mark.parametrize("sampler", ["m_per_class", "two_super_classes"])
def test_every_image_is_in_one_batch_of_the_samplers_shape(sampler: str) -> None:
    labels = labels_of([8, 4, 12, 1, 4, 6, 2, 4, 1])
    config = MetricLearningConfig(sampler=sampler, classes_per_batch=4, images_per_class=4)
    batches = gap_batches(labels, config)
    assert batches is not None and torch.equal(batches, gap_batches(labels, config))
    for batch in batches.unique().tolist():
        classes, counts = labels[batches == batch, 0].unique(return_counts=True)
        if batch < 0:
            assert classes.tolist() == [3, 8]  # alone in their classes, drawn by no sampler
        else:
            assert len(classes) <= 4 and int(counts.max()) <= 4
    assert int(batches.unique(return_counts=True)[1].max()) >= 12  # of 16: classes of fewer images fill less


def test_fewer_classes_than_a_batch_has_make_one_batch_and_none_makes_none() -> None:
    labels = labels_of([4, 4, 4])
    assert gap_batches(labels, MetricLearningConfig()).unique().tolist() == [0]
    assert gap_batches(labels_of([1, 1]), MetricLearningConfig()) is None
    assert gap_batches(labels, MetricLearningConfig(sampler="two_super_classes")) is None  # one super-class


@pytest.mark.parametrize("sampler", ["m_per_class", "two_super_classes"])
def test_the_numbers_are_those_of_equation_6(sampler: str) -> None:
    labels = labels_of([6, 4, 5, 1, 4, 6, 2, 4])
    config = MetricLearningConfig(sampler=sampler, classes_per_batch=3, images_per_class=4)
    draws = torch.Generator().manual_seed(1)
    images = torch.randint(0, 256, (len(labels), 3, 2, 2), dtype=torch.uint8, generator=draws)
    evaluator = Evaluator(
        train=images,
        train_labels=labels,
        test=images,
        test_labels=labels,
        probe=torch.arange(8),
        device=torch.device("cpu"),
        batches=lambda given: gap_batches(given, config),
    )
    found = evaluator.train_score(torch.nn.Flatten())
    emb, batches = images.flatten(1).double(), gap_batches(labels, config)
    rows, members = torch.arange(len(labels)), [batches == batch for batch in batches.unique()]
    inside, whole = [], []
    for q in range(len(labels)):
        within = [_ap(emb, labels, q, rows[member & (rows != q)]) for member in members]
        within = [value for value in within if not np.isnan(value)]
        if within:
            inside.append(np.mean(within))
            whole.append(_ap(emb, labels, q, rows[rows != q]))
    assert found["batch_AP"] == pytest.approx(np.mean(inside), abs=1e-9)
    assert found["whole_AP"] == pytest.approx(np.mean(whole), abs=1e-9)
    assert found["decomposability_gap"] == pytest.approx(np.mean(inside) - np.mean(whole), abs=1e-9)
    assert found["decomposability_gap"] > 0


def _ap(emb: torch.Tensor, labels: torch.Tensor, q: int, gallery: torch.Tensor) -> float:
    if not len(gallery):
        return float("nan")
    (levels,) = slow.ranked_levels(emb[q : q + 1], labels[q : q + 1], emb[gallery], labels[gallery])
    return slow.ap([level == 2 for level in levels])
