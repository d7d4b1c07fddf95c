"""Supervised contrastive learning, with the sum over positives outside or inside the logarithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from trainers.devices.host import equal, send
from trainers.losses._inputs import compared, flatten_views
from trainers.losses._symbols import CONTRAST
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter


def temperature(default: float) -> Any:
    """Return the parameter ``temperature``."""
    text = "Divides the similarities; lower makes the hardest pairs count more."
    return parameter(default, low=0.005, high=2.0, log=True, help=text)


def base_temperature(default: float | None) -> Any:
    """Return the parameter ``base_temperature``; None: the loss is not scaled."""
    text = "The loss is scaled by temperature over this; empty: it is not scaled."
    return parameter(default, low=0.005, high=2.0, log=True, help=text)


@dataclass(frozen=True, kw_only=True)
class Temperatures:
    """The temperatures of SupCon and SimCLR: the authors' code of SupCon multiplies either loss by one factor."""

    temperature: float = temperature(0.1)
    base_temperature: float | None = base_temperature(None)

    @property
    def factor(self) -> float:
        """temperature / base_temperature; 1 without a base temperature, as both papers have it."""
        return 1.0 if self.base_temperature is None else self.temperature / self.base_temperature


@dataclass(frozen=True, kw_only=True)
class SupConParameters(Temperatures):
    base_temperature: float | None = base_temperature(0.07)
    contrast_mode: str = parameter(
        "all", choices=("all", "one"), help="Which views are anchors: all of them, or the first of each image."
    )


class SupCon(LossModule):
    """Mean over anchors of the cross-entropy towards the anchor's positives, times temperature / base_temperature.

    An anchor's positives are the other views with its label. An anchor without one adds 0 and is counted in the mean.
    With a gallery, anchors are compared with the gallery alone; an anchor's own copy in it is no candidate, as the
    anchor is none in the batch. The copy of its other view is one.
    """

    leaves_self_out = True

    def __init__(self, parameters: SupConParameters, *, inside: bool = False) -> None:
        super().__init__(parameters)
        self.inside = inside

    def terms(
        self,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        self_index: Tensor | None = None,
    ) -> dict[str, Tensor]:
        rows, row_labels, _ = flatten_views(embeddings, labels)
        anchors = len(embeddings) if self.settings.contrast_mode == "one" else len(rows)
        others, other_labels, itself = compared(rows, row_labels, gallery, gallery_labels, self_index)
        absent = None
        if itself is not None:
            absent = send(itself, rows.device)[:anchors, None] == torch.arange(len(others), device=rows.device)
        positive = equal(row_labels, other_labels, rows.device)[:anchors]
        logits = rows[:anchors] @ others.T / self.settings.temperature
        losses = positive_cross_entropy(logits, positive, absent, inside=self.inside)
        return {"contrast": losses.mean() * self.settings.factor}


def positive_cross_entropy(
    logits: Tensor, positive: Tensor, absent: Tensor | None = None, *, inside: bool = False
) -> Tensor:
    """Return the cross-entropy of each anchor's softmax towards its positives.

    Outside: -mean over positives p of log softmax_p. Inside: -log of the mean over positives of softmax_p.

    Args:
        logits: ``[A, N]`` similarities over temperature.
        positive: bool ``[A, N]``.
        absent: bool ``[A, N]``, entries that are no candidates (the anchor itself); None: all are.
        inside: the mean goes inside the logarithm.

    Returns:
        ``[A]``; 0, with zero gradient, where an anchor has no positive.
    """
    if absent is not None:
        positive = positive & ~absent
        logits = logits.masked_fill(absent, -math.inf)
    count = positive.sum(1)
    paired = count > 0
    # An anchor without any candidate would make softmax(-inf, ...) and with it NaN gradients.
    logits = logits.masked_fill(~paired[:, None], 0.0)
    log_p = logits.log_softmax(1)
    if inside:
        log_p = log_p.masked_fill(~(positive | ~paired[:, None]), -math.inf)
        losses = count.clamp(min=1).to(log_p.dtype).log() - log_p.logsumexp(1)
    else:
        losses = -log_p.masked_fill(~positive, 0.0).sum(1) / count.clamp(min=1)
    return losses.masked_fill(~paired, 0.0)


def _build(inside: bool) -> Callable[..., SupCon]:
    def build(
        parameters: SupConParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
    ) -> SupCon:
        return SupCon(parameters, inside=inside)

    return build


_OUT = LossDescriptor(
    name="supcon",
    title="SupCon",
    family="Contrastive",
    paper="Supervised Contrastive Learning, Khosla et al., NeurIPS",
    year=2020,
    url="https://arxiv.org/abs/2004.11362",
    equation=(
        r"\mathcal{L}=\frac{\tau}{\tau_0}\,\frac{1}{|A|}\sum_{a}\frac{-1}{|P(a)|}\sum_{p\in P(a)}"
        r"\log\frac{\exp(s_{ap}/\tau)}{\sum_{b\neq a}\exp(s_{ab}/\tau)}"
    ),
    symbols=CONTRAST
    | {
        "A": "all views of the images of the batch; a is each of them in turn",
        r"p\in P(a)": "the views p, other than a, of images of its class",
    },
    sentence="Each image picks out all images of its class from the rest of the batch, every one of them separately.",
    unlike=(
        "Unlike SupCon (in), it averages over an image's positives outside the logarithm, so that each "
        "of them has to be close."
    ),
    differs=(
        "The mean over anchors is multiplied by temperature / base temperature, as in the published code; the paper "
        "sums over anchors without the factor (`base_temperature` equal to `temperature` takes it away)."
    ),
    follows_code=True,
    parameters=SupConParameters,
    module=_build(inside=False),
    views=2,
    gallery=True,
    own_queries=True,
    order=400,
)

DESCRIPTORS = (
    _OUT,
    replace(_OUT, name="supcon_out", alias_of="supcon", order=401),
    replace(
        _OUT,
        name="supcon_in",
        title="SupCon (in)",
        equation=(
            r"\mathcal{L}=\frac{\tau}{\tau_0}\,\frac{1}{|A|}\sum_{a}-\log\frac{1}{|P(a)|}\sum_{p\in P(a)}"
            r"\frac{\exp(s_{ap}/\tau)}{\sum_{b\neq a}\exp(s_{ab}/\tau)}"
        ),
        sentence="Each image picks out some image of its class from the rest of the batch; one close one is enough.",
        unlike=(
            "Unlike SupCon, it averages over an image's positives inside the logarithm, so that one close "
            "positive is enough."
        ),
        slow="An image's other view is its closest positive and alone satisfies it, so at first it learns as SimCLR "
        "does; two views also halve the steps that a given time allows.",
        module=_build(inside=True),
        order=402,
    ),
)
