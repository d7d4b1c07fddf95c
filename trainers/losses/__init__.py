"""The losses: one family per file, each described by the paper and equation it comes from.

from trainers.losses import LOSSES
module = LOSSES["roadmap"].build(num_classes=100, dim=64)
loss = module(embeddings, labels)
"""

import sys

from trainers.losses._compiled_ranks import kernel, surrogates
from trainers.losses.base import LossDescriptor, LossModule
from trainers.registry import derived, load

LOSSES = load(sys.modules[__name__])
FAMILIES: dict[str, list[LossDescriptor]] = {}
"""Family to its losses, both in their order; aliases are left out."""


@derived(__name__)
def _grouped() -> None:
    FAMILIES.clear()
    for loss in LOSSES.values():
        if loss.alias_of is None:
            FAMILIES.setdefault(loss.family, []).append(loss)


__all__ = ["FAMILIES", "LOSSES", "LossDescriptor", "LossModule", "kernel", "surrogates"]
