"""Makes the frames of a run: each map starts from the one before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.layout.align import grow, pack, procrustes, unpack
from explorer.layout.neighbours import Neighbours, nearest, overlap
from explorer.layout.pca import pca
from explorer.layout.quality import NEAREST, drift, kept_neighbours
from explorer.layout.umap_step import step
from trainers.runs.records import Frame, FrameArm, Snapshot

STORED_NEIGHBOURS = 20
SMALLEST_LIMIT = 8.0  # an untrained map is a small ball; the box leaves room for the clusters that come out of it
FEWEST_POINTS = 5  # fewer have no neighbourhoods to keep: they get their PCA map


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The effort of one UMAP step: epochs of gradient descent and the initial learning rate."""

    epochs: int
    alpha: float


# A first map starts from PCA and needs many epochs. Later ones follow the embeddings: a learning rate of 1 would move
# points by noise alone (a median move of more than one standard deviation on unchanged data).
# A first map of very many points gets fewer epochs, so that the viewer does not wait; the next ones refine it.
FIRST_EPOCHS, FIRST_EPOCH_POINTS = (30, 100), 150_000
FIRST_ALPHA = 1.0
MOVING = Effort(epochs=20, alpha=0.25)
TURNED = Effort(epochs=40, alpha=0.25)
CALM = Effort(epochs=10, alpha=0.1)
CALM_BELOW, TURNED_ABOVE = 0.05, 0.5  # share of the nearest neighbours replaced since the frame before


@dataclass(frozen=True, kw_only=True)
class _Map:
    """One arm's layout in the run's coordinates, with its neighbours in the full space."""

    xy: np.ndarray
    ids: np.ndarray
    method: str


class Layouter:
    """Makes the frames of one run, in order. Its only state is the last frame, so a stored frame restores it.

    Args:
        seed: of the UMAP steps. All arms of a frame share their random numbers, so equal embeddings give equal maps.
        previous: the newest stored frame of the run, later the last one made; None before the first.
    """

    def __init__(self, *, seed: int = 0, previous: Frame | None = None) -> None:
        self._seed = seed
        self.previous = previous

    def next(self, snapshot: Snapshot, method: str = "umap") -> Frame:
        """The frame of ``snapshot``.

        Args:
            snapshot: embeddings ``[P, D]`` of each arm; row i is the same image in all arms and snapshots.
            method: ``umap``, or ``pca`` for a map at once; the frame says which it is.
        """
        past = self._past(snapshot)
        maps: list[_Map] = []
        for i, embeddings in enumerate(snapshot.embeddings):
            twin = _twin(snapshot.embeddings, past, i)
            anchor = maps[0].xy if maps else None
            seed = self._seed * 1_000_003 + snapshot.k
            maps.append(_map(embeddings, past[i], anchor, method, seed) if twin is None else maps[twin])
        limit = grow(self._limit(past), tuple(each.xy for each in maps))
        arms = tuple(_arm(each, before, limit) for each, before in zip(maps, past, strict=True))
        frame = Frame(k=snapshot.k, step=snapshot.step, seconds=snapshot.seconds, limit=limit, arms=arms)
        self.previous = frame
        return frame

    def between(self, before: Frame, after: Frame, snapshot: Snapshot, method: str = "umap") -> Frame:
        """The frame of a ``snapshot`` that was passed over, so that it lies on the way from one frame to a later one.

        It starts from where the points were by then if they moved evenly, and keeps to the later frame's axis box.
        """
        limit = max(before.limit, after.limit)
        mixed = _mixed(before, after, (snapshot.k - before.k) / (after.k - before.k), limit)
        frame = Layouter(seed=self._seed, previous=mixed).next(snapshot, method)
        arms = []
        for arm, old in zip(frame.arms, before.arms, strict=True):
            xy, past = unpack(arm.xy, frame.limit), unpack(old.xy, before.limit)
            moved = drift(xy, past) if len(xy) == len(past) else 0.0
            arms.append(dataclasses.replace(arm, xy=pack(xy, limit), drift=moved))
        return dataclasses.replace(frame, limit=limit, arms=tuple(arms))

    def _past(self, snapshot: Snapshot) -> list[_Map | None]:
        """The maps to start from, as they were stored, so that a restored process continues exactly like this one."""
        frame = self.previous
        shape = [len(embeddings) for embeddings in snapshot.embeddings]
        if frame is None or [len(arm.xy) for arm in frame.arms] != shape:
            return [None] * len(shape)
        return [_Map(xy=unpack(arm.xy, frame.limit), ids=arm.neighbours, method=arm.method) for arm in frame.arms]

    def _limit(self, past: Sequence[_Map | None]) -> float:
        return self.previous.limit if self.previous is not None and past[0] is not None else SMALLEST_LIMIT


def _mixed(before: Frame, after: Frame, share: float, limit: float) -> Frame:
    """``before`` with its points moved by ``share`` of the way to ``after``, where both are of the same kind."""
    arms = []
    for old, new in zip(before.arms, after.arms, strict=True):
        xy = unpack(old.xy, before.limit)
        if old.method == new.method and old.xy.shape == new.xy.shape:
            xy = xy + share * (unpack(new.xy, after.limit) - xy)
        arms.append(dataclasses.replace(old, xy=pack(xy, limit)))
    return dataclasses.replace(before, limit=limit, arms=tuple(arms))


def _map(embeddings: np.ndarray, before: _Map | None, anchor: np.ndarray | None, method: str, seed: int) -> _Map:
    """One arm's next map, aligned to its previous one, or at the start to the first arm's map."""
    near = nearest(embeddings, STORED_NEIGHBOURS)
    if method == "pca" or len(embeddings) < FEWEST_POINTS:
        target = anchor if before is None else before.xy
        xy = pca(embeddings)
        return _Map(xy=xy if target is None else procrustes(xy, target), ids=near.ids, method="pca")
    if before is None:
        start = pca(embeddings) if anchor is None else procrustes(pca(embeddings), anchor)
        target = start if anchor is None else anchor
    else:
        start = target = before.xy
    effort = _effort(near, before)
    xy = step(near, start, epochs=effort.epochs, alpha=effort.alpha, seed=seed)
    return _Map(xy=procrustes(xy, target), ids=near.ids, method="umap")


def _effort(near: Neighbours, before: _Map | None) -> Effort:
    if before is None or before.method != "umap":
        fewest, most = FIRST_EPOCHS
        return Effort(epochs=min(max(FIRST_EPOCH_POINTS // len(near.ids), fewest), most), alpha=FIRST_ALPHA)
    replaced = 1 - overlap(near.ids[:, :NEAREST], before.ids[:, :NEAREST])
    if replaced > TURNED_ABOVE:
        return TURNED
    return CALM if replaced < CALM_BELOW else MOVING


def _twin(embeddings: Sequence[np.ndarray], past: Sequence[_Map | None], i: int) -> int | None:
    """An earlier arm with the same embeddings and the same previous map, so that arm ``i`` shares its next map."""
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
        quality=kept_neighbours(shown, each.ids),
        drift=0.0 if before is None else drift(shown, before.xy),
        method=each.method,
    )
