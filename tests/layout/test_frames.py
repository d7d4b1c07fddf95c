"""What a sequence of maps promises; of very many points, neighbours are searched from those of the frame before."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.layout import effort, frames, local_join, umap_step
from explorer.layout.effort import CALM, MOVING, TURNED, following, noise_floor
from explorer.layout.frames import STORED_NEIGHBOURS, Layouter
from explorer.layout.local_join import LEAST_RECALL, follow
from explorer.layout.neighbours import map_neighbours, overlap
from explorer.layout.pca import pca
from explorer.layout.quality import kept_neighbours
from explorer.layout.umap_step import CURVE, step
from tests.layout.worlds import clusters, snapshot
from trainers.metrics.catalogue import maps
from trainers.runs.maps import unpack
from trainers.runs.records import Frame

pytestmark = pytest.mark.usefixtures("umap_ready")


def _frames(layouter: Layouter, orders: list[float], start: int = 0, points: int = 300) -> list[Frame]:
    """Two arms that start equal; the second gets ahead."""
    made = []
    for i, order in enumerate(orders, start=start):
        first, second = clusters(order, points=points), clusters(min(order * 1.3, 1.2), points=points)
        made.append(layouter.next(snapshot(i, first, first if i == 0 else second)))
    return made


def test_maps_keep_more_neighbours_than_pca_part_classes_and_are_nearly_as_good_as_ones_made_afresh() -> None:
    last = _frames(Layouter(), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.0, 1.0])[-1]
    for arm, order in zip(last.arms, (1.0, 1.2), strict=True):
        assert arm.quality > kept_neighbours(pca(clusters(order)), arm.neighbours) and arm.method == "umap"
    xy, labels = unpack(last.arms[1].xy, last.limit), np.arange(300) % 10
    beside = np.argsort(np.linalg.norm(xy[:, None] - xy[None], axis=2), axis=1)[:, 1:6]
    assert (labels[beside] == labels[:, None]).mean() > 0.9
    near = map_neighbours(clusters(1.0), 20)
    fresh = step(near, pca(clusters(1.0)), epochs=200, alpha=1.0, seed=3)
    assert last.arms[0].quality > 0.9 * kept_neighbours(fresh, near.ids)


def test_equal_embeddings_give_equal_maps_and_different_ones_do_not() -> None:
    first, second = _frames(Layouter(), [0.2, 0.4])
    assert np.array_equal(first.arms[0].xy, first.arms[1].xy)
    assert not np.array_equal(second.arms[0].xy, second.arms[1].xy)


def test_arms_that_start_apart_are_turned_towards_the_first() -> None:
    rows = clusters(1.0).astype(np.float32)
    other = (rows + np.random.default_rng(5).normal(scale=0.02, size=rows.shape))[:, ::-1].astype(np.float16)
    frame = Layouter().next(snapshot(0, rows.astype(np.float16), other), "pca")
    first, second = (unpack(arm.xy, frame.limit) for arm in frame.arms)
    assert np.abs(first - second).max() < 0.2 * first.std()


def test_unchanged_data_stays_put() -> None:
    frames = _frames(Layouter(), [0.6] * 6)
    later = [arm.drift for frame in frames[2:] for arm in frame.arms]
    assert max(later) < 0.6 and np.mean(later) < 0.3


def test_same_seed_same_maps_other_seed_other_maps() -> None:
    orders = [0.1, 0.5, 0.9]
    first, again, other = (_frames(Layouter(seed=seed), orders)[-1] for seed in (0, 0, 1))
    for arm, same, different in zip(first.arms, again.arms, other.arms, strict=True):
        assert np.array_equal(arm.xy, same.xy)
        assert not np.array_equal(arm.xy, different.xy)


def test_a_restored_layouter_goes_on_exactly_as_the_lost_one_would_have() -> None:
    kept = Layouter()
    middle = _frames(kept, [0.1, 0.4])[-1]
    expected = _frames(kept, [0.7], start=2)[-1]
    restored = _frames(Layouter(previous=middle), [0.7], start=2)[-1]
    assert expected.limit == restored.limit
    for arm, other in zip(expected.arms, restored.arms, strict=True):
        assert np.array_equal(arm.xy, other.xy)
        assert (arm.quality, arm.drift) == (other.quality, other.drift)


def test_one_box_for_all_arms_that_only_grows() -> None:
    frames = _frames(Layouter(), list(np.linspace(0, 1.2, 12)))
    limits = [frame.limit for frame in frames]
    assert limits == sorted(limits)
    for frame in frames:
        assert all(arm.xy.min() > 0 and arm.xy.max() < 65535 for arm in frame.arms)


def test_pca_frames_say_so_and_umap_starts_from_them() -> None:
    layouter = Layouter()
    rows = clusters(0.8)
    flat = layouter.next(snapshot(0, rows), "pca")
    then = layouter.next(snapshot(1, rows), "umap")
    assert (flat.arms[0].method, then.arms[0].method) == ("pca", "umap")
    assert flat.arms[0].drift == 0
    before, after = unpack(flat.arms[0].xy, flat.limit), unpack(then.arms[0].xy, then.limit)
    # it grew out of the PCA map: what was left is left still
    assert np.corrcoef(before[:, 0], after[:, 0])[0, 1] > 0.6


def test_the_effort_follows_the_change_of_the_neighbours() -> None:
    now, less, least = (map_neighbours(clusters(order), 20).ids for order in (0.8, 0.3, 0.0))
    assert following(now, now) == CALM and following(less, now) == MOVING and following(least, now) == TURNED


@pytest.mark.parametrize("points", [1, 2, 4, 5, 9])
def test_few_points(points: int) -> None:
    layouter = Layouter()
    for k in range(3):
        frame = layouter.next(snapshot(k, clusters(0.5, points=points, classes=2)))
        assert frame.arms[0].xy.shape == (points, 2)
        assert np.isfinite([frame.arms[0].quality, frame.arms[0].drift, frame.limit]).all()


@pytest.mark.parametrize("method", ["umap", "pca"])
def test_collapsed_and_broken_embeddings_still_give_a_map(method: str) -> None:
    equal = np.repeat(clusters(1.0, points=1), 60, axis=0)
    broken = clusters(0.5, points=60)
    broken[:30] = np.nan
    layouter = Layouter()
    for k, rows in enumerate([equal, broken, equal, clusters(1.0, points=60)]):
        frame = layouter.next(snapshot(k, rows), method)
        assert np.isfinite([frame.arms[0].quality, frame.arms[0].drift, frame.limit]).all()


def test_a_frame_of_another_probe_is_not_gone_on_from() -> None:
    layouter = Layouter()
    layouter.next(snapshot(0, clusters(0.5, points=40)), "pca")
    frame = layouter.next(snapshot(1, clusters(0.5, points=50), clusters(0.5, points=50)), "pca")
    assert [len(arm.xy) for arm in frame.arms] == [50, 50]


def test_a_step_leaves_its_start_alone_and_the_curve_is_the_library_s() -> None:
    from umap.umap_ import find_ab_params

    rows = clusters(0.5)
    start = pca(rows)
    copy = start.copy()
    step(map_neighbours(rows, 20), start, epochs=3, alpha=0.5, seed=0)
    assert np.array_equal(start, copy)
    assert np.allclose(CURVE, find_ab_params(1.0, 0.1), atol=1e-3)


# ------------------------------------------------------------------- very many points


POINTS = 3000


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few points count as very many."""
    for module in (frames, umap_step, effort):
        monkeypatch.setattr(module, "MANY", 1000)
    monkeypatch.setattr(local_join, "SAMPLE", 300)


def rows(order: float) -> np.ndarray:
    return clusters(order, points=POINTS, classes=100)


@pytest.mark.usefixtures("many")
def test_neighbours_are_followed_and_what_is_missed_is_known() -> None:
    before, now = map_neighbours(rows(0.25), 20), rows(0.32)
    followed, exact = follow(now, before.ids, 20, seed=1), map_neighbours(now, 20)
    assert followed is not None
    assert 0.5 < overlap(exact.ids, before.ids) < 0.95, "there is something to follow"
    assert overlap(exact.ids, followed.near.ids) == pytest.approx(followed.recall, abs=0.01)
    assert followed.recall > LEAST_RECALL and len(followed.sample) == 300
    assert np.array_equal(followed.near.ids[followed.sample], exact.ids[followed.sample])
    assert (np.diff(followed.near.similarities, axis=1) <= 0).all()
    assert not (followed.near.ids == np.arange(POINTS)[:, None]).any()


@pytest.mark.usefixtures("many")
def test_what_cannot_be_followed_is_searched_anew() -> None:
    strangers = np.random.default_rng(0).integers(0, POINTS, (POINTS, 20))
    assert follow(rows(0.6), strangers, 20, seed=1) is None
    assert follow(rows(0.6), map_neighbours(rows(0.5), 10).ids, 20, seed=1) is None, "an earlier frame that kept fewer"
    layouter = Layouter()
    layouter.next(snapshot(0, rows(0.6)))
    turned = rows(0.6)[np.random.default_rng(0).permutation(POINTS)]
    arm = layouter.next(snapshot(1, turned)).arms[0]
    assert maps.RECALL not in arm.measures and np.array_equal(arm.neighbours, map_neighbours(turned, 20).ids)


@pytest.mark.usefixtures("many")
def test_equal_rows_are_equally_near() -> None:
    """Of a collapsed embedding any neighbours are the nearest ones."""
    before = map_neighbours(rows(0.5), 20)
    followed = follow(np.ones((POINTS, 8), np.float32), before.ids, 20, seed=1)
    assert followed is not None and followed.recall == 1.0


@pytest.mark.usefixtures("many")
def test_maps_of_many_points_say_so_and_their_errors_do_not_add_up() -> None:
    layouter = Layouter()
    made = [layouter.next(snapshot(k, rows(0.25 + 0.05 * k))) for k in range(6)]
    assert maps.RECALL not in made[0].arms[0].measures
    for k, frame in enumerate(made[1:], start=1):
        arm, exact = frame.arms[0], map_neighbours(rows(0.25 + 0.05 * k), STORED_NEIGHBOURS)
        assert arm.measures[maps.RECALL] >= LEAST_RECALL
        assert overlap(exact.ids, arm.neighbours) > 0.98
        whole = kept_neighbours(unpack(arm.xy, frame.limit), exact.ids)
        assert arm.quality == pytest.approx(whole, abs=0.03)
    last = snapshot(5, rows(0.5))
    refined = layouter.refine(made[-1], last)
    assert refined is not None and maps.RECALL not in refined.arms[0].measures
    assert np.array_equal(refined.arms[0].neighbours, map_neighbours(rows(0.5), STORED_NEIGHBOURS).ids)


def test_maps_of_fewer_points_compare_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "follow", lambda *_: pytest.fail("searched"))
    layouter = Layouter()
    made = [layouter.next(snapshot(k, rows(order))) for k, order in enumerate((0.5, 0.6))]
    assert np.array_equal(made[1].arms[0].neighbours, map_neighbours(rows(0.6), STORED_NEIGHBOURS).ids)
    near, start = map_neighbours(rows(0.6), 20), unpack(made[0].arms[0].xy, made[0].limit)
    moved = step(near, start, epochs=5, alpha=0.25, seed=0)
    assert np.array_equal(moved, step(near, start, epochs=5, alpha=0.25, seed=0, points=np.ones(POINTS, bool)))


def test_the_noise_floor_of_patches_is_that_of_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    near = map_neighbours(rows(0.6), 20)
    xy = step(near, pca(rows(0.6)), epochs=60, alpha=1.0, seed=0)
    whole = noise_floor(near, xy, MOVING, 3)
    monkeypatch.setattr(effort, "MANY", 1000)
    monkeypatch.setattr(effort, "PATCHES", 5)
    assert noise_floor(near, xy, MOVING, 3) == pytest.approx(whole, rel=0.25)
