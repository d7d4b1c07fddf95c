"""Losses summed over the levels of the label tree: baselines of hierarchical retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from torch import Tensor, nn

from trainers.devices.host import columns, tensor
from trainers.errors import UserError
from trainers.losses._batch import Batch
from trainers.losses._symbols import HINGE, LEVEL_SOFTMAX
from trainers.losses.base import LossDescriptor, LossModule
from trainers.losses.pairs import every, hardest
from trainers.losses.proxies import PROXY_LEARNING_RATE, ProxyNCA, ProxyNCAParameters, ProxyNSM, ProxyNSMParameters
from trainers.parameters import parameter

DIFFERS = (
    "The levels are added up, as their papers' tables name them; the published configurations average them "
    "(`reduce_levels=mean`)."
)


@dataclass(frozen=True, kw_only=True)
class LevelParameters:
    """Parameters of how the levels' losses are put together."""

    reduce_levels: str = parameter("sum", choices=("sum", "mean"), help="How the levels' losses add up.")


class LevelSum(LossModule):
    """sum_l L_l, L_l the inner loss with the labels of level l (Ramzi et al. 2023, the hierarchical rows of Table V).

    Args:
        parameters: among them ``reduce_levels``.
        levels: the inner loss for each level, the finest first. Of a single one for several levels of labels the last
            one serves all further levels.
        classes: the labels that the inner losses know as 0, 1, 2 ..., int64 ascending, for each level; None: they take
            any labels.
    """

    def __init__(
        self, parameters: LevelParameters, levels: list[LossModule], classes: list[np.ndarray] | None = None
    ) -> None:
        super().__init__(parameters)
        self.levels = nn.ModuleList(levels)
        self._classes = classes

    @property
    def proxies(self) -> Tensor:
        """Those of the finest classes ``[C, D]``; the coarser levels have their own."""
        return self.levels[0].get_parameter("proxies")

    def terms(
        self,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        self_index: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return one part for each level, ``level_0`` (finest) on; see :meth:`LossModule.terms`.

        Raises:
            UserError: the loss has no proxies for a level or a class, or as the inner loss.
        """
        table = columns(labels)
        others = None if gallery_labels is None else columns(gallery_labels)
        depth = table.shape[1]
        if self._classes is not None and depth != len(self._classes):
            raise UserError(
                f"The loss has proxies for {len(self._classes)} levels; got labels of {depth}. Build it with the label "
                "rows of the training set as class_labels."
            )
        share = 1.0 if self.settings.reduce_levels == "sum" else 1 / depth
        terms = {}
        losses = [loss for loss in self.levels if isinstance(loss, LossModule)]
        for level in range(depth):
            inner = losses[min(level, len(losses) - 1)]
            mine = self._named(table[:, level], level)
            theirs = None if others is None else self._named(others[:, level], level)
            parts = inner.terms(embeddings, mine, gallery, theirs, self_index)
            terms[f"level_{level}"] = share * sum(parts.values(), embeddings.new_zeros(()))
        return terms

    def _named(self, labels: np.ndarray, level: int) -> Tensor:
        """Return labels as the inner loss of a level knows them."""
        if self._classes is None:
            return tensor(labels)
        classes = self._classes[level]
        proxy = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
        unknown = labels[classes[proxy] != labels]
        if len(unknown):
            raise UserError(
                f"The loss has proxies for the {len(classes)} classes of level {level} that it was built with; got "
                f"label {unknown[0]}. Build it with the label rows of the training set as class_labels."
            )
        return tensor(proxy)


def with_proxies(
    parameters: LevelParameters,
    make: Callable[[int], LossModule],
    *,
    title: str,
    num_classes: int,
    class_labels: Tensor | None,
) -> LevelSum:
    """Build a sum over the levels of a loss that has proxies for the classes of one level.

    Args:
        make: makes the inner loss for a number of classes.
        title: for messages.
        num_classes, class_labels: as for :meth:`trainers.losses.base.LossDescriptor.build`.

    Raises:
        UserError: the label tree is not given.
    """
    if class_labels is None:
        raise UserError(
            f"{title} needs the label tree, one row of labels for each finest class; got none. Pass class_labels."
        )
    if len(class_labels) != num_classes:
        raise UserError(f"{title} needs a label row for each of {num_classes} classes; got {len(class_labels)}.")
    classes = [np.unique(column) for column in columns(class_labels.reshape(num_classes, -1)).T]
    return LevelSum(parameters, [make(len(level)) for level in classes], classes)


@dataclass(frozen=True, kw_only=True)
class LevelNCAParameters(LevelParameters, ProxyNCAParameters):
    """Parameters of ProxyNCA++, and of how the levels add up."""


def level_nca(
    parameters: LevelNCAParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> LevelSum:
    """Build sum_l of ProxyNCA++ of level l, each level with its own proxies."""
    return with_proxies(
        parameters,
        lambda classes: ProxyNCA(parameters, num_classes=classes, dim=dim),
        title="NCA++ over levels",
        num_classes=num_classes,
        class_labels=class_labels,
    )


LEVEL_NCA = LossDescriptor(
    name="proxy_nca_pp_levels",
    title="NCA++ over levels",
    family="Proxy",
    paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV",
    year=2022,
    url="https://arxiv.org/abs/2207.04873",
    equation=(
        r"\mathcal{L}=\sum_l-\frac1B\sum_i\log\frac{\exp(-d^2(x_i,p^{(l)}_{y_i})/T)}"
        r"{\sum_z\exp(-d^2(x_i,p^{(l)}_z)/T)}"
    ),
    symbols=LEVEL_SOFTMAX | {"d": "Euclidean distance"},
    sentence="ProxyNCA++ at every level of the label tree, added up; each level has its own proxies.",
    unlike=(
        "Unlike ProxyNCA++, it adds up one softmax for each level of the label tree, each over proxies of its own."
    ),
    differs="The levels are added up, as the papers' tables name them. Their code has a configuration for the finest "
    "level only; averaging, as the code does for other losses, is `reduce_levels=mean`.",
    parameters=LevelNCAParameters,
    module=level_nca,
    hierarchy=True,
    proxies=True,
    level_proxies=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=605,
)


@dataclass(frozen=True, kw_only=True)
class LevelNSMParameters(LevelParameters, ProxyNSMParameters):
    """Parameters of the proxy softmax, and of how the levels add up."""


def level_nsm(
    parameters: LevelNSMParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
) -> LevelSum:
    """Build sum_l of the proxy softmax of level l, each level with its own proxies."""
    return with_proxies(
        parameters,
        lambda classes: ProxyNSM(parameters, num_classes=classes, dim=dim),
        title="NSM over levels",
        num_classes=num_classes,
        class_labels=class_labels,
    )


LEVEL_NSM = LossDescriptor(
    name="proxy_nsm_levels",
    title="NSM over levels",
    family="Proxy",
    paper="Hierarchical Average Precision Training for Pertinent Image Retrieval, Ramzi et al., ECCV",
    year=2022,
    url="https://arxiv.org/abs/2207.04873",
    equation=(
        r"\mathcal{L}=\sum_l-\frac1B\sum_i\log\frac{\exp(x_i^\top p^{(l)}_{y_i}/T)}{\sum_z\exp(x_i^\top p^{(l)}_z/T)}"
    ),
    symbols=LEVEL_SOFTMAX,
    sentence="The proxy softmax at every level of the label tree, added up; each level has its own proxies.",
    unlike=(
        "Unlike Proxy softmax, it adds up one softmax for each level of the label tree, each over proxies of its own."
    ),
    differs=DIFFERS,
    parameters=LevelNSMParameters,
    module=level_nsm,
    hierarchy=True,
    proxies=True,
    level_proxies=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=604,
)


_COSTS: Mapping[str, Callable[[Batch, float, bool], Tensor]] = MappingProxyType(
    {
        "all": every,
        "semihard": partial(every, semihard=True),
        "hard": hardest,
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
class CosineBatch(Batch):
    """A batch whose distances are one less the cosine."""

    @cached_property
    def distance(self) -> Tensor:
        """``[Q, G]``."""
        return 1 - self.similarity


class LevelTriplet(LossModule):
    """The mean of the positive hinges of one level's triplets."""

    title = "Triplet over levels"

    def __init__(self, parameters: LevelTripletParameters, *, finest: bool) -> None:
        super().__init__(parameters)
        # a coarse level at which all images of the batch agree has no triplet and adds nothing
        self.needs_positives = self.needs_negatives = finest

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        if self.settings.distance == "cosine":
            batch = CosineBatch(**{name: getattr(batch, name) for name in Batch.__dataclass_fields__})
        return {"pairs": _COSTS[self.settings.triplets](batch, self.settings.margin, False)}


def level_triplet(parameters: LevelTripletParameters, **_classes: Any) -> LevelSum:
    """Build sum_l of the triplet loss of level l."""
    return LevelSum(parameters, [LevelTriplet(parameters, finest=finest) for finest in (True, False)])


LEVEL_TRIPLET = LossDescriptor(
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


DESCRIPTORS = (LEVEL_NCA, LEVEL_NSM, LEVEL_TRIPLET)
