"""A loss of one label level, taken at every level of the label tree and added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from trainers.devices.host import columns, tensor
from trainers.errors import UserError
from trainers.losses.base import LossModule
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
        self.leaves_self_out = levels[0].leaves_self_out
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
        known = {"self_index": self_index} if self.leaves_self_out and self_index is not None else {}
        terms = {}
        losses = [loss for loss in self.levels if isinstance(loss, LossModule)]
        for level in range(depth):
            inner = losses[min(level, len(losses) - 1)]
            mine = self._named(table[:, level], level)
            theirs = None if others is None else self._named(others[:, level], level)
            parts = inner.terms(embeddings, mine, gallery, theirs, **known)
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
