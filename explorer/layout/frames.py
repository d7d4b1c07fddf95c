"""Makes the frames of a run: each map starts from the one before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.layout.align import grow, procrustes
from explorer.layout.effort import Effort, following, noise_floor, refining
from explorer.layout.local_join import Followed, follow
from explorer.layout.measuring import Measurer, Moved
from explorer.layout.neighbours import MANY, Neighbours, map_neighbours
from explorer.layout.pca import pca
from explorer.layout.quality import drift, kept_neighbours
from explorer.layout.umap_step import step
from trainers.metrics.catalogue import maps as numbers
from trainers.runs.maps import pack, unpack
from trainers.runs.records import Frame, FrameArm, Snapshot, refined

STORED_NEIGHBOURS = 20
SMALLEST_LIMIT = 8.0  # an untrained map is a small ball; the box leaves room for the clusters that come out of it
FEWEST_POINTS = 5  # fewer have no neighbourhoods to keep: they get their PCA map


@dataclass(frozen=True, kw_only=True)
class _Map:
    """One arm's layout in the run's coordinates, with its neighbours in the full space.

    Attributes:
        near, effort: what it was made of and with, by UMAP from a map before; None of other maps.
        followed: the search for the neighbours, if it was not one of all pairs.
    """

    xy: np.ndarray
    ids: np.ndarray
    method: str
    near: Neighbours | None = None
    effort: Effort | None = None
    followed: Followed | None = None


class Layouter:
    """Makes the frames of one run, in order. Maps follow from the last frame alone, so a stored frame restores it.

    Args:
        seed: of the UMAP steps. All arms of a frame share their random numbers, so equal embeddings give equal maps.
        previous: the newest stored frame of the run, later the last one made; None before the first.
        measurer: measures the maps; None: what needs labels or earlier frames is left out.
        shown: the snapshot of ``previous``, to compare moves in the space with those on the map; None: unknown.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        previous: Frame | None = None,
        measurer: Measurer | None = None,
        shown: Snapshot | None = None,
    ) -> None:
        self._seed = seed
        self._measurer = measurer or Measurer()
        self._shown = shown
        self.previous = previous

    def next(self, snapshot: Snapshot, method: str = "umap") -> Frame:
        """Make the frame of ``snapshot``.

        Args:
            snapshot: embeddings ``[P, D]`` of each arm; row i is the same image in all arms and snapshots.
            method: ``umap``, or ``pca`` for a map at once; the frame says which it is.
        """
        frame = self._measured(self._frame(snapshot, method), snapshot, self.previous, self._shown)
        self.previous, self._shown = frame, snapshot
        return frame

    def _frame(self, snapshot: Snapshot, method: str) -> tuple[Frame, list[_Map]]:
        past = self._past(snapshot)
        maps: list[_Map] = []
        for i, embeddings in enumerate(snapshot.embeddings):
            twin = _twin(snapshot.embeddings, past, i)
            anchor = maps[0].xy if maps else None
            maps.append(
                _map(embeddings, past[i], anchor, method, self._seed_of(snapshot.k)) if twin is None else maps[twin]
            )
        limit = grow(self._limit(past), tuple(each.xy for each in maps))
        arms = tuple(_arm(each, before, limit) for each, before in zip(maps, past, strict=True))
        return Frame(k=snapshot.k, step=snapshot.step, seconds=snapshot.seconds, limit=limit, arms=arms), maps

    def between(
        self, before: Frame, after: Frame, snapshot: Snapshot, method: str = "umap", shown: Snapshot | None = None
    ) -> Frame:
        """Make the frame of a ``snapshot`` that was passed over, on the way from one frame to a later one.

        It starts from where the points were by then if they moved evenly, and keeps to the later frame's axis box.

        Args:
            shown: the snapshot of ``before``; None: unknown.
        """
        limit = max(before.limit, after.limit)
        mixed = _mixed(before, after, (snapshot.k - before.k) / (after.k - before.k), limit)
        frame, maps = Layouter(seed=self._seed, previous=mixed)._frame(snapshot, method)
        arms = []
        for arm, old in zip(frame.arms, before.arms, strict=True):
            xy, past = unpack(arm.xy, frame.limit), unpack(old.xy, before.limit)
            moved = drift(xy, past) if len(xy) == len(past) else 0.0
            arms.append(dataclasses.replace(arm, xy=pack(xy, limit), drift=moved))
        frame = dataclasses.replace(frame, limit=limit, arms=tuple(arms))
        return self._measured((frame, maps), snapshot, before, shown)

    def refine(self, frame: Frame, snapshot: Snapshot) -> Frame | None:
        """Refine the last ``frame`` of a run with more epochs; None where UMAP cannot improve any of its maps.

        Its ``drift`` and motion are those from ``frame``; it has no noise floor, so all of its motion is drawn.

        Args:
            snapshot: the one that ``frame`` shows.
        """
        maps: list[_Map] = []
        past = [_Map(xy=unpack(arm.xy, frame.limit), ids=arm.neighbours, method=arm.method) for arm in frame.arms]
        seed = self._seed_of(refined(frame.k))
        for i, (embeddings, before) in enumerate(zip(snapshot.embeddings, past, strict=True)):
            twin = _twin(snapshot.embeddings, past, i)
            maps.append(_refined(embeddings, before, seed) if twin is None else maps[twin])
        if all(each.effort is None for each in maps):
            return None
        limit = grow(frame.limit, tuple(each.xy for each in maps))
        arms = tuple(_arm(each, before, limit) for each, before in zip(maps, past, strict=True))
        made = dataclasses.replace(frame, k=refined(frame.k), limit=limit, arms=arms)
        return self._measured((made, maps), snapshot, None, None)

    def _measured(
        self, made: tuple[Frame, list[_Map]], snapshot: Snapshot, before: Frame | None, shown: Snapshot | None
    ) -> Frame:
        """Add to a frame what is true of its maps; twins are measured once."""
        frame, maps = made
        arms: list[FrameArm] = []
        for i, (arm, arm_map) in enumerate(zip(frame.arms, maps, strict=True)):
            twin = next((j for j in range(i) if maps[j] is arm_map), None)
            known = self._of_arm(i, frame, arm_map, snapshot, before, shown) if twin is None else arms[twin].measures
            arms.append(dataclasses.replace(arm, measures=known))
        return dataclasses.replace(frame, arms=tuple(arms))

    def _of_arm(
        self, i: int, frame: Frame, arm_map: _Map, snapshot: Snapshot, before: Frame | None, shown: Snapshot | None
    ) -> dict[str, float]:
        xy, embeddings = unpack(frame.arms[i].xy, frame.limit), snapshot.embeddings[i]
        measures = self._measurer.labels(embeddings, xy)
        if arm_map.effort is not None and arm_map.near is not None:
            measures |= {numbers.EPOCHS: float(arm_map.effort.epochs)}
        if arm_map.followed is not None:
            measures |= {numbers.RECALL: arm_map.followed.recall}
        if before is None or i >= len(before.arms) or len(before.arms[i].xy) != len(xy):
            return measures
        if shown is not None and before.arms[i].method == arm_map.method:
            past = unpack(before.arms[i].xy, before.limit)
            moved = Moved(xy=xy, before=past, embeddings=embeddings, embeddings_before=shown.embeddings[i])
            measures |= self._measurer.agreement(moved)
        if arm_map.effort is not None and arm_map.near is not None and before.arms[i].method == arm_map.method:
            measures[numbers.NOISE_FLOOR] = noise_floor(arm_map.near, xy, arm_map.effort, self._seed_of(frame.k + 1))
        return measures

    def _seed_of(self, k: int) -> int:
        return self._seed * 1_000_003 + k

    def _past(self, snapshot: Snapshot) -> list[_Map | None]:
        """Return the maps to start from, as they were stored: a restored process continues exactly like this one."""
        frame = self.previous
        shape = [len(embeddings) for embeddings in snapshot.embeddings]
        if frame is None or [len(arm.xy) for arm in frame.arms] != shape:
            return [None] * len(shape)
        return [_Map(xy=unpack(arm.xy, frame.limit), ids=arm.neighbours, method=arm.method) for arm in frame.arms]

    def _limit(self, past: Sequence[_Map | None]) -> float:
        return self.previous.limit if self.previous is not None and past[0] is not None else SMALLEST_LIMIT


def _mixed(before: Frame, after: Frame, share: float, limit: float) -> Frame:
    """Move the points of ``before`` by ``share`` of the way to ``after``, where both are of the same kind."""
    arms = []
    for old, new in zip(before.arms, after.arms, strict=True):
        xy = unpack(old.xy, before.limit)
        if old.method == new.method and old.xy.shape == new.xy.shape:
            xy = xy + share * (unpack(new.xy, after.limit) - xy)
        arms.append(dataclasses.replace(old, xy=pack(xy, limit)))
    return dataclasses.replace(before, limit=limit, arms=tuple(arms))


def _map(embeddings: np.ndarray, before: _Map | None, anchor: np.ndarray | None, method: str, seed: int) -> _Map:
    """Make one arm's next map, aligned to its previous one, or at the start to the first arm's map."""
    many = method == "umap" and before is not None and len(embeddings) > MANY
    followed = follow(embeddings, before.ids, STORED_NEIGHBOURS, seed) if many and before is not None else None
    near = map_neighbours(embeddings, STORED_NEIGHBOURS) if followed is None else followed.near
    if method == "pca" or len(embeddings) < FEWEST_POINTS:
        target = anchor if before is None else before.xy
        xy = pca(embeddings)
        return _Map(xy=xy if target is None else procrustes(xy, target), ids=near.ids, method="pca")
    if before is None:
        start = pca(embeddings) if anchor is None else procrustes(pca(embeddings), anchor)
        target = start if anchor is None else anchor
    else:
        start = target = before.xy
    effort = following(near.ids, None if before is None or before.method != "umap" else before.ids)
    xy = step(near, start, epochs=effort.epochs, alpha=effort.alpha, seed=seed)
    return _Map(xy=procrustes(xy, target), ids=near.ids, method="umap", near=near, effort=effort, followed=followed)


def _refined(embeddings: np.ndarray, before: _Map, seed: int) -> _Map:
    """Refine one arm's map with more epochs; the same one where it is not UMAP's."""
    if before.method != "umap" or len(embeddings) < FEWEST_POINTS:
        return before
    near = map_neighbours(embeddings, STORED_NEIGHBOURS)
    effort = refining(len(embeddings))
    xy = step(near, before.xy, epochs=effort.epochs, alpha=effort.alpha, seed=seed)
    return dataclasses.replace(before, xy=procrustes(xy, before.xy), ids=near.ids, near=near, effort=effort)


def _twin(embeddings: Sequence[np.ndarray], past: Sequence[_Map | None], i: int) -> int | None:
    """Find an earlier arm with the same embeddings and the same previous map, so that arm ``i`` shares its next map."""
    for j in range(i):
        mine, other = past[i], past[j]
        same_past = mine is other or (mine is not None and other is not None and np.array_equal(mine.xy, other.xy))
        if same_past and np.array_equal(embeddings[i], embeddings[j]):
            return j
    return None


def _arm(each: _Map, before: _Map | None, limit: float) -> FrameArm:
    packed = pack(each.xy, limit)
    shown = unpack(packed, limit)
    return FrameArm(
        xy=packed,
        neighbours=each.ids,
        quality=kept_neighbours(shown, each.ids, None if each.followed is None else each.followed.sample),
        drift=0.0 if before is None else drift(shown, before.xy),
        method=each.method,
    )
