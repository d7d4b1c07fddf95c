"""The triplet loss summed over the levels of the label tree, the baseline of hierarchical retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

from torch import Tensor

from trainers.losses import _triplets
from trainers.losses._levels import DIFFERS, LevelParameters, LevelSum
from trainers.losses._pairings import Pairings, PairLoss
from trainers.losses._symbols import HINGE
from trainers.losses.base import LossDescriptor
from trainers.parameters import parameter

_COSTS: Mapping[str, Callable[[Pairings, float, bool], Tensor]] = MappingProxyType(
    {
        "all": _triplets.every,
        "semihard": partial(_triplets.every, semihard=True),
        "hard": _triplets.hardest,
    }
)


@dataclass(frozen=True, kw_only=True)
class LevelTripletParameters(LevelParameters):
    margin: float = parameter(0.05, low=0.0, high=2.0, help="A positive should be closer than a negative by this much.")
    triplets: str = parameter("all", choices=tuple(_COSTS), help="Which triplets of the batch count.")
    distance: str = parameter(
        "cosine", choices=("cosine", "euclidean"), help="What is compared; cosine: one less the cosine."
    )


@dataclass(frozen=True, kw_only=True)
class CosinePairings(Pairings):
    """Pairs whose distance is one less their cosine."""

    @cached_property
    def distance(self) -> Tensor:
        """``[Q, G]``."""
        return 1 - self.rows @ self.others.T


class LevelTriplet(PairLoss):
    """The mean of the positive hinges of one level's triplets."""

    title = "Triplet over levels"

    def __init__(self, parameters: LevelTripletParameters, *, finest: bool) -> None:
        super().__init__(parameters)
        # a coarse level at which all images of the batch agree has no triplet and adds nothing
        self.needs_positives = self.needs_negatives = finest

    def parts(self, pairs: Pairings) -> dict[str, Tensor]:
        """See :class:`PairLoss`."""
        if self.settings.distance == "cosine":
            known = {name: getattr(pairs, name) for name in Pairings.__dataclass_fields__}
            pairs = CosinePairings(**known)
        return {"pairs": _COSTS[self.settings.triplets](pairs, self.settings.margin, False)}


def level_triplet(parameters: LevelTripletParameters, **_classes: Any) -> LevelSum:
    """Build sum_l of the triplet loss of level l."""
    return LevelSum(parameters, [LevelTriplet(parameters, finest=finest) for finest in (True, False)])


DESCRIPTOR = LossDescriptor(
    name="triplet_levels",
    title="Triplet over levels",
    family="Pair and triplet",
    paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV",
    year=2022,
    url="https://arxiv.org/abs/2207.04873",
    equation=(
        r"\mathcal{L}=\sum_l\operatorname{mean}_{(a,p,n)\in\mathcal T_l:\,>0}\,[\,s_{an}-s_{ap}+m\,]_+,\quad"
        r"\mathcal T_l=\{y^{(l)}_a=y^{(l)}_p\neq y^{(l)}_n\}"
    ),
    symbols=HINGE
    | {
        "y^{(l)}_a": "class of image a at level l",
        r"\mathcal T_l": "triplets of level l: anchor a, an image p of its class, an image n of another",
        "s_{ap}": "cosine of images a and p",
        "s_{an}": "cosine of images a and n",
        "m": "margin (`margin`)",
    },
    sentence="The triplet loss at every level of the label tree, added up: the baseline of hierarchical retrieval.",
    unlike=("Unlike Triplet, it adds up the loss of every level of the label tree, and by default compares cosines."),
    differs=f"{DIFFERS} Margin, cosines and all triplets are those of the published configurations.",
    parameters=LevelTripletParameters,
    module=level_triplet,
    hierarchy=True,
    gallery=True,
    lists_triplets=True,
    order=506,
)
