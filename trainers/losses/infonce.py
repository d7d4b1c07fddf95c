"""InfoNCE between a query view and a key view of one encoder, with the batch or a queue as negatives."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from trainers.errors import UserError
from trainers.losses._batch import unit
from trainers.losses._symbols import BATCH
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class InfoNCEParameters:
    temperature: float = parameter(
        0.07, low=0.005, high=2.0, log=True, help="Divides the similarities; lower makes the hardest pairs count more."
    )


class InfoNCE(LossModule):
    """Cross-entropy that picks out an image's own key: among the queue's keys, or without one among the batch's.

    View 0 of ``embeddings [B, 2, D]`` holds the queries, view 1 the keys; ``gallery`` is the queue as it was before
    these keys enter it. In a run both come from the one encoder, and gradient flows into both: the end-to-end mechanism
    (He et al. 2020, figure 2a). The queue is a cross-batch memory of the encoder's own earlier embeddings. MoCo, whose
    keys come without gradient from a momentum encoder, is the method ``moco_v1`` of ``pretrain``.
    """

    queue = True

    def logits(self, embeddings: Tensor, gallery: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return similarities over temperature and the column of each query's own key.

        Returns:
            With a queue ``[B, 1 + K]``, own key first; without ``[B, B]``, own key on the diagonal; and int64 ``[B]``.

        Raises:
            UserError: not two views.
        """
        if embeddings.dim() != 3 or embeddings.shape[1] != 2:
            raise UserError(
                f"InfoNCE needs two views of each image, embeddings [B, 2, D]; got {list(embeddings.shape)}. "
                f"Draw two augmented views of each image."
            )
        query, key = unit(embeddings).unbind(1)
        if gallery is None:
            similarity, targets = query @ key.T, torch.arange(len(query), device=query.device)
        else:
            positive = (query * key).sum(1, keepdim=True)
            similarity = torch.cat([positive, query @ unit(gallery).to(query.dtype).T], 1)
            targets = torch.zeros(len(query), dtype=torch.int64, device=query.device)
        return similarity / self.settings.temperature, targets

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        return {"contrast": functional.cross_entropy(*self.logits(embeddings, gallery))}


DESCRIPTOR = LossDescriptor(
    name="infonce",
    title="InfoNCE",
    family="Contrastive",
    paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR",
    year=2020,
    url="https://arxiv.org/abs/1911.05722",
    equation=(
        r"\mathcal{L}=\frac1B\sum_i-\log\frac{\exp(q_i\cdot k_i/\tau)}"
        r"{\exp(q_i\cdot k_i/\tau)+\sum_{k\in\mathrm{queue}}\exp(q_i\cdot k/\tau)}"
    ),
    symbols=BATCH
    | {
        r"q_i,\,k_i": "embeddings of the two views of image i: its query and its key",
        r"k\in\mathrm{queue}": "keys of other images: those in the memory, without one those in the batch",
        r"\tau": "temperature (`temperature`)",
    },
    sentence="One view of an image picks out the other among other images; gradient flows into both. No labels needed.",
    unlike=("Unlike SimCLR, it compares first views with second views only, and can take its negatives from a memory."),
    differs="MoCo's keys come without gradient from a slowly moving copy of the encoder. Here one encoder makes both "
    "and learns through both: the paper's end-to-end mechanism (figure 2a). With a memory the other keys are "
    "the encoder's own earlier embeddings. MoCo itself is the method moco_v1 of contrastive pretraining.",
    slow="Two images of a class are pushed apart like any others, so in equal time far fewer of them are found than by "
    "losses that see labels.",
    parameters=InfoNCEParameters,
    module=InfoNCE,
    views=2,
    gallery=True,
    memory=1024,
    order=404,
)
