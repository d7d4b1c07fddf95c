"""The end-to-end mechanism (figure 2a of He et al. 2020): keys of the same batch, with gradient."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial

import torch
from torch.nn import functional

from trainers.kinds.contrastive.methods.base import (
    Method,
    MethodDescriptor,
    MethodParameters,
    Needs,
    Outcome,
    Parts,
    Views,
)
from trainers.kinds.contrastive.methods.moco import agreement, shuffle
from trainers.kinds.contrastive.moco import shuffled
from trainers.kinds.contrastive.networks import encode_whole
from trainers.losses.infonce import temperature
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class EndToEndParameters(MethodParameters):
    temperature: float = temperature(0.07)
    sharing: str = parameter(
        "shared", choices=("shared", "separate"), help="One encoder for queries and keys, or one for each."
    )
    shuffle: bool = shuffle()


class EndToEnd(Method):
    """The end-to-end method: each query picks out its own key from the keys of the batch, through which gradient flows
    too.

    The dictionary is the batch. With separate encoders the second one starts as a copy and is trained.
    """

    def __init__(self, settings: EndToEndParameters, parts: Parts) -> None:
        super().__init__(settings, parts)
        self.key_net = self.net if settings.sharing == "shared" else copy.deepcopy(self.net)

    def forward(self, views: Views) -> Outcome:
        """Compute the cross-entropy towards the own key among those of the batch.

        Raises:
            UserError: a batch of one image.
        """
        views.need_two("The end-to-end mechanism")
        query, key = views.images
        queries = functional.normalize(encode_whole(self.net, query), dim=1)
        keys = partial(encode_whole, self.key_net)
        encoded = shuffled(keys, key) if self.settings.shuffle else keys(key)
        logits = queries @ functional.normalize(encoded, dim=1).T / self.settings.temperature
        loss = functional.cross_entropy(logits, torch.arange(len(logits), device=logits.device))
        own_first = torch.cat([logits.diagonal()[:, None], _without_diagonal(logits)], 1)
        return Outcome(terms={"contrast": loss}, numbers=agreement(own_first))


def _without_diagonal(square: torch.Tensor) -> torch.Tensor:
    """Cut the diagonal out of ``[N, N]``: ``[N, N - 1]``."""
    count = len(square)
    return square.detach().reshape(-1)[1:].reshape(count - 1, count + 1)[:, :-1].reshape(count, count - 1)


DESCRIPTOR = MethodDescriptor(
    name="end_to_end",
    title="End-to-end",
    family="Without labels",
    sentence="Each view picks out the other view of its image in the batch, which is the whole dictionary.",
    paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR 2020, figure 2a",
    url="https://arxiv.org/abs/1911.05722",
    parameters=EndToEndParameters,
    module=EndToEnd,
    mlp=False,
    candidates=lambda _settings, batch: batch,
    needs=lambda settings, _images: Needs(trained=1 if settings.sharing == "shared" else 2),
    order=4,
)
