"""The recall at k surrogate of Patel et al., with SiMix as an option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import equal, finest, host, send, tensor
from trainers.errors import ParameterError
from trainers.losses._batch import PairBatch, SimilarityLoss
from trainers.losses._inputs import count_positives
from trainers.losses._rank_measures import Recall
from trainers.losses._smooth_rank import SmoothRank
from trainers.losses._symbols import QUERY
from trainers.losses.base import LossDescriptor
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class PatelRecallParameters:
    """Parameters of RS@k."""

    tau_rank: float = parameter(
        0.01, low=0.001, high=1.0, log=True, help="Width of the sigmoid that soft-counts ranks."
    )
    k: tuple[int, ...] = parameter((1, 2, 4, 8, 16), low=1, high=10_000, help="The cut-offs k, averaged.")
    tau_k: tuple[float, ...] = parameter(
        (1.0,), low=0.05, high=20.0, help="Softness of each cut-off, in ranks; one value serves all."
    )
    form: str = parameter(
        "code",
        choices=("code", "paper"),
        help="code keeps the query in its own list, which costs each positive a rank, and cuts k and the sums; "
        "paper does neither.",
    )
    simix: bool = parameter(False, help="Add a random mixture of each image with another of its class to the batch.")


class PatelRecall(SimilarityLoss):
    """Patel, Tolias, Matas, "Recall@k Surrogate Loss with Large Batches and Similarity Mixup", CVPR 2022, Eq. 6-7.

    As trained by the authors: a query is no positive of itself but stays among the items that push positives down;
    each k is cut at the gallery's size and each sum at k. As printed: the query is not in its list at all, and nothing
    is cut. Any class sizes; a query without positives is left out.
    """

    leaves_self_out = True

    def __init__(self, parameters: PatelRecallParameters, **_classes: Any) -> None:
        super().__init__(parameters)
        temps = parameters.tau_k if len(parameters.tau_k) > 1 else parameters.tau_k * len(parameters.k)
        if len(temps) != len(parameters.k):
            raise ParameterError(
                f"RS@k needs one tau_k for all or one for each of the {len(parameters.k)} values of k; "
                f"got {len(parameters.tau_k)}."
            )
        trained = parameters.form == "code"
        self.ranker = SmoothRank(
            tau=parameters.tau_rank,
            measure=Recall(at_k=parameters.k, temps=temps, clip=trained),
            without_self=True,
            self_in_rank=trained,
        )

    def parts(self, batch: PairBatch) -> dict[str, Tensor]:
        """Return ``recall``: see the class."""
        return {"recall": self.ranker.loss(mixed(batch) if self.settings.simix and batch.alone else batch)}


def mixed(batch: PairBatch) -> PairBatch:
    """Add one virtual item per item of the batch that has a classmate: a x_i + (1 - a) x_j, a uniform in [0, 1].

    Virtual items are queries and gallery items like the others. They are not renormalised, so that every similarity
    with them is the same mixture of similarities, as SiMix asks. Draws from torch's global generator.
    """
    known, rows = host(batch.labels), batch.queries
    able = np.flatnonzero(count_positives(finest(batch.labels)) > 0)
    if len(able) == 0:
        return batch
    taken = send(able, rows.device)
    same = equal(batch.labels, batch.labels, rows.device).fill_diagonal_(False)[taken]
    # One classmate each, as torch.multinomial draws it, which waits for the device to look at the weights first.
    mate = (same.float() / torch.empty(same.shape, device=rows.device).exponential_()).argmax(1)
    share = torch.rand(len(able), 1, dtype=rows.dtype, device=rows.device)
    rows = torch.cat([rows, share * rows[taken] + (1.0 - share) * rows[mate]])
    labels = tensor(np.concatenate([known, known[able]]))
    itself = tensor(np.arange(len(labels)))
    return PairBatch(queries=rows, similarity=rows @ rows.T, labels=labels, gallery_labels=labels, itself=itself)


DESCRIPTOR = LossDescriptor(
    name="recall_at_k_patel",
    title="RS@k",
    family="Ranking",
    paper="Recall@k Surrogate Loss with Large Batches and Similarity Mixup, Patel et al., CVPR",
    year=2022,
    url="https://arxiv.org/abs/2108.11179",
    equation=(
        r"\mathcal{L}=\frac{1}{B}\sum_q 1-\frac{1}{|K|}\sum_{k\in K}\frac{1}{\min(k,|P_q|)}\sum_{p\in P_q}"
        r"\sigma_{\tau_k}\Big(k-1-\sum_{z\neq p}\sigma_\tau(s_z-s_p)\Big)"
    ),
    symbols=QUERY
    | {
        r"k\in K": "the cut-offs (`k`)",
        "P_q": "images of the class of the query q, itself left out",
        r"\tau_k": "softness of the cut-off k, in ranks (`tau_k`)",
        r"\sigma_\tau": "sigmoid of width τ (`tau_rank`): from 0 to 1 as image z passes image p",
        r"s_z,\,s_p": "cosines of the query with images z and p",
    },
    sentence="Counts, softly enough to train on, how many right images reach the first k results, for several k.",
    unlike=(
        "Unlike Smooth-R@k, it does not count the query among its own positives, but leaves it in the "
        "list, where it costs each of them a rank."
    ),
    differs=(
        "The query stays in its own list, so that even a perfect ranking starts at rank 2, and k and the sums are cut, "
        "as in the published code; the paper does neither (`form=paper`)."
    ),
    follows_code=True,
    parameters=PatelRecallParameters,
    module=PatelRecall,
    gallery=True,
    order=103,
)
