"""PCA, neighbours, alignment, quality and the plan, each against a slow or independent account of itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from explorer.layout.align import grow, procrustes
from explorer.layout.neighbours import map_neighbours, overlap
from explorer.layout.pca import pca
from explorer.layout.quality import drift, kept_neighbours
from explorer.layout.snapshots import next_snapshot, thin
from tests.layout.worlds import clusters
from tests.metrics import slow
from trainers.runs.maps import pack, unpack


@pytest.mark.parametrize(("points", "dim"), [(200, 16), (12, 40), (50, 2)])
def test_pca_spans_the_same_plane_as_scikit_learn(points: int, dim: int) -> None:
    rows = np.random.default_rng(1).normal(size=(points, dim)) * np.linspace(3, 1, dim)
    ours, theirs = pca(rows, spread=1.0), PCA(2).fit_transform(rows)
    theirs = theirs / np.sqrt((theirs**2).mean())
    assert np.abs(np.abs((ours * theirs).sum(0) / (theirs**2).sum(0)) - 1).max() < 1e-4
    assert np.allclose(ours.std(axis=0).argmax(), 0)


def test_pca_is_the_same_every_time_and_its_signs_do_not_flip() -> None:
    rows = clusters(0.8)
    assert np.array_equal(pca(rows), pca(rows.copy()))
    nudged = rows + np.float16(1e-3) * np.random.default_rng(0).normal(size=rows.shape).astype(np.float16)
    assert np.abs(pca(rows) - pca(nudged)).max() < 0.5


@pytest.mark.parametrize(
    "rows",
    [np.ones((6, 4)), np.ones((6, 1)), np.full((3, 4), np.nan), np.zeros((1, 4)), np.eye(2)],
    ids=["equal", "one dimension", "not numbers", "one point", "two points"],
)
def test_pca_of_poor_points_is_finite(rows: np.ndarray) -> None:
    assert pca(rows).shape == (len(rows), 2)
    assert np.isfinite(pca(rows)).all()


def test_neighbours_are_exact() -> None:
    rows = np.random.default_rng(0).normal(size=(120, 8)).astype(np.float32)
    found = map_neighbours(rows, 10)
    alike = np.zeros((120, 1), int)
    assert found.ids.tolist() == [slow.nearest(rows, alike, query)[:10] for query in range(120)]
    assert (np.diff(found.similarities, axis=1) <= 0).all()


def test_a_point_is_never_its_own_neighbour_and_ties_go_by_index() -> None:
    rows = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    found = map_neighbours(rows, 3)
    assert found.ids[0].tolist() == [1, 2, 3]
    assert found.ids[5].tolist() == [4, 6, 7]
    many = map_neighbours(np.ones((30, 4), np.float32), 20)
    assert not (many.ids == np.arange(30)[:, None]).any()
    assert overlap(np.array([[1, 2], [3, 4]]), np.array([[2, 9, 1], [5, 3, 6]])) == 0.75


def test_of_few_points_there_are_few_and_rows_that_are_not_finite_do_not_spread() -> None:
    for count in (1, 2, 5):
        assert map_neighbours(np.random.default_rng(0).normal(size=(count, 4)), 20).ids.shape == (count, count - 1)
    rows = clusters(1.0).astype(np.float32)
    rows[3] = np.nan
    found = map_neighbours(rows, 5)
    assert np.isfinite(found.similarities).all()
    assert not (found.ids[[0, 1, 2]] == 3).any()


@given(
    angle=st.floats(0, 6.2),
    mirrored=st.booleans(),
    shift=st.floats(-20, 20),
    scale=st.floats(0.1, 10),
    seed=st.integers(0, 99),
)
def test_procrustes_turns_back_and_never_scales(
    angle: float, mirrored: bool, shift: float, scale: float, seed: int
) -> None:
    target = np.random.default_rng(seed).normal(size=(30, 2))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turn = turn @ np.diag([1.0, -1.0 if mirrored else 1.0])
    moved = target @ turn * scale + shift
    back = procrustes(moved, target)
    size, before = np.ptp(back, axis=0), np.linalg.norm(moved - moved.mean(0), axis=1)
    assert size.shape == (2,)
    assert np.allclose(np.linalg.norm(back - back.mean(0), axis=1), before, rtol=1e-4, atol=1e-4)
    assert np.allclose(back - back.mean(0), (target - target.mean(0)) * scale, atol=1e-3)


@given(reaches=st.lists(st.floats(0, 1e4), min_size=1, max_size=20))
def test_the_box_never_shrinks_and_holds_every_point(reaches: list[float]) -> None:
    limit = 1.0
    for reach in reaches:
        grown = grow(limit, (np.array([[reach, -reach]], np.float32), np.zeros((1, 2), np.float32)))
        assert grown >= limit
        assert grown >= np.float32(reach)
        assert grown == limit or reach > limit
        limit = grown


@given(limit=st.floats(0.5, 100))
def test_packing_loses_less_than_one_part_in_65535(limit: float) -> None:
    xy = np.random.default_rng(0).uniform(-limit, limit, (50, 2)).astype(np.float32)
    packed = pack(xy, limit)
    assert packed.dtype == np.uint16
    assert np.abs(unpack(packed, limit) - xy).max() <= limit / 65535 * 1.01
    assert np.array_equal(pack(unpack(packed, limit), limit), packed)


def test_quality_matches_a_slow_count_and_is_defined_on_one_spot() -> None:
    rows = clusters(0.5, points=80)
    xy = pca(rows).astype(np.float64)
    ids = map_neighbours(rows, 20).ids
    shares = []
    for i in range(80):
        order = np.argsort(np.linalg.norm(xy - xy[i], axis=1), kind="stable")
        near = [j for j in order if j != i][:15]
        shares.append(len(set(near) & set(ids[i, :15].tolist())) / 15)
    assert kept_neighbours(xy, ids) == pytest.approx(np.mean(shares))
    ids = map_neighbours(clusters(1.0, points=40), 20).ids
    assert 0 <= kept_neighbours(np.zeros((40, 2)), ids) <= 1
    assert kept_neighbours(np.zeros((1, 2)), np.zeros((1, 0), np.int32)) == 1


def test_drift_is_in_standard_deviations() -> None:
    xy = np.random.default_rng(0).normal(scale=3, size=(4000, 2))
    assert drift(xy, xy) == 0
    assert drift(xy, xy + np.array([3.0, 0.0])) == pytest.approx(1, rel=0.05)
    assert drift(np.zeros((3, 2)), np.ones((3, 2))) == 0


def test_thinning_keeps_the_ends() -> None:
    assert thin(range(10)) == list(range(10))
    chosen = thin(range(5, 1005))
    assert len(chosen) == 60
    assert (chosen[0], chosen[-1]) == (5, 1004)
    assert chosen == sorted(set(chosen))
    assert np.ptp(np.diff(chosen)) <= 1


@pytest.mark.parametrize(
    ("ks", "last", "live", "expected"),
    [
        ([], None, True, None),
        ([0, 1, 2, 3], None, True, 0),
        ([0, 1, 2], 0, True, 1),
        ([0, 1, 2, 3], 0, True, 3),
        ([0, 1, 2, 3], 3, True, None),
        ([0, 1, 2, 3], 0, False, 1),
        ([0, 1, 2, 3], None, False, 0),
        ([0, 1], 5, False, None),
    ],
)
def test_which_snapshot_comes_next(ks: list[int], last: int | None, live: bool, expected: int | None) -> None:
    assert next_snapshot(ks, last, live=live) == expected
