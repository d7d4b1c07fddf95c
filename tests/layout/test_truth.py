"""What is said of a map: label measures, agreement of moves and noise floor, each against a slow version."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from explorer.layout.effort import CALM, MOVING, TURNED, refining
from explorer.layout.frames import Layouter
from explorer.layout.labels import MOST_PAIRS, MOST_POINTS, LabelPairs
from explorer.layout.measuring import Measurer
from explorer.layout.neighbours import map_neighbours, unit_rows
from explorer.layout.pca import pca
from explorer.layout.quality import moves, rank_correlation
from tests.layout.worlds import clusters, snapshot
from trainers.metrics.catalogue import maps
from trainers.runs.maps import unpack
from trainers.runs.records import refined


def _index(points: np.ndarray, labels: np.ndarray) -> float:
    """The between-dataset index before scaling, from distances and sums alone."""

    def away(a: np.ndarray, b: np.ndarray) -> float:
        return math.sqrt(sum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True)))

    centre = points.mean(axis=0)
    spread = float(np.std([away(point, centre) for point in points]))
    separate = compact = 0.0
    for label in (0, 1):
        group = points[labels == label]
        own = group.mean(axis=0)
        separate += len(group) * math.exp(away(own, centre) / spread)
        compact += sum(math.exp(away(point, own) / spread) for point in group)
    return (len(points) - 2) * separate / compact


def _slow(vectors: np.ndarray, pairs: LabelPairs) -> list[float]:
    found = []
    for pair in pairs.pairs:
        points = vectors[pair.points].astype(np.float64)
        real, *chance = (_index(points, (~mask).astype(int)) for mask in pair.masks)
        expected = sum(chance) / len(chance)
        scaled, floor = (1 / (1 + 1 / value) for value in (real, expected))
        found.append(min(max((scaled - floor) / (1 - floor), 0.0), 1.0))
    return found


@pytest.mark.parametrize(("order", "dim"), [(0.0, 12), (0.4, 12), (1.0, 12), (0.6, 2)])
def test_label_measures_agree_with_the_formulas(order: float, dim: int) -> None:
    rows = clusters(order, points=46, classes=5, dim=dim).astype(np.float64)
    xy = pca(rows)
    pairs = LabelPairs(np.arange(46) % 5)
    space, flat = _slow(rows, pairs), _slow(xy, pairs)
    np.testing.assert_allclose(pairs.separations(rows), space, atol=1e-9)
    np.testing.assert_allclose(pairs.separations(xy), flat, atol=1e-9)
    got = pairs.measure(rows, xy)
    assert got is not None
    lost = [max(a - b, 0) for a, b in zip(space, flat, strict=True)]
    won = [max(b - a, 0) for a, b in zip(space, flat, strict=True)]
    assert got.trustworthiness == pytest.approx(1 - sum(lost) / 10, abs=1e-9)
    assert got.continuity == pytest.approx(1 - sum(won) / 10, abs=1e-9)


def test_a_map_that_is_the_space_is_true_and_size_and_turn_change_nothing() -> None:
    rng = np.random.default_rng(3)
    xy = rng.normal(size=(60, 2)) + np.repeat(rng.normal(size=(6, 2)) * 2, 10, axis=0)
    turned = 7 * xy @ np.linalg.qr(rng.normal(size=(2, 2)))[0] + 5
    got = LabelPairs(np.repeat(np.arange(6), 10)).measure(np.hstack([xy, np.zeros((60, 9))]), turned)
    assert got is not None and (got.trustworthiness, got.continuity) == pytest.approx((1, 1), abs=1e-9)


def test_an_embedding_without_classes_is_no_separation_that_a_map_could_hide() -> None:
    # without the adjustment for chance, centroids of few points in many dimensions seem separate
    rows = unit_rows(np.random.default_rng(1).normal(size=(160, 64)))
    pairs = LabelPairs(np.arange(160) % 20)
    got = pairs.measure(rows, pca(rows))
    assert got is not None and got.trustworthiness > 0.97
    assert pairs.separations(rows).mean() < 0.05
    two = np.repeat([0, 1], 8)
    assert LabelPairs(two).separations(np.eye(2)[two]) == pytest.approx([1.0], abs=1e-6), "classes that collapsed"
    assert LabelPairs(two).separations(np.ones((16, 3))) == [0.0], "a space that collapsed"


@pytest.mark.parametrize("labels", [np.zeros(30, int), np.arange(30), np.repeat(np.arange(15), 2), np.zeros(0, int)])
def test_without_two_classes_of_three_points_there_is_nothing_to_compare(labels: np.ndarray) -> None:
    assert LabelPairs(labels).measure(np.zeros((len(labels), 4)), np.zeros((len(labels), 2))) is None
    assert Measurer(labels[:, None]).labels(np.zeros((len(labels), 4)), np.zeros((len(labels), 2))) == {}


def test_many_classes_and_points_are_sampled_the_same_way_every_time() -> None:
    labels = np.repeat(np.arange(60), 50)
    first, again = LabelPairs(labels), LabelPairs(labels)
    assert len(first) == MOST_PAIRS and max(len(pair.points) for pair in first.pairs) == 2 * MOST_POINTS
    for one, other in zip(first.pairs, again.pairs, strict=True):
        assert np.array_equal(one.points, other.points) and np.array_equal(one.masks, other.masks)


def test_the_rank_correlation_is_spearman_s() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 9, 80).astype(float)
    for second in (rng.normal(size=80), first * 2 + rng.integers(0, 3, 80), -first):
        assert rank_correlation(first, second) == pytest.approx(spearmanr(first, second).statistic, abs=1e-12)
    assert rank_correlation(first, np.ones(80)) is None
    assert rank_correlation(np.zeros(0), np.zeros(0)) is None


@pytest.mark.usefixtures("umap_ready")
class TestFrames:
    """Frames of a run of two arms."""

    LABELS = np.stack([np.arange(200) % 10, np.arange(200) % 10 // 5], axis=1)

    def made(self, orders: list[float], measurer: Measurer | None = None) -> list:
        """One frame per order; the second arm gets ahead."""
        layouter = Layouter(measurer=measurer or Measurer(self.LABELS))
        rows = [(clusters(order, points=200), clusters(order * 1.3, points=200)) for order in orders]
        return [layouter.next(snapshot(k, *arms)) for k, arms in enumerate(rows)]

    def test_every_level_of_every_arm_is_measured(self) -> None:
        frames = self.made([0.2, 0.6])
        for frame, order in zip(frames, (0.2, 0.6), strict=True):
            for arm, factor in zip(frame.arms, (1, 1.3), strict=True):
                rows = unit_rows(clusters(order * factor, points=200))
                for level in (0, 1):
                    want = LabelPairs(self.LABELS[:, level]).measure(rows, unpack(arm.xy, frame.limit))
                    assert arm.measures[maps.at_level(maps.TRUSTWORTHINESS, level)] == want.trustworthiness
                    assert arm.measures[maps.at_level(maps.CONTINUITY, level)] == want.continuity

    def test_the_agreement_is_of_the_moves_since_the_frame_before(self) -> None:
        first, second = self.made([0.2, 0.6])
        assert maps.AGREEMENT not in first.arms[0].measures
        moved = moves(unpack(second.arms[0].xy, second.limit), unpack(first.arms[0].xy, first.limit))
        away = np.linalg.norm(unit_rows(clusters(0.6, points=200)) - unit_rows(clusters(0.2, points=200)), axis=1)
        assert second.arms[0].measures[maps.AGREEMENT] == pytest.approx(spearmanr(moved, away).statistic, abs=1e-6)

    def test_the_noise_floor_is_the_move_of_a_frozen_embedding(self) -> None:
        frames = self.made([0.2, 0.8, 0.8, 0.8, 0.8])
        assert maps.NOISE_FLOOR not in frames[0].arms[0].measures  # a map made from PCA shows no noise
        assert {frame.arms[0].measures[maps.EPOCHS] for frame in frames[2:]} == {CALM.epochs}
        assert frames[1].arms[0].measures[maps.EPOCHS] in (MOVING.epochs, TURNED.epochs)
        for before, after in itertools.pairwise(frames[2:]):
            drawn, next_drawn = (unpack(frame.arms[0].xy, frame.limit) for frame in (before, after))
            # the embedding stood still and the effort stayed: the next frame is the one that the floor was measured on
            floor = np.percentile(moves(next_drawn, drawn), 95)
            assert before.arms[0].measures[maps.NOISE_FLOOR] == pytest.approx(floor, rel=1e-2)
        # more epochs at a higher rate move points further
        assert frames[1].arms[0].measures[maps.NOISE_FLOOR] > frames[3].arms[0].measures[maps.NOISE_FLOOR]

    def test_refining_keeps_at_least_as_many_neighbours_and_says_what_it_is(self) -> None:
        layouter = Layouter(measurer=Measurer(self.LABELS))
        arms = [clusters(0.5, points=200), clusters(0.9, points=200)]
        for k in range(2):
            last = layouter.next(snapshot(k, *arms))
        better = layouter.refine(last, snapshot(1, *arms))
        assert better is not None and better.k == refined(1) and (better.step, better.seconds) == (last.step, 2.0)
        assert sum(arm.quality for arm in better.arms) > sum(arm.quality for arm in last.arms)
        assert np.array_equal(better.arms[0].neighbours, map_neighbours(arms[0], 20).ids)
        for arm, before in zip(better.arms, last.arms, strict=True):
            assert arm.measures[maps.EPOCHS] == refining(200).epochs == 200 and maps.NOISE_FLOOR not in arm.measures
            drawn, old = unpack(arm.xy, better.limit), unpack(before.xy, last.limit)
            assert arm.drift == pytest.approx(float(np.median(moves(drawn, old))))
        again = layouter.refine(last, snapshot(1, *arms))
        assert np.array_equal(again.arms[1].xy, better.arms[1].xy) and layouter.previous is last
        flat = Layouter().next(snapshot(0, *arms), "pca")
        assert Layouter().refine(flat, snapshot(0, *arms)) is None
        twins = Layouter().next(snapshot(0, arms[0], arms[0]), "pca")
        assert Layouter().refine(twins, snapshot(0, arms[0], arms[0])) is None
