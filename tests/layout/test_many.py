"""Maps of very many points: neighbours are searched from those of the frame before, and what is shown stays exact."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.layout import effort, frames, local_join, umap_step
from explorer.layout.align import unpack
from explorer.layout.effort import MOVING, noise_floor
from explorer.layout.frames import STORED_NEIGHBOURS, Layouter
from explorer.layout.local_join import LEAST_RECALL, follow
from explorer.layout.neighbours import nearest, overlap
from explorer.layout.pca import pca
from explorer.layout.quality import kept_neighbours
from explorer.layout.umap_step import step
from tests.layout.worlds import clusters, snapshot
from trainers.metrics.catalogue import maps

pytestmark = pytest.mark.usefixtures("umap_ready")
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
    before, now = nearest(rows(0.25), 20), rows(0.32)
    followed, exact = follow(now, before.ids, 20, seed=1), nearest(now, 20)
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
    assert follow(rows(0.6), nearest(rows(0.5), 10).ids, 20, seed=1) is None, "an earlier frame that kept fewer"
    layouter = Layouter()
    layouter.next(snapshot(0, rows(0.6)))
    turned = rows(0.6)[np.random.default_rng(0).permutation(POINTS)]
    arm = layouter.next(snapshot(1, turned)).arms[0]
    assert maps.RECALL not in arm.measures and np.array_equal(arm.neighbours, nearest(turned, 20).ids)


@pytest.mark.usefixtures("many")
def test_equal_rows_are_equally_near() -> None:
    """Of a collapsed embedding any neighbours are the nearest ones."""
    before = nearest(rows(0.5), 20)
    followed = follow(np.ones((POINTS, 8), np.float32), before.ids, 20, seed=1)
    assert followed is not None and followed.recall == 1.0


@pytest.mark.usefixtures("many")
def test_maps_of_many_points_say_so_and_their_errors_do_not_add_up() -> None:
    layouter = Layouter()
    made = [layouter.next(snapshot(k, rows(0.25 + 0.05 * k))) for k in range(6)]
    assert maps.RECALL not in made[0].arms[0].measures
    for k, frame in enumerate(made[1:], start=1):
        arm, exact = frame.arms[0], nearest(rows(0.25 + 0.05 * k), STORED_NEIGHBOURS)
        assert arm.measures[maps.RECALL] >= LEAST_RECALL
        assert overlap(exact.ids, arm.neighbours) > 0.98
        whole = kept_neighbours(unpack(arm.xy, frame.limit), exact.ids)
        assert arm.quality == pytest.approx(whole, abs=0.03)
    last = snapshot(5, rows(0.5))
    refined = layouter.refine(made[-1], last)
    assert refined is not None and maps.RECALL not in refined.arms[0].measures
    assert np.array_equal(refined.arms[0].neighbours, nearest(rows(0.5), STORED_NEIGHBOURS).ids)


def test_maps_of_fewer_points_compare_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "follow", lambda *_: pytest.fail("searched"))
    layouter = Layouter()
    made = [layouter.next(snapshot(k, rows(order))) for k, order in enumerate((0.5, 0.6))]
    assert np.array_equal(made[1].arms[0].neighbours, nearest(rows(0.6), STORED_NEIGHBOURS).ids)
    near, start = nearest(rows(0.6), 20), unpack(made[0].arms[0].xy, made[0].limit)
    moved = step(near, start, epochs=5, alpha=0.25, seed=0)
    assert np.array_equal(moved, step(near, start, epochs=5, alpha=0.25, seed=0, points=np.ones(POINTS, bool)))


def test_the_noise_floor_of_patches_is_that_of_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    near = nearest(rows(0.6), 20)
    xy = step(near, pca(rows(0.6)), epochs=60, alpha=1.0, seed=0)
    whole = noise_floor(near, xy, MOVING, 3)
    monkeypatch.setattr(effort, "MANY", 1000)
    monkeypatch.setattr(effort, "PATCHES", 5)
    assert noise_floor(near, xy, MOVING, 3) == pytest.approx(whole, rel=0.25)
