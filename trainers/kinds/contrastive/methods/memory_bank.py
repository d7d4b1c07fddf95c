"""The memory bank mechanism (figure 2b of He et al. 2020; Wu et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

from trainers.kinds.contrastive.memory_bank import MemoryBank
from trainers.kinds.contrastive.methods.base import (
    Method,
    MethodDescriptor,
    MethodParameters,
    Needs,
    Outcome,
    Parts,
    Views,
)
from trainers.kinds.contrastive.methods.moco import picked
from trainers.losses.supcon import temperature
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class MemoryBankParameters(MethodParameters):
    negatives: int = parameter(
        65_536, low=1, high=1_048_576, log=True, help="Stored features drawn to compare a batch with."
    )
    momentum: float = parameter(0.5, low=0.0, high=1.0, help="Share of itself that a stored feature keeps.")
    temperature: float = temperature(0.07)


class MemoryBankMethod(Method):
    """See :class:`trainers.kinds.contrastive.memory_bank.MemoryBank`."""

    views = 1

    def __init__(self, settings: MemoryBankParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.bank = MemoryBank(
            parts.net,
            images=parts.images,
            dim=parts.dim,
            negatives=settings.negatives,
            momentum=settings.momentum,
            temperature=settings.temperature,
        )

    def forward(self, views: Views) -> Outcome:
        """Cross-entropy towards the own stored feature, among it and those drawn."""
        logits = self.bank(views.images[0], views.rows)
        return picked(logits)

    @property
    def dictionary(self) -> MemoryBank:
        """The stored features."""
        return self.bank


DESCRIPTOR = MethodDescriptor(
    name="memory_bank",
    title="Memory bank",
    family="Without labels",
    sentence="Each image picks out its own feature, stored when it was last drawn, among stored features of others.",
    paper="Unsupervised Feature Learning via Non-Parametric Instance Discrimination, Wu et al., CVPR 2018",
    url="https://arxiv.org/abs/1805.01978",
    parameters=MemoryBankParameters,
    module=MemoryBankMethod,
    mlp=False,
    candidates=lambda settings, _batch: 1 + int(settings.negatives),
    needs=lambda settings, images: Needs(views=1, compared=settings.negatives, stored=images),
    order=5,
)
