"""The contrastive loss of cross-batch memory."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from trainers.losses._pairings import Pairings, PairLoss
from trainers.losses._symbols import BATCH, COSINE, SAME
from trainers.losses.base import LossDescriptor
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class XBMContrastiveParameters:
    margin: float = parameter(0.5, low=-1.0, high=1.0, help="Cosine above which images of other classes are penalised.")
    positive_cutoff: float = parameter(
        0.99999,
        low=0.0,
        high=1.0,
        searched=False,
        help="Cosine from which an image of the class counts as the query itself.",
    )
    negatives: str = parameter(
        "similarity",
        choices=("similarity", "hinge"),
        help="What a negative above the margin costs: its cosine s, as in the code, or s - margin, of equal slope.",
    )


class XBMContrastive(PairLoss):
    """Per query: sum of 1 - s over positives below the cutoff, plus sum of s over negatives above the margin.

    The cutoff is the published way to drop the query's own copy from a memory that holds the current batch; where it is
    known which row that is, it is dropped whatever its cosine.
    """

    needs_positives = False

    def parts(self, pairs: Pairings) -> dict[str, Tensor]:
        """Return ``positives`` and ``negatives``."""
        similarity, given = pairs.rows @ pairs.others.T, self.settings
        pull = pairs.positive & (similarity < given.positive_cutoff)
        push = pairs.negative & (similarity > given.margin)
        cost = similarity if given.negatives == "similarity" else similarity - given.margin
        return {
            "positives": (1 - similarity).masked_fill(~pull, 0.0).sum() / len(pairs.rows),
            "negatives": cost.masked_fill(~push, 0.0).sum() / len(pairs.rows),
        }


DESCRIPTOR = LossDescriptor(
    name="xbm_contrastive",
    title="Contrastive (XBM)",
    family="Pair and triplet",
    paper="Cross-Batch Memory for Embedding Learning, Wang et al., CVPR",
    year=2020,
    url="https://arxiv.org/abs/1912.06798",
    equation=(
        r"\mathcal{L}=\frac1B\sum_i\Big[\sum_{j:\,y_{ij}=1,\,s_{ij}<1}(1-s_{ij})"
        r"+\sum_{j:\,y_{ij}=0,\,s_{ij}>m}s_{ij}\Big]"
    ),
    symbols=BATCH | SAME | COSINE | {"m": "cosine above which images of other classes cost (`margin`)"},
    sentence="Pulls images of a class together and pushes near images of other classes away, in a cross-batch memory.",
    unlike=(
        "Unlike Contrastive, it takes cosines, sums over an image's pairs instead of averaging, and "
        "keeps a memory of earlier batches."
    ),
    differs=(
        "A negative above the margin costs its cosine s, as in the published code, not s - margin as in a hinge "
        "(`negatives=hinge`); the gradient is the same."
    ),
    follows_code=True,
    parameters=XBMContrastiveParameters,
    module=XBMContrastive,
    gallery=True,
    own_queries=True,
    memory=1024,
    order=506,
)
