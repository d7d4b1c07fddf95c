"""SimCLR: both views of all images of the batch, compared with each other."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from trainers.kinds.contrastive.methods.base import Method, MethodDescriptor, MethodParameters, Outcome, Parts, Views
from trainers.kinds.contrastive.networks import encode_whole
from trainers.losses import LOSSES
from trainers.losses.infonce import temperature


@dataclass(frozen=True, kw_only=True)
class SimCLRMethodParameters(MethodParameters):
    temperature: float = temperature(0.5)


class SimCLRMethod(Method):
    """The loss ``simclr`` on the projections of two views."""

    def __init__(self, settings: SimCLRMethodParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.loss = LOSSES["simclr"].build(num_classes=0, dim=parts.dim, temperature=settings.temperature)

    def forward(self, views: Views) -> Outcome:
        """Compute NT-Xent.

        Raises:
            UserError: a batch of one image.
        """
        views.need_two("SimCLR")
        return Outcome(terms=self.loss.terms(projections(self, views), views.rows))


def other_views(_settings: object, batch: int) -> int:
    """Count the keys that a view is compared with: all other views of the batch, two of each image."""
    return 2 * batch - 1


def projections(method: Method, views: Views) -> torch.Tensor:
    """Encode all views as one batch, ``[N, V, D]`` raw."""
    raw = encode_whole(method.net, torch.cat(views.images), len(views.images))
    return raw.reshape(len(views.images), len(views.rows), -1).transpose(0, 1)


DESCRIPTOR = MethodDescriptor(
    name="simclr",
    title="SimCLR",
    family="Without labels",
    sentence="Each view picks out the other view of its image among all views of the batch.",
    paper="A Simple Framework for Contrastive Learning of Visual Representations, Chen et al., ICML 2020",
    url="https://arxiv.org/abs/2002.05709",
    parameters=SimCLRMethodParameters,
    module=SimCLRMethod,
    together=True,
    candidates=other_views,
    order=3,
)
