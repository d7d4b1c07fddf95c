"""The geometry of embeddings: alignment of positive pairs, uniformity, effective rank, collapse of classes."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import send
from trainers.errors import UserError
from trainers.metrics.checks import check_labels, check_rows, read_checked, unit_rows

BLOCK = 2**22  # pairs at once
EPSILON = 1e-7  # RankMe, section 3.1, for float32 features


@torch.no_grad()
def alignment(first: Tensor, second: Tensor, *, alpha: float = 2.0) -> float:
    r"""Return the mean of ``||x - y||^alpha`` over positive pairs of unit rows; 0: the two views of an image are the
    same.

    Wang and Isola, "Understanding Contrastive Representation Learning through Alignment and Uniformity on the
    Hypersphere", ICML 2020, section 4.1.

    Args:
        first, second: ``[N, D]`` floating, raw or unit; row i of both is a pair.

    Raises:
        UserError: shapes do not fit, or values are not finite.
    """
    check_rows(first, "first views")
    check_rows(second, "second views")
    if first.shape != second.shape:
        raise UserError(
            f"Alignment compares two views of the same images; got {list(first.shape)} and {list(second.shape)}."
        )
    distance = (unit_rows(first) - unit_rows(second)).norm(dim=1)
    return float(read_checked(distance.pow(alpha).mean(), first=first, second=second))


@torch.no_grad()
def uniformity(rows: Tensor, *, t: float = 2.0) -> float:
    r"""Log of the mean of ``exp(-t ||x - y||^2)`` over all pairs of different rows, unit; lower: more evenly spread.

    Wang and Isola, ICML 2020, section 4.1. It is 0 where all rows are the same, and never below -4t.

    Args:
        rows: ``[N, D]`` floating, raw or unit, two rows or more.

    Raises:
        UserError: there is no pair, or values are not finite.
    """
    check_rows(rows, "embeddings", least=2)
    unit = unit_rows(rows)
    parts, step = [], max(1, BLOCK // len(unit))
    for first in range(0, len(unit), step):
        some = unit[first : first + step]
        potential = (some @ unit.T - 1).clamp_(max=0).mul_(2 * t)  # -t times the squared distance
        potential.diagonal(offset=first).fill_(-math.inf)
        parts.append(potential.flatten().logsumexp(0))
    mean = torch.stack(parts).logsumexp(0) - math.log(len(unit)) - math.log(len(unit) - 1)
    return float(read_checked(mean, embeddings=rows))


@torch.no_grad()
def mean_cosine(rows: Tensor) -> Tensor:
    r"""Return the mean cosine between different rows, ``(|sum_i z_i|^2 - N) / (N (N - 1))`` of unit rows z.

    1 where all rows point the same way, 0 where they point everywhere alike, never below ``-1 / (N - 1)``.

    Args:
        rows: ``[N, D]`` floating, raw or unit, N two or more, no row of zeros; not checked, so that a step of training
            need not wait.

    Returns:
        a scalar on the device of the rows; NaN where they are not finite.
    """
    count = len(rows)
    return (unit_rows(rows).sum(0).square().sum() - count) / (count * (count - 1))


@torch.no_grad()
def effective_rank(rows: Tensor) -> float:
    r"""Return RankMe: ``exp(-sum_k p_k log p_k)``, ``p_k = s_k / sum_j s_j + 1e-7``, s the singular values of the rows.

    Garrido et al., "RankMe: Assessing the Downstream Performance of Pretrained Self-Supervised Representations by Their
    Rank", ICML 2023, equation 1. The rows are used as they are given, neither centred nor normalised.

    Args:
        rows: ``[N, D]`` floating.

    Returns:
        From 1 to min(N, D). A rank below min(N, D) alone is no collapse: embeddings of C tight classes have a rank of
        about C.

    Raises:
        UserError: there is no row, or values are not finite.
    """
    check_rows(rows, "embeddings")
    finite = torch.nan_to_num(rows.double())  # what is not finite on a GPU is refused when the result is read
    values = torch.linalg.svdvals(finite)
    shares = values / values.sum().clamp(min=torch.finfo(values.dtype).tiny) + EPSILON
    rank = (-(shares * shares.log()).sum()).exp()
    value = float(read_checked(rank, embeddings=rows))
    return min(max(value, 1.0), float(min(rows.shape)))  # the epsilon moves it beyond either end by up to 1e-5


@torch.no_grad()
def class_collapse(rows: Tensor, labels: Tensor) -> float:
    r"""Return variance within classes over variance between them, ``tr(S_W) / tr(S_B)``; 0: each class is one point.

    ``S_W = (1/N) sum_i (x_i - m_c(i)) (x_i - m_c(i))^T`` and ``S_B = sum_c (N_c/N) (m_c - m) (m_c - m)^T``, m_c the
    mean of the N_c rows of class c and m that of all N rows. Papyan, Han and Donoho, "Prevalence of Neural Collapse
    during the Terminal Phase of Deep Learning Training", PNAS 2020, measure ``tr(S_W pinv(S_B)) / C`` (NC1) for classes
    of equal size; this ratio of traces needs no inverse and is the same up to the directions' weights.

    Args:
        rows: ``[N, D]`` floating, used as they are.
        labels: ``[N]`` or ``[N, L]``, of which the finest are used.

    Returns:
        The ratio; infinite where all class means are the same, NaN for one class or where no two rows differ.

    Raises:
        UserError: shapes do not fit, or values are not finite.
    """
    check_rows(rows, "embeddings")
    numbers = np.unique(check_labels(rows, labels, "embeddings"), return_inverse=True)[1]
    sizes = np.bincount(numbers)
    if len(sizes) < 2:
        return math.nan
    class_of, count = send(numbers, rows.device), send(sizes, rows.device).double()
    values = rows.double() - rows.double().mean(0)
    means = values.new_zeros(len(sizes), values.shape[1]).index_add_(0, class_of, values) / count[:, None]
    within = (values - means[class_of]).square().sum(1).mean()
    between = (means.square().sum(1) * count).sum() / len(values)
    return float(read_checked(within / between, embeddings=rows))
