"""The contextual loss: how far the neighbourhoods of two images overlap should equal whether their labels do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import equal, finest, host
from trainers.errors import UserError
from trainers.losses._batch import Batch, active_mean
from trainers.losses._symbols import SAME
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter

if TYPE_CHECKING:
    from trainers.losses import _contextual_lists

TITLE = "Contextual"


@dataclass(frozen=True, kw_only=True)
class ContextualParameters:
    k: int | None = parameter(
        None,
        low=2,
        high=256,
        help="Size of a neighbourhood, the image itself counted; empty: the images per class, as it must be.",
    )
    eps: float = parameter(0.05, low=0.0, high=1.0, help="Slack of the neighbourhood's radius, squared distance.")
    alpha: float = parameter(
        10.0,
        low=0.0,
        high=1000.0,
        searched=False,
        help="Slope given to the step function in the backward pass; tuning it is redundant with the learning rate.",
    )
    pos_margin: float = parameter(0.75, low=-1.0, high=1.0, help="Images of a class are pulled up to this cosine.")
    neg_margin: float = parameter(0.6, low=-1.0, high=1.0, help="Images of other classes are pushed down to this.")
    similarity_target: float = parameter(0.25, low=-1.0, high=1.0, help="Where the mean cosine of a batch is held.")
    lam: float = parameter(0.4, low=0.0, high=1.0, help="Weight of the contextual term against the contrastive one.")
    gamma: float = parameter(0.1, low=0.0, high=10.0, help="Weight of the regulariser of the mean cosine.")
    total: str = parameter(
        "paper",
        choices=("paper", "official_256", "official_224"),
        searched=False,
        help="How the terms add up: as in the paper, or as in the two training codes published with it.",
    )


class StraightThroughStep(torch.autograd.Function):
    """1 where z >= 0, else 0; backward: the constant ``alpha`` everywhere (straight-through)."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, alpha: float) -> Tensor:
        ctx.alpha = alpha
        return (z >= 0).to(z.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad * ctx.alpha, None


def contextual_similarity(similarity: Tensor, k: int, eps: float, alpha: float) -> Tensor:
    """Return the overlap of the neighbourhoods of each two images: w of the paper, symmetric, in [0, 1].

    Args:
        similarity: ``[n, n]`` cosines of a batch with itself, float32 or float64; n > k.
        k: neighbourhood size, the image itself counted; the expansion step uses k // 2.
        eps: slack of the radius, in squared Euclidean distance.
        alpha: backward slope of the step function.

    Returns:
        ``[n, n]``. Gradient through every step; the radii and the neighbourhoods' sizes are constants.
    """
    n = len(similarity)
    distance = (2 - 2 * similarity).clamp(min=0)
    # Radii from the very values they are compared with: recomputed ones could lose the k-th neighbour to rounding.
    nearest = distance.detach().topk(k, largest=False, sorted=True).values
    near = StraightThroughStep.apply(nearest[:, k - 1 :] + eps - distance, alpha)
    close = StraightThroughStep.apply(nearest[:, k // 2 - 1 : k // 2] + eps - distance, alpha)
    sizes = near.sum(1)
    shared = near @ near.T
    # |neither| = n - |A| - |B| + |A and B| saves the product of the complements; its gradient is the same.
    neither = n - sizes[:, None] - sizes[None] + shared
    count = sizes.detach()[:, None]
    rest = (n - count).clamp(min=1)  # eps can make every image a neighbour; ``neither`` is then 0
    overlap = near / 2 * (shared / count + neither / rest)
    mutual = close * close.T
    expanded: Tensor = mutual @ overlap / mutual.sum(1, keepdim=True)
    return (expanded + expanded.T) / 2


def contextual_term(similarity: Tensor, same: Tensor, k: int, eps: float, alpha: float) -> Tensor:
    """Return (1/n^2) sum over i != j of (y_ij - w_ij)^2, Eq. 5: how far the overlaps are from the labels. A scalar.

    Args:
        similarity, k, eps, alpha: as for :func:`contextual_similarity`.
        same: bool ``[n, n]``, whether two images have one label: y.
    """
    miss = same.to(similarity.dtype) - contextual_similarity(similarity, k, eps, alpha)
    return miss.masked_fill(torch.eye(len(same), dtype=torch.bool, device=same.device), 0.0).square().mean()


class Contextual(LossModule):
    """Three terms: contextual similarity against the labels, margin contrastive, mean cosine held at a target.

    Liao et al. 2023, Eq. 1-7. k is the number of images of each class in the batch (section 3, remarks): with k exactly
    that, more than two classes and eps = 0 the contextual term is zero if and only if every image ranks its class first
    (proposition 4.1). Where classes are not equal, k is what most images have: the median over images.
    """

    title = TITLE
    takes_gallery = False

    def unweighted(self, batch: Batch) -> dict[str, Tensor]:
        """Compute the terms without their weights: ``context``, ``contrast`` and ``regulariser``, each a scalar.

        Raises:
            UserError: the batch is not larger than a neighbourhood.
        """
        p = self.settings
        k = _images_per_class(batch) if p.k is None else p.k
        if len(batch.rows) <= k:
            raise UserError(
                f"{TITLE} needs more images in a batch than a neighbourhood holds, k = {k}; got {len(batch.rows)}. "
                f"Use more classes in a batch or a smaller k."
            )
        similarity, labels = batch.similarity, finest(batch.labels)
        neighbourhoods = listed(similarity, labels, k, p)
        context, contrast, mean = (
            neighbourhoods.terms(similarity) if neighbourhoods else whole(similarity, labels, k, p)
        )
        return {"context": context, "contrast": contrast, "regulariser": (mean - p.similarity_target).square()}

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Compute the terms with their weights."""
        p = self.settings
        context, contrast = {
            "paper": (p.lam, 1 - p.lam),
            "official_256": (p.lam, 1 - p.lam - p.gamma),
            "official_224": (1 - p.lam, p.lam),
        }[p.total]
        weights = {"context": context, "contrast": contrast, "regulariser": p.gamma}
        return {name: weights[name] * value for name, value in self.unweighted(batch).items()}


def listed(
    similarity: Tensor, labels: Tensor, k: int, parameters: ContextualParameters
) -> _contextual_lists.Neighbourhoods | None:
    """Return the neighbours of a batch as lists; None where whole matrices are quicker, on a GPU and in small or dense
    batches, and where numba cannot be used.

    Args:
        similarity, labels, k, parameters: as for :func:`whole`.
    """
    module = lists(similarity.dtype) if similarity.device.type == "cpu" else None
    if module is None:
        return None
    p, margins = parameters, (parameters.pos_margin, parameters.neg_margin)
    lists_of: Callable[..., _contextual_lists.Neighbourhoods] = module.neighbourhoods
    return lists_of(similarity, host(labels), k=k, eps=p.eps, alpha=p.alpha, margins=margins)


@lru_cache(maxsize=2)
def lists(dtype: torch.dtype) -> ModuleType | None:
    """Return the module for lists of neighbours, tried on three images; None where its compiler does not work."""
    try:
        from trainers.losses import _contextual_lists  # its compiler is slow to import

        _contextual_lists.survey(torch.eye(3, dtype=dtype).numpy(), np.arange(3), k=2, eps=0.0, margins=(0.0, 0.0))
    except Exception:  # whatever is wrong with a compiler must cost speed only
        return None
    return _contextual_lists


def whole(
    similarity: Tensor, labels: Tensor, k: int, parameters: ContextualParameters
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute contextual term, contrastive term and mean cosine by products of whole matrices.

    Args:
        similarity: ``[n, n]``.
        labels: int64 ``[n]``, on the CPU.
        k: size of a neighbourhood.
        parameters: the rest.
    """
    p, same = parameters, equal(labels, labels, similarity.device)
    other = ~torch.eye(len(same), dtype=torch.bool, device=same.device)
    pull = active_mean(p.pos_margin - similarity, same & other)
    return (
        contextual_term(similarity, same, k, p.eps, p.alpha),
        pull + active_mean(similarity - p.neg_margin, ~same),
        similarity.mean(),
    )


def _images_per_class(batch: Batch) -> int:
    """Return images of an image's class, itself counted: the median over the batch, and at least the smallest k."""
    sizes: list[int] = sorted((batch.counts + 1).tolist()) or [0]
    return max(2, sizes[(len(sizes) - 1) // 2])


def advice(parameters: ContextualParameters, images_per_class: int, classes_per_batch: int) -> str:
    """Return a sentence on why a run's batches do not suit k; empty if they do."""
    k = images_per_class if parameters.k is None else parameters.k
    if k == images_per_class and k >= 4 and k % 2 == 0 and classes_per_batch > 2:
        return ""
    return (
        f"{TITLE} measures the ranking only where k is the number of images per class, even and at least 4, and a "
        f"batch has three classes or more: k is {k}, with {images_per_class} images per class and "
        f"{classes_per_batch} classes. "
        "Leave k empty and choose 4, 6 or 8 images per class."
    )


DESCRIPTOR = LossDescriptor(
    name="contextual",
    title=TITLE,
    family="Contextual",
    paper="Supervised Metric Learning to Rank for Retrieval via Contextual Similarity Optimization, Liao et al., ICML",
    year=2023,
    url="https://arxiv.org/abs/2210.01908",
    equation=(
        r"\mathcal{L}=\lambda\,\frac{1}{n^2}\sum_{i\neq j}(y_{ij}-w_{ij})^2+(1-\lambda)\,\mathcal{L}_{\text{contrast}}"
        r"+\gamma\,(\bar{s}-\tilde{s})^2"
    ),
    symbols={"n": "number of images in the batch"}
    | SAME
    | {
        "w_{ij}": "contextual similarity of images i and j: from 0 to 1, how far their nearest neighbours agree",
        r"\mathcal{L}_{\text{contrast}}": "contrastive loss of the cosines (`pos_margin`, `neg_margin`)",
        r"\lambda": "weight of the contextual term (`lam`)",
        r"\bar{s}": "mean cosine of the batch",
        r"\tilde{s}": "the mean cosine that is asked for (`similarity_target`)",
        r"\gamma": "weight of the last term (`gamma`)",
    },
    sentence="Two images of a class should have the same nearest neighbours, not only be near each other.",
    unlike=(
        "Unlike Contrastive, it also compares which images are nearest to both images of a pair, and "
        "holds the mean cosine of a batch at a target."
    ),
    differs=(
        "The terms add up as in the paper's Eq. 6; the two published codes each weigh them otherwise (`total`). The "
        "contrastive term is a mean over the pairs still inside a hinge, as in both codes."
    ),
    advice=advice,
    parameters=ContextualParameters,
    module=Contextual,
    pair_bytes=160,
    order=300,
)
