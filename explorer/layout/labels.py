"""Label trustworthiness and label continuity: whether classes are as separate on the map as they are in the space.

Jeon, Kuo, Aupetit, Ma, Seo: "Classes are not Clusters: Improving Label-based Evaluation of Dimensionality Reduction",
IEEE TVCG 30(1), 2024, arXiv:2308.00278. The separation of two classes is measured by the between-dataset
Calinski-Harabasz index of Jeon et al., "Measuring the Validity of Clustering Validation Datasets", arXiv:2503.01097
(first as arXiv:2209.10042), because it can be compared between spaces of different dimension and scale. The form is
that of the code published with the first paper, in which separation below chance is negative; here it is 0. Sampling
of pairs and points is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

SHUFFLES = 20
"""Random divisions of the points of two classes that say what separation chance gives."""
MOST_PAIRS = 300
"""Pairs of classes that are compared; of more a random sample, the same in every frame."""
MOST_POINTS = 40
"""Points of a class that are compared; of more a random sample, the same in every frame."""
FEWEST_POINTS = 3
"""Classes with fewer points on the map are left out: they have no extent that could be compared."""


@dataclass(frozen=True, kw_only=True)
class LabelMeasures:
    """The separation of classes on a map compared with that in the space.

    Attributes:
        trustworthiness: 0..1; 1: no two classes are closer together on the map than in the space.
        continuity: 0..1; 1: no two classes are further apart on the map than in the space.
    """

    trustworthiness: float
    continuity: float


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Points of two classes, and the divisions of them that are compared.

    Attributes:
        points: int64 ``[n]``.
        masks: bool ``[1 + SHUFFLES, n]``: which points are in the first group; row 0 is the division by class.
    """

    points: np.ndarray
    masks: np.ndarray


class LabelPairs:
    """The pairs of classes of one level, drawn once, so that frames and arms are compared on the same ones.

    Args:
        labels: int ``[P]``, class of every point.
        seed: of the samples and the shuffles.

    Attributes:
        pairs: the sample of points and the shuffles of each.
    """

    def __init__(self, labels: np.ndarray, seed: int = 0) -> None:
        chance = np.random.default_rng(seed)
        members = _members(labels, chance)
        pairs = list(combinations(range(len(members)), 2))
        if len(pairs) > MOST_PAIRS:
            pairs = [pairs[i] for i in np.sort(chance.choice(len(pairs), MOST_PAIRS, replace=False))]
        self.pairs = [_pair(members[i], members[j], chance) for i, j in pairs]

    def __len__(self) -> int:
        return len(self.pairs)

    def separations(self, vectors: np.ndarray) -> np.ndarray:
        """Measure how separate the two classes of each pair are, float64 ``[pairs]``, 0..1; 0 is chance.

        Args:
            vectors: float ``[P, D]``, finite.
        """
        return np.array([_separation(vectors[pair.points], pair.masks) for pair in self.pairs])

    def measure(self, space: np.ndarray, xy: np.ndarray) -> LabelMeasures | None:
        """Compare a map with the space; None with fewer than two classes.

        Args:
            space: float ``[P, D]``, unit rows, finite.
            xy: float ``[P, 2]``.
        """
        if not self.pairs:
            return None
        return compared(self.separations(space), self.separations(xy))


def compared(space: np.ndarray, xy: np.ndarray) -> LabelMeasures:
    """Compute both measures from the separation of each pair of classes in space and on the map, float ``[pairs]``."""
    return LabelMeasures(
        trustworthiness=float(1 - np.maximum(space - xy, 0).mean()),
        continuity=float(1 - np.maximum(xy - space, 0).mean()),
    )


def _members(labels: np.ndarray, chance: np.random.Generator) -> list[np.ndarray]:
    """Return the points of each class, or a sample of them; classes with too few points are left out."""
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return [
        group if len(group) <= MOST_POINTS else np.sort(chance.choice(group, MOST_POINTS, replace=False))
        for group in groups
        if len(group) >= FEWEST_POINTS
    ]


def _pair(first: np.ndarray, second: np.ndarray, chance: np.random.Generator) -> _Pair:
    division = np.arange(len(first) + len(second)) < len(first)
    shuffled = [chance.permutation(division) for _ in range(SHUFFLES)]
    return _Pair(points=np.concatenate([first, second]), masks=np.stack([division, *shuffled]))


def _separation(points: np.ndarray, masks: np.ndarray) -> float:
    """Compute the between-dataset Calinski-Harabasz index of two groups, adjusted for chance; 0 below chance."""
    logs = _log_indices(points.astype(np.float64), masks)
    if logs is None:
        return 0.0
    real, expected = _logistic(logs[0]), _logistic(_log_mean(logs[1:]))
    return 0.0 if expected >= 1 else float(np.clip((real - expected) / (1 - expected), 0, 1))


def _log_indices(points: np.ndarray, masks: np.ndarray) -> np.ndarray | None:
    """Return the logarithm of the index before scaling for every division, ``[divisions]``; None if all points
    coincide.

    ``(n - 2) sum_i |C_i| exp(d(c_i, c) / s) / sum_i sum_x exp(d(x, c_i) / s)``, ``s`` the standard deviation of the
    distances to the common centroid ``c``. The exponentials make it the same when all distances grow by the same
    amount, which is what more dimensions do to distances of random points. Distances come from inner products, so their
    cost does not grow with the divisions.
    """
    points = points - points.mean(axis=0)
    gram = points @ points.T
    squares = np.diag(gram)
    away = np.sqrt(squares)
    if away.max() == 0:
        return None
    scale = max(float(away.std()), 1e-6 * float(away.max()))  # 0 where both classes are points at equal distances
    total, within = [], []
    for group in (masks, ~masks):
        size = group.sum(axis=1, keepdims=True)
        towards = (group / size) @ gram  # inner product of every point with the group's centroid
        centre = (towards * group).sum(axis=1, keepdims=True) / size  # the centroid's with itself
        distance = np.sqrt(np.maximum(squares - 2 * towards + centre, 0))
        within.append(np.where(group, distance, 0))
        total.append(np.log(size[:, 0]) + np.sqrt(np.maximum(centre[:, 0], 0)) / scale)
    compactness = _log_sum((within[0] + within[1]) / scale)
    return np.log(len(points) - 2) + _log_sum(np.stack(total, axis=1)) - compactness


def _log_sum(values: np.ndarray) -> np.ndarray:
    most = values.max(axis=-1, keepdims=True)
    return most[..., 0] + np.log(np.exp(values - most).sum(axis=-1))


def _log_mean(values: np.ndarray) -> float:
    return float(_log_sum(values)) - float(np.log(len(values)))


def _logistic(value: float) -> float:
    return float(1 / (1 + np.exp(-min(max(value, -700.0), 700.0))))
