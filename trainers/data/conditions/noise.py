"""Label noise: a share of the training images gets the label of another class, at all levels.

Protocol (ours): the wrong class is drawn uniformly among the classes that the kind of noise allows and that are trained
on, whatever their sizes, once for all epochs. Symmetric and class-dependent noise are the common kinds in work on
learning with noisy labels; within and across parents divides the first by what a mistake in a hierarchy costs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from trainers.config import Conditions
from trainers.data.base import LoadedData
from trainers.data.conditions.draws import NOISE, stream
from trainers.errors import DataError
from trainers.registry import Descriptor


@dataclass(frozen=True, kw_only=True)
class NoiseKind(Descriptor):
    """A rule for the classes that the wrong label of an image may be of.

    Attributes:
        siblings: only classes with the same parent, at the next level.
        strangers: only classes with another parent.
        lacks: why an image cannot have such a label, as a plural: ``have no sibling``.
    """

    siblings: bool = False
    strangers: bool = False
    lacks: str


NOISE_KINDS: Mapping[str, NoiseKind] = {
    kind.name: kind
    for kind in (
        NoiseKind(
            name="symmetric",
            title="Of any other class",
            sentence="Every other class of the training images is as likely.",
            lacks="are of the only class",
        ),
        NoiseKind(
            name="within",
            title="Of another class of the same parent",
            sentence="Every other class of the same parent, at the next level, is as likely.",
            siblings=True,
            lacks="are of a class without a sibling",
        ),
        NoiseKind(
            name="across",
            title="Of a class of another parent",
            sentence="Every class of the other parents, at the next level, is as likely.",
            strangers=True,
            lacks="have no class of another parent beside them",
        ),
    )
}


def wrong_labels(
    labels: np.ndarray, share: float, kind: NoiseKind, turn: np.ndarray, draw: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels with noise.

    The images with the lowest ``turn`` are changed, and ``draw`` says to which class, so that images that are wrong
    under little noise are wrong in the same way under more.

    Args:
        labels: int64 [N, L], finest first, a tree.
        turn, draw: float [N], 0 to 1, random.

    Returns:
        int64 [N, L], and which images were changed, bool [N]: round(share * N) of them.

    Raises:
        DataError: so many images cannot get such a label; with what to change.
    """
    if labels.shape[1] < 2 and (kind.siblings or kind.strangers):
        raise DataError(
            f"Noise of the kind {kind.name} needs labels of two levels; these images have one. Choose the kind "
            "symmetric, or name the columns of two levels."
        )
    tree = np.unique(labels, axis=0)
    parents = tree[:, 1] if labels.shape[1] > 1 else np.zeros(len(tree), dtype=np.int64)
    tree = tree[np.argsort(parents, kind="stable")]  # siblings side by side
    parents = np.sort(parents)
    index = np.searchsorted(tree[:, 0], labels[:, 0], sorter=(finest := np.argsort(tree[:, 0])))
    index = finest[index]
    family = np.searchsorted(parents, parents[index], "left"), np.searchsorted(parents, parents[index], "right")
    first, end = family if kind.siblings else (np.zeros_like(index), np.full_like(index, len(tree)))
    banned, after = family if kind.strangers else (index, index + 1)
    options = (end - first) - (after - banned)
    wanted, possible = round(share * len(labels)), options > 0
    if wanted > possible.sum():
        raise DataError(_too_few(kind, wanted, possible))
    chosen = np.flatnonzero(possible)
    chosen = chosen[np.argsort(turn[chosen], kind="stable")][:wanted]
    target = first[chosen] + (draw[chosen] * options[chosen]).astype(np.int64)
    target += np.where(target >= banned[chosen], (after - banned)[chosen], 0)
    given, changed = labels.copy(), np.zeros(len(labels), dtype=bool)
    given[chosen] = tree[target]
    changed[chosen] = True
    return given, changed


def with_noise(data: LoadedData, conditions: Conditions, seed: int, whole: int, rows: np.ndarray) -> LoadedData:
    """Put wrong labels on a share of a dataset's training images.

    Args:
        whole: training images of the dataset before any condition.
        rows: int64 [N], those of ``data`` among them.

    Raises:
        DataError: as :func:`wrong_labels`.
    """
    if not conditions.label_noise:
        return data
    kind, draws = NOISE_KINDS[conditions.noise_kind], stream(seed, NOISE)
    turn, draw = draws.random(whole)[rows], draws.random(whole)[rows]
    given, changed = wrong_labels(data.train.labels.numpy(), conditions.label_noise, kind, turn, draw)
    note = (
        f"Label noise: {int(changed.sum())} of {len(changed)} training images have the label of another class "
        f"({kind.name}), chosen by seed {seed}; test labels are as they were."
    )
    train = dataclasses.replace(data.train, labels=torch.from_numpy(given), true_labels=data.train.labels)
    return dataclasses.replace(data, train=train, notes=(*data.notes, note))


def _too_few(kind: NoiseKind, wanted: int, possible: np.ndarray) -> str:
    images, most = len(possible), int(possible.sum())
    cure = f"Choose a share of at most {int(100 * most / images)} %" if most else "Choose no label noise"
    other = "" if kind.name == "symmetric" else ", or the kind symmetric"
    return (
        f"Label noise on {wanted} of {images} training images was asked for; {images - most} of them {kind.lacks}. "
        f"{cure}{other}."
    )
