"""The work that goes into a map, and how far its points move for no other reason than random numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from explorer.layout.align import procrustes
from explorer.layout.neighbours import MANY, Neighbours, overlap
from explorer.layout.quality import moves
from explorer.layout.umap_step import step
from trainers.metrics.catalogue.maps import NEAREST

STILL = 95
"""Percentile of the moves of a frozen embedding below which a move is drawn as stillness."""


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
# The last map is made better at leisure. A higher learning rate keeps no more neighbours and moves points further.
# Other runs wait meanwhile, so the refined map of very many points gets fewer epochs: seconds at 20,000 and 50,000.
REFINING_EPOCHS, REFINING_EPOCH_POINTS = (50, 200), 2_000_000
REFINING_ALPHA = 0.25
# The noise floor of many points is measured on patches of the map, whose inner points have all their neighbours beside
# them: single points among others that stand still would move half as far.
PATCHES, PATCH_POINTS = 16, 250


def following(ids: np.ndarray, before: np.ndarray | None) -> Effort:
    """Return the effort of the next map.

    Args:
        ids: int ``[P, K]``, the neighbours of each point, nearest first.
        before: those of the UMAP map that it follows; None: it is the first.
    """
    if before is None:
        fewest, most = FIRST_EPOCHS
        return Effort(epochs=min(max(FIRST_EPOCH_POINTS // len(ids), fewest), most), alpha=FIRST_ALPHA)
    replaced = 1 - overlap(ids[:, :NEAREST], before[:, :NEAREST])
    if replaced > TURNED_ABOVE:
        return TURNED
    return CALM if replaced < CALM_BELOW else MOVING


def refining(points: int) -> Effort:
    """Return the effort of a refined map."""
    fewest, most = REFINING_EPOCHS
    return Effort(epochs=min(max(REFINING_EPOCH_POINTS // points, fewest), most), alpha=REFINING_ALPHA)


def noise_floor(near: Neighbours, xy: np.ndarray, effort: Effort, seed: int) -> float:
    """Measure how far points move when the same embedding is laid out once more with other random numbers.

    Args:
        near: of the embedding that ``xy`` shows.
        xy: float32 ``[P, 2]``, the map.
        effort: of the frames that the floor is for.
        seed: of the frame that would come next.

    Returns:
        the :data:`STILL` th percentile of the moves, in standard deviations of the map.
    """
    chosen = _patches(xy, seed) if len(xy) > MANY else None
    again = step(near, xy, epochs=effort.epochs, alpha=effort.alpha, seed=seed, points=chosen)
    if chosen is None:
        return float(np.percentile(moves(procrustes(again, xy), xy), STILL))
    return float(np.percentile(moves(again, xy)[chosen], STILL))


def _patches(xy: np.ndarray, seed: int) -> np.ndarray:
    """Mark the points in :data:`PATCHES` patches of the map around points drawn at random, bool ``[P]``."""
    centres = np.random.default_rng(seed).choice(len(xy), PATCHES, replace=False)
    marked = np.zeros(len(xy), bool)
    marked[cKDTree(xy).query(xy[centres], k=PATCH_POINTS)[1]] = True
    return marked
