"""A few gradient steps of UMAP from a given layout.

``umap.UMAP(init=layout)`` stretches each axis of ``layout`` to 0..10 by itself before it starts, so that successive
maps would be squeezed against each other. Here the graph and the optimiser of the same library are called directly.
McInnes, Healy, Melville 2018, arXiv:1802.03426, sections 3.1 and 3.2.
"""

from __future__ import annotations

import logging
import warnings

import numpy as np

from explorer.layout import local_join
from explorer.layout.neighbours import MANY, Neighbours, map_neighbours

_log = logging.getLogger(__name__)

NEIGHBOURS = 15
# the curve 1 / (1 + a d^2b) fitted to min_dist 0.1 and spread 1, the library's defaults
CURVE = (1.5769434, 0.8950609)
# how many points each point is pushed away from when it is pulled towards one, and how strongly. Fewer of many points,
# by as much more: the mean push is the library's, the step takes half the time, and 0.003 fewer neighbours are kept
PUSHES = (5.0, 1.0)
PUSHES_OF_MANY = (2.0, 2.5)


def step(
    neighbours: Neighbours,
    start: np.ndarray,
    *,
    epochs: int,
    alpha: float,
    seed: int,
    points: np.ndarray | None = None,
) -> np.ndarray:
    """Improve ``start`` for ``epochs``, the learning rate falling from ``alpha`` to 0. Deterministic, one thread.

    Args:
        neighbours: at least one for every point; the first 14 are used (15 with the point itself).
        start: float32 ``[P, 2]``; not changed.
        points: bool ``[P]``, the points that matter: edges without any of them are left out; None: all points.

    Returns:
        float32 ``[P, 2]``, neither scaled nor aligned.
    """
    from umap.layouts import optimize_layout_euclidean

    edges = _edges(neighbours, epochs)
    if points is not None:
        used = points[edges[0]] | points[edges[1]]
        edges = edges[0][used], edges[1][used], edges[2][used]
    pushes, strength = PUSHES if len(start) <= MANY else PUSHES_OF_MANY
    layout = _apart(start, seed)
    state = np.random.default_rng(seed).integers(-(2**31), 2**31 - 1, 3, dtype=np.int64)
    return optimize_layout_euclidean(
        layout,
        layout,
        *edges[:2],
        epochs,
        len(layout),
        edges[2],
        *CURVE,
        state,
        gamma=strength,
        negative_sample_rate=pushes,
        initial_alpha=alpha,
        parallel=False,
        move_other=True,
    )


def warm_up() -> None:
    """Import the library and compile what :func:`step` needs, which takes seconds; compiled code is kept on disk."""
    with warnings.catch_warnings():
        # umap announces at import that it found no TensorFlow, which it needs for one class that is not used here
        warnings.filterwarnings("ignore", message="Tensorflow not installed", category=ImportWarning)
        import umap
    from umap import layouts, umap_

    compiled = (
        umap_.smooth_knn_dist,
        umap_.compute_membership_strengths,
        layouts._get_optimize_layout_euclidean_single_epoch_fn(False),
    )
    for function in compiled:
        try:
            function.enable_caching()
        except (AttributeError, RuntimeError):
            # no place to keep it: it is compiled again by the next process
            _log.info("umap %s: compiled code cannot be kept on disk", umap.__version__)
    points = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    step(map_neighbours(points, 20), points, epochs=2, alpha=0.1, seed=0)
    local_join.warm_up()


def _edges(neighbours: Neighbours, epochs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return heads, tails and the number of epochs between two uses of each edge of the fuzzy graph."""
    from umap.umap_ import fuzzy_simplicial_set

    k = min(NEIGHBOURS - 1, neighbours.ids.shape[1])
    count = len(neighbours.ids)
    ids = np.concatenate([np.arange(count)[:, None], neighbours.ids[:, :k]], axis=1)
    distances = np.zeros((count, k + 1), np.float32)
    distances[:, 1:] = np.maximum(1 - neighbours.similarities[:, :k], 0)
    graph, _, _ = fuzzy_simplicial_set(
        neighbours.ids, k + 1, random_state=None, metric="cosine", knn_indices=ids, knn_dists=distances
    )
    graph = graph.tocoo()
    # an edge is used once in (largest weight / its weight) epochs: the weakest would not be used at all
    used = graph.data >= graph.data.max() / epochs
    interval = graph.data.max() / graph.data[used].astype(np.float64)
    return graph.row[used], graph.col[used], interval


def _apart(start: np.ndarray, seed: int) -> np.ndarray:
    """Copy a layout so that no two points coincide: between coinciding points every gradient is zero."""
    layout = np.array(start, dtype=np.float32, order="C")
    if len(np.unique(layout, axis=0)) < len(layout):
        layout += np.random.default_rng(seed).normal(scale=1e-3, size=layout.shape).astype(np.float32)
    return layout
