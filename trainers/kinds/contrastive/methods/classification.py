"""The baselines of SupCon: an encoder trained through a linear classifier."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from trainers.kinds.contrastive.methods.base import Method, MethodDescriptor, MethodOutcome, Needs, Views
from trainers.kinds.contrastive.networks import encode_whole


class CrossEntropy(Method):
    """Softmax cross-entropy on features of one view; the projection head is not used."""

    views = 1
    classifier = "through"

    def forward(self, views: Views) -> MethodOutcome:
        """Encode; the loss is the classifier's."""
        encode_whole(self.encoder, torch.cat(views.images))
        return MethodOutcome(terms={})


class MaxMargin(CrossEntropy):
    """The multi-class hinge of Weston and Watkins: each other class's score should lie 1 below the own class's.

    Divided by the number of classes, as in torch. The baseline of that name in SupCon's table 2 is another, the
    large-margin softmax of Liu et al. (ICML 2016).
    """

    def criterion(self, logits: Tensor, labels: Tensor) -> Tensor:
        """See the class."""
        return functional.multi_margin_loss(logits, labels)


_CROSS_ENTROPY = MethodDescriptor(
    name="cross_entropy",
    title="Cross-entropy",
    family="With labels",
    sentence="A linear classifier on the encoder, both trained by softmax cross-entropy.",
    paper="Supervised Contrastive Learning, Khosla et al., NeurIPS 2020 (baseline)",
    url="https://arxiv.org/abs/2004.11362",
    module=CrossEntropy,
    labels=True,
    mlp=False,
    needs=lambda _settings, _images: Needs(views=1),
    order=13,
)

DESCRIPTORS = (
    _CROSS_ENTROPY,
    replace(
        _CROSS_ENTROPY,
        name="max_margin",
        title="Max-margin",
        sentence="A linear classifier on the encoder, both trained by the multi-class hinge (Weston and Watkins 1999).",
        module=MaxMargin,
        order=14,
    ),
)
