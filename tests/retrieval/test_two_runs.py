"""Shared images, disagreements and differences to a baseline, against slow readings of run folders."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.synthetic import diverge, labels_of, make_run
from trainers.config import DataChoice
from trainers.errors import ParameterError, RunError, UserError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.metrics import evaluate
from trainers.parameters import Choice
from trainers.retrieval.baseline import differences, disagreements, ordered, paired, shared_images, subtracted
from trainers.retrieval.probe_results import newest_embeddings
from trainers.runs import RunFolder
from trainers.runs.records import Scalar, Snapshot


def with_probe(root: Path, points: list[int], *, arms: int = 1, fingerprint: str = "", **data: object) -> RunFolder:
    """A run whose probe is these rows of the made-up test set."""
    losses = tuple(Choice(name=name) for name in ("happier", "smooth_ap")[:arms])
    folder = RunFolder.create(root, MetricLearningConfig(data=DataChoice(**data), losses=losses))
    full = make_run(root, points=8, frames=0).probe()
    rows = np.array(points)
    probe = dataclasses.replace(full, labels=labels_of(200)[rows], rows=rows, fingerprint=fingerprint, sheets=0)
    folder.write_probe(probe, [])
    vectors = np.random.default_rng(3).normal(size=(200, 16))[rows]
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    folder.add_snapshot(Snapshot(k=0, step=0, seconds=0.0, embeddings=(unit,) * arms))
    return folder


def test_shared_images_are_those_of_the_same_rows(tmp_path: Path) -> None:
    first, second = with_probe(tmp_path, [1, 4, 7, 9, 50]), with_probe(tmp_path, [50, 0, 4, 9])
    found = shared_images(first, second)
    assert found.rows.tolist() == [4, 9, 50] and not found.whole
    assert first.probe().rows[found.first].tolist() == second.probe().rows[found.second].tolist() == [4, 9, 50]
    assert shared_images(first, first).whole


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ({"points": [1, 2]}, {"points": [3, 4]}, "no image in common"),
        ({"points": [1, 2]}, {"points": [1, 2], "seed": 5}, "setting seed is 0 in one and 5"),
        ({"points": [1, 2]}, {"points": [1, 2], "source": "other/data"}, "setting source"),
        ({"points": [1], "fingerprint": "aa"}, {"points": [1], "fingerprint": "bb"}, "has changed"),
    ],
)
def test_runs_on_other_images_are_refused_with_the_reason(tmp_path: Path, one, other, reason) -> None:
    with pytest.raises(UserError, match=f"not on the same images: .*{reason}"):
        shared_images(with_probe(tmp_path, **one), with_probe(tmp_path, **other))


def test_equal_fingerprints_are_enough_and_size_may_differ(tmp_path: Path) -> None:
    one = with_probe(tmp_path, [1, 2], fingerprint="aa", max_images=500)
    assert shared_images(one, with_probe(tmp_path, [2, 1], fingerprint="aa")).whole
    large = with_probe(tmp_path, [1, 2], fingerprint="cc", max_images=500, image_size=64)
    assert shared_images(one, large).whole


def test_other_labels_and_other_classes_are_other_images(tmp_path: Path) -> None:
    one, other = with_probe(tmp_path, [1, 2]), with_probe(tmp_path, [1, 2])
    probe = other.probe()
    other.write_probe(dataclasses.replace(probe, labels=probe.labels[::-1].copy()), [])
    with pytest.raises(UserError, match="other labels"):
        shared_images(one, other)
    tree = dataclasses.replace(probe.hierarchy, levels=("a", "b", "c"))
    other.write_probe(dataclasses.replace(probe, hierarchy=tree), [])
    with pytest.raises(UserError, match="their classes differ"):
        shared_images(one, other)


def test_a_run_without_images_has_nothing_to_compare(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no images with labels"):
        shared_images(make_run(tmp_path, phase="queued"), with_probe(tmp_path, [1]))


def test_arms_of_one_run_disagree_as_a_slow_reading_says(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=120, frames=3, arms=3)
    differing = disagreements(folder, 1, "HAP", most=None)
    labels = torch.from_numpy(folder.probe().labels).long()
    values = np.stack(
        [
            evaluate(torch.from_numpy(arm.astype(np.float32)), labels, metrics=["HAP"], per_query=True)["HAP"]
            for arm in folder.embeddings(1)
        ],
        axis=1,
    )
    spread = values.max(1) - values.min(1)
    assert [one.spread for one in differing.differing] == sorted(spread[spread > 0], reverse=True)
    for one in differing.differing:
        assert one.points == (one.row,) and list(one.values) == values[one.row].tolist()
    assert [arm.title for arm in differing.arms] == ["Smooth-AP", "HAPPIER", "SupCon"] and differing.queries == 120
    assert len(disagreements(folder, 1, "R_at_1", most=3).differing) <= 3
    two = disagreements(folder, 1, "HAP", arms=[0, 2], most=None)
    assert [arm.arm for arm in two.arms] == [0, 2]


def test_equal_spreads_are_ordered_by_row_and_undefined_ones_left_out() -> None:
    values = np.array([[0.5, 0.25], [np.nan, np.nan], [0.75, 0.5], [0.5, 0.5], [0.0, 1.0]])
    found = ordered(values, np.array([9, 1, 3, 4, 5]), np.arange(5)[:, None])
    assert [(one.row, one.spread) for one in found] == [(5, 1.0), (3, 0.25), (9, 0.25)]
    again = ordered(values[::-1], np.array([5, 4, 3, 1, 9]), np.arange(5)[:, None])
    assert [one.row for one in again] == [5, 3, 9]


def test_a_baseline_is_compared_on_the_shared_images_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    first, second = (sorted(rng.permutation(200)[:90].tolist()) for _ in range(2))
    one, other = with_probe(tmp_path, first, arms=2), with_probe(tmp_path, second)
    # the same vectors by row in both runs: on the same gallery no query can differ
    differing = disagreements(one, 0, "AP", baseline=other)
    assert differing.differing == () and differing.queries == len(set(first) & set(second)) and len(differing.arms) == 3
    vectors = rng.normal(size=(90, 16)).astype(np.float32)
    other.add_snapshot(Snapshot(k=1, step=1, seconds=1.0, embeddings=(vectors,)))
    differing = disagreements(one, 0, "AP", baseline=other, most=4)
    assert len(differing.differing) == 4 and newest_embeddings(other) == 1
    for query in differing.differing:
        assert first[query.points[0]] == second[query.points[1]] == query.row
    assert disagreements(one, 0, "AP", baseline=other, baseline_k=0).differing == ()


def test_an_unknown_metric_and_missing_embeddings_are_refused(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=40, frames=1)
    with pytest.raises(ParameterError, match="no metric"):
        disagreements(folder, 0, "beauty")
    broken = np.full((40, 4), np.nan, np.float16)
    folder.add_snapshot(Snapshot(k=0, step=0, seconds=0.0, embeddings=(broken, broken)))
    with pytest.raises(RunError, match="diverged"):
        disagreements(folder, 0)
    folder.embeddings_path(0).unlink()
    with pytest.raises(RunError, match="keeps no embeddings of frame 0"):
        disagreements(folder, 0)
    with pytest.raises(RunError, match="keeps no embeddings"):
        newest_embeddings(folder)


def test_an_arm_that_diverged_is_left_out_of_the_comparison(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=60, frames=2, arms=3)
    whole = disagreements(folder, 1, "AP", arms=[0, 2], most=None)
    diverge(folder, arm=1, first=1)
    differing = disagreements(folder, 1, "AP", most=None)
    assert [arm.arm for arm in differing.arms] == [0, 2] and (differing.diverged, whole.diverged) == (1, 0)
    assert differing.differing == whole.differing != ()


@pytest.mark.parametrize(
    ("mine", "others", "pairs"),
    [
        (["A", "B"], ["B", "A"], (1, 0)),
        (["A", "B", "C"], ["X"], (0, 0, 0)),
        (["A", "B"], ["X", "Y"], (0, 1)),
        (["A", "B", "C"], ["X", "C"], (0, 1, 1)),
    ],
)
def test_arms_are_paired_by_title_then_by_place(mine, others, pairs) -> None:
    assert paired(mine, others) == pairs


def test_a_curve_less_another_is_exact_at_common_steps_and_linear_between() -> None:
    points, others = [(0, 1.0), (10, 2.0), (15, 3.0), (30, 4.0)], [(10, 0.5), (20, 1.5)]
    assert subtracted(points, others) == [(10, 1.5), (15, 2.0)]
    assert all(value == 0 for _, value in subtracted(points, points))


def test_differences_to_itself_are_zero_and_to_another_run_are_its_scalars(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=60, frames=4)
    alone = differences(folder, folder)
    assert alone.whole and alone.pairs == (0, 1) and set(alone.numbers.values()) == {0.0}
    assert (0, "test/HAP") in alone.numbers and (0, "test/HAP") not in alone.curves
    other = make_run(tmp_path, points=60, frames=4)
    scalars = [Scalar(arm=0, step=step, seconds=0.0, key="HAP", value=0.5) for step in (0, 25, 50, 75)]
    other.db.add_metrics(scalars)
    found = differences(folder, other)
    mine = {s.step: s.value for s in folder.scalars() if s.arm == 0 and s.key == "HAP"}
    assert found.curves[0, "HAP"] == [(step, mine[step] - 0.5) for step in (0, 25, 50, 75)]
    assert found.numbers[0, "HAP"] == mine[75] - 0.5
    assert found.at(0, "HAP", 60) == mine[50] - 0.5 and found.at(0, "HAP", -1) is None
    assert found.at(0, "nothing", 5) is None
