"""InfoNCE between views and its relatives: NT-Xent of SimCLR, and SupCon, where images of a class are positives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from trainers.devices.host import send
from trainers.errors import UserError
from trainers.losses._batch import Batch
from trainers.losses._symbols import BATCH, CONTRAST
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

    def logits(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return similarities over temperature and the column of each query's own key.

        Returns:
            With a queue ``[B, 1 + K]``, own key first; without ``[B, B]``, own key on the diagonal; and int64 ``[B]``.

        Raises:
            UserError: not two views.
        """
        if batch.views != 2:
            raise UserError(
                f"InfoNCE needs two views of each image, embeddings [B, 2, D]; got {batch.views}. "
                f"Draw two augmented views of each image."
            )
        query, key = torch.stack(batch.rows.chunk(2), 1).unbind(1)  # beside each other, as products round by layout
        if batch.alone:
            similarity, targets = query @ key.T, torch.arange(len(query), device=query.device)
        else:
            positive = (query * key).sum(1, keepdim=True)
            similarity = torch.cat([positive, query @ batch.others.T], 1)
            targets = torch.zeros(len(query), dtype=torch.int64, device=query.device)
        return similarity / self.settings.temperature, targets

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        return {"contrast": functional.cross_entropy(*self.logits(batch))}


INFONCE = LossDescriptor(
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
    labelled=False,
    gallery=True,
    memory=1024,
    order=404,
)


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

    def __init__(self, parameters: SupConParameters, *, inside: bool = False) -> None:
        super().__init__(parameters)
        self.inside = inside

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        rows, others = batch.rows, batch.others
        anchors = len(rows) // batch.views if self.settings.contrast_mode == "one" else len(rows)
        absent = None
        if batch.itself is not None:
            absent = send(batch.itself, rows.device)[:anchors, None] == torch.arange(len(others), device=rows.device)
        logits = rows[:anchors] @ others.T / self.settings.temperature
        losses = positive_cross_entropy(logits, batch.positive[:anchors], absent, inside=self.inside)
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

_SUPCON = (
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


@dataclass(frozen=True, kw_only=True)
class SimCLRParameters(Temperatures):
    temperature: float = temperature(0.5)


class SimCLR(LossModule):
    """Mean over all views of the cross-entropy towards the other views of the same image. Labels are not looked at.

    Times temperature / base_temperature if there is a base temperature; the paper has none.
    """

    title = "SimCLR"
    takes_gallery = False

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return one part, ``contrast``.

        Raises:
            UserError: one view of each image only.
        """
        rows = batch.rows
        if batch.views < 2:
            raise UserError(
                f"SimCLR needs two or more views of each image, embeddings [B, V, D]; got {batch.views}. "
                f"Draw two augmented views of each image."
            )
        itself = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
        image = torch.arange(len(rows), device=rows.device) % (len(rows) // batch.views)
        logits = batch.similarity / self.settings.temperature
        losses = positive_cross_entropy(logits, image[:, None] == image, itself)
        return {"contrast": losses.mean() * self.settings.factor}


SIMCLR = LossDescriptor(
    name="simclr",
    title="SimCLR",
    family="Contrastive",
    paper="A Simple Framework for Contrastive Learning of Visual Representations, Chen et al., ICML",
    year=2020,
    url="https://arxiv.org/abs/2002.05709",
    equation=(
        r"\mathcal{L}=\frac{\tau}{\tau_0}\,\frac{1}{2B}\sum_a-\log\frac{\exp(s_{a\,a'}/\tau)}"
        r"{\sum_{b\neq a}\exp(s_{ab}/\tau)},\quad \tau_0=\tau \text{ unless it is set}"
    ),
    symbols=BATCH
    | CONTRAST
    | {"a": "every view in turn", r"s_{a\,a'}": "cosine of a and a', the other view of the same image"},
    sentence="Each view picks out the other view of the same image from the rest of the batch; no labels needed.",
    unlike="Unlike SupCon, it looks at no labels: only another view of the same image is a positive.",
    slow="Two images of a class are pushed apart like any others, so in equal time far fewer of them are found than by "
    "losses that see labels.",
    parameters=SimCLRParameters,
    module=SimCLR,
    views=2,
    labelled=False,
    order=403,
)


DESCRIPTORS = (INFONCE, *_SUPCON, SIMCLR)
