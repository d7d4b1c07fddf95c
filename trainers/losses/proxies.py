"""Losses with a proxy for each class: normalised softmax, Proxy Anchor, ProxyNCA++, ArcFace, and CSL over levels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.devices.host import finest, host, send, tensor
from trainers.errors import UserError
from trainers.losses._batch import Batch, count_classes, unit
from trainers.losses._symbols import BATCH, SOFTMAX
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter

# Only a proxy's direction counts, so what matters is the angle moved per step. An Adam step of rate r is about
# r * sqrt(D) long and nearly square to the proxy, whose length starts at 0.58: the angle starts at r * sqrt(D) / 0.58
# and, as the proxy grows, falls towards 1 / sqrt(steps) whatever r is. The papers' rate of 10 (11 000 classes, long
# schedules) turns proxies to arbitrary directions at the start. 0.01 begins with 8 degrees at D = 64, 22 at D = 512:
# proxies reach their classes within some tens of steps, and later steps do not undo earlier ones.
PROXY_LEARNING_RATE = 0.01


def draw_proxies(count: int, dim: int) -> nn.Parameter:
    """Return ``[count, dim]`` rows uniform in +-1/sqrt(dim), from torch's global generator."""
    bound = dim**-0.5
    return nn.Parameter(torch.empty(count, dim).uniform_(-bound, bound))


def known_classes(title: str, labels: Tensor, classes: int) -> Tensor:
    """Return the finest labels ``[B]`` as int64 on the CPU, once each is known to have a proxy.

    Raises:
        UserError: a label is not in 0..classes - 1.
    """
    rows = host(finest(labels))
    unknown = rows[(rows < 0) | (rows >= classes)]
    if len(unknown):
        raise UserError(
            f"{title} has proxies for classes 0 to {classes - 1}; got label {unknown[0]}. "
            f"Build the loss with num_classes of the training set."
        )
    return tensor(rows)


def proxy_softmax(
    queries: Tensor,
    labels: Tensor,
    proxies: Tensor,
    temperature: float,
    num_centers: int = 1,
    temperature_centers: float = 0.1,
) -> Tensor:
    """Return the mean of -log softmax over classes of x . p / T at the true class (Zhai and Wu 2019; Ramzi et al. 2023,
    Eq. 8).

    Args:
        queries: ``[B, D]`` unit rows.
        labels: ``[B]`` or ``[B, L]`` int64, the finest in 0..C-1; best on the CPU.
        proxies: ``[C * num_centers, D]`` raw, rows grouped by class; normalised here.
        temperature: T.
        num_centers: centres per class, pooled by their own softmax-weighted mean.
        temperature_centers: temperature of that pooling.

    Raises:
        UserError: a label has no proxy.
    """
    classes = len(proxies) // num_centers
    targets = known_classes("The proxy softmax", labels, classes)
    logits = queries @ functional.normalize(proxies.to(queries.dtype), dim=-1, eps=1e-12).T
    if num_centers > 1:
        centres = logits.unflatten(1, (classes, num_centers))
        logits = (centres * (centres / temperature_centers).softmax(-1)).sum(-1)
    return functional.cross_entropy(logits / temperature, send(targets, logits.device))


@dataclass(frozen=True, kw_only=True)
class ProxyNSMParameters:
    """Parameters of the proxy softmax."""

    temperature: float = parameter(0.05, low=0.005, high=1.0, log=True, help="Lower makes the softmax sharper.")
    num_centers: int = parameter(1, low=1, high=16, help="Proxies per class; more than one lets a class have modes.")
    temperature_centers: float = parameter(
        0.1, low=0.005, high=1.0, log=True, help="How sharply a class's proxies are pooled."
    )


class ProxyNSM(LossModule):
    """Zhai and Wu, "Classification is a Strong Baseline for Deep Metric Learning", BMVC 2019.

    Also the decomposability term of ROADMAP++ and HAPPIER (Ramzi et al. 2023, Eq. 8). Works on the finest labels, which
    number the proxies.
    """

    takes_views = False

    def __init__(self, parameters: ProxyNSMParameters, *, num_classes: int, dim: int, **_classes: Any) -> None:
        super().__init__(parameters)
        self.proxies = draw_proxies(num_classes * parameters.num_centers, dim)

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``proxy``: the mean cross-entropy; a gallery is not looked at."""
        given = self.settings
        loss = proxy_softmax(
            batch.rows, batch.labels, self.proxies, given.temperature, given.num_centers, given.temperature_centers
        )
        return {"proxy": loss}


_NSM = LossDescriptor(
    name="proxy_nsm",
    title="Proxy softmax",
    family="Decomposability",
    paper="Classification is a Strong Baseline for Deep Metric Learning, Zhai and Wu, BMVC",
    year=2019,
    url="https://arxiv.org/abs/1811.12649",
    equation=r"\mathcal{L} = -\frac{1}{B}\sum_i \log\frac{\exp(x_i^\top p_{y_i}/T)}{\sum_z \exp(x_i^\top p_z/T)}",
    symbols=SOFTMAX,
    sentence="Learns one direction per class and asks every image to point closer to its own than to the others.",
    unlike=("Unlike Calibration (pairs), it compares images with learned proxies of the classes, not with each other."),
    parameters=ProxyNSMParameters,
    module=ProxyNSM,
    proxies=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=701,
)

_PROXY_NSM = (_NSM, replace(_NSM, name="normalized_softmax", alias_of="proxy_nsm", order=702))


class ProxyLoss(LossModule):
    """A loss of the cosines between a batch and ``proxies [C, D]``, one per class. A subclass writes :meth:`cost`."""

    takes_gallery = False

    def __init__(self, parameters: Any, *, num_classes: int, dim: int, **_classes: Any) -> None:
        super().__init__(parameters)
        self.proxies = draw_proxies(num_classes, dim)

    def cost(self, cosine: Tensor, classes: Tensor) -> Tensor:
        """Compute the loss, a scalar, of cosines ``[B, C]`` and classes ``[B]``, int64 on the CPU."""
        raise NotImplementedError

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return one part, ``proxy``."""
        classes = known_classes(self.title, batch.labels, len(self.proxies))
        return {"proxy": self.cost(batch.rows @ unit(self.proxies).to(batch.rows.dtype).T, classes)}

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: Any) -> None:
        if f"{prefix}loss.proxies" in state_dict:  # as checkpoints named them while a library computed the loss
            state_dict[f"{prefix}proxies"] = state_dict.pop(f"{prefix}loss.proxies")
        super()._load_from_state_dict(state_dict, prefix, *rest)


@dataclass(frozen=True, kw_only=True)
class ProxyAnchorParameters:
    margin: float = parameter(0.1, low=0.0, high=1.0, help="How far past 0 the cosines are pushed to either side.")
    alpha: float = parameter(32.0, low=1.0, high=128.0, log=True, help="Sharpness: how much the hardest images count.")


class ProxyAnchor(ProxyLoss):
    """Both terms: the mean over the classes of the batch, and over all classes."""

    title = "Proxy Anchor"

    def cost(self, cosine: Tensor, classes: Tensor) -> Tensor:
        given = self.settings
        positive = send(classes, cosine.device)[:, None] == torch.arange(cosine.shape[1], device=cosine.device)
        zeros = cosine.new_zeros(1, cosine.shape[1])  # under the logarithm, beside the sum
        pull = torch.cat([(-given.alpha * (cosine - given.margin)).masked_fill(~positive, -math.inf), zeros]).logsumexp(
            0
        )
        push = torch.cat([(given.alpha * (cosine + given.margin)).masked_fill(positive, -math.inf), zeros]).logsumexp(0)
        return pull.sum() / count_classes(classes) + push.mean()


@dataclass(frozen=True, kw_only=True)
class ProxyNCAParameters:
    temperature: float = parameter(
        1 / 9, low=0.01, high=1.0, log=True, help="Divides the squared distances; lower makes the softmax sharper."
    )


class ProxyNCA(ProxyLoss):
    """Cross-entropy over negative squared distances, 2 cosine - 2 of unit rows, by temperature."""

    title = "ProxyNCA++"

    def cost(self, cosine: Tensor, classes: Tensor) -> Tensor:
        return functional.cross_entropy((2 * cosine - 2) / self.settings.temperature, send(classes, cosine.device))


@dataclass(frozen=True, kw_only=True)
class ArcFaceParameters:
    margin: float = parameter(0.5, low=0.0, high=1.5, help="Angle in radians added between an image and its class.")
    scale: float = parameter(64.0, low=1.0, high=256.0, log=True, help="Sharpness: multiplies the cosines.")


class ArcFace(ProxyLoss):
    """Softmax over scaled cosines to the proxies, with an angle added to the true class's.

    Beyond pi - margin, where cos(theta + margin) would rise again, the target is cos(theta) - margin sin(margin).
    """

    title = "ArcFace"

    def cost(self, cosine: Tensor, classes: Tensor) -> Tensor:
        given, classes = self.settings, send(classes, cosine.device)[:, None]
        target = cosine.gather(1, classes)
        # The slope of the sine is infinite where image and proxy coincide; below the floor it is cut to 0.
        sine = (1 - target.square()).clamp(min=1e-7).sqrt()
        moved = target * math.cos(given.margin) - sine * math.sin(given.margin)
        moved = torch.where(target >= -math.cos(given.margin), moved, target - given.margin * math.sin(given.margin))
        return functional.cross_entropy(given.scale * cosine.scatter(1, classes, moved), classes[:, 0])


_ANCHOR = LossDescriptor(
    name="proxy_anchor",
    title="Proxy Anchor",
    family="Proxy",
    paper="Proxy Anchor Loss for Deep Metric Learning, Kim et al., CVPR",
    year=2020,
    url="https://arxiv.org/abs/2003.13911",
    equation=(
        r"\mathcal{L}=\frac1{|P^+|}\sum_{p\in P^+}\log\Big(1+\sum_{x\in X_p^+}e^{-\alpha(s_{xp}-\delta)}\Big)"
        r"+\frac1{|P|}\sum_{p\in P}\log\Big(1+\sum_{x\in X_p^-}e^{\alpha(s_{xp}+\delta)}\Big)"
    ),
    symbols={
        "P": "all proxies, one for each class",
        "P^+": "proxies of the classes in the batch",
        r"X_p^+,\,X_p^-": "images of the class of the proxy p, and of other classes",
        "s_{xp}": "cosine of the image x and the proxy p",
        r"\alpha": "sharpness (`alpha`)",
        r"\delta": "margin (`margin`)",
    },
    sentence="Each class's proxy pulls the images of its class and pushes the others, the hardest ones most.",
    unlike=("Unlike ProxyNCA++, it compares each proxy with the images of the batch, not each image with the proxies."),
    parameters=ProxyAnchorParameters,
    module=ProxyAnchor,
    proxies=True,
    proxy_learning_rate=PROXY_LEARNING_RATE,
    order=600,
)

_BASELINES_PROXIES = (
    _ANCHOR,
    replace(
        _ANCHOR,
        name="proxy_nca_pp",
        title="ProxyNCA++",
        paper="ProxyNCA++: Revisiting and Revitalizing Proxy Neighborhood Component Analysis, Teh et al., ECCV",
        year=2020,
        url="https://arxiv.org/abs/2004.01113",
        equation=r"\mathcal{L}=\frac1B\sum_i-\log\frac{\exp(-d^2(x_i,p_{y_i})/T)}{\sum_z\exp(-d^2(x_i,p_z)/T)}",
        symbols=SOFTMAX | {"d": "Euclidean distance"},
        sentence="Each image picks out its class's proxy by squared distance from those of all classes.",
        unlike=(
            "Unlike Proxy softmax, it takes squared distances, which for vectors of length 1 changes only "
            "the temperature: by default it is that of 1/18 instead of 0.05."
        ),
        parameters=ProxyNCAParameters,
        module=ProxyNCA,
        order=601,
    ),
    replace(
        _ANCHOR,
        name="arcface",
        title="ArcFace",
        paper="ArcFace: Additive Angular Margin Loss for Deep Face Recognition, Deng et al., CVPR",
        year=2019,
        url="https://arxiv.org/abs/1801.07698",
        equation=(
            r"\mathcal{L}=\frac1B\sum_i-\log\frac{e^{s\cos(\theta_{y_i}+m)}}"
            r"{e^{s\cos(\theta_{y_i}+m)}+\sum_{z\neq y_i}e^{s\cos\theta_z}}"
        ),
        symbols=BATCH
        | {
            r"\theta_z": "angle between image i and the proxy of class z",
            "y_i": "class of image i",
            "m": "angle added to that of the own class (`margin`)",
            "s": "sharpness (`scale`)",
        },
        sentence="A softmax over class directions that asks for an extra angle between an image and its own class.",
        unlike=("Unlike Proxy softmax, it adds a fixed angle to that between an image and the proxy of its class."),
        parameters=ArcFaceParameters,
        module=ArcFace,
        order=602,
    ),
)


@dataclass(frozen=True, kw_only=True)
class CSLParameters:
    scale: float = parameter(32.0, low=1.0, high=256.0, log=True, help="Sharpness: multiplies the similarities.")
    margins_fine_to_coarse: tuple[float, ...] | None = parameter(
        None, low=0.0, high=2.0, help="Margin of each level, finest first; empty: rising from 0.25 (0.15 if deep)."
    )
    reduce_levels: str = parameter("sum", choices=("sum", "mean"), help="How the levels' losses add up.")


class CSL(LossModule):
    """One proxy per finest class; at every level proxies of other classes stay below the own one by a margin.

    L_v = mean_i softplus(LSE_{k: lab_v(k) != lab_v(i)} scale s_ik + LSE_{k: lab_0(k) = lab_0(i)} -scale s_ik
    + scale margin_v), v = 0 the finest. A level at which all proxies agree with the image adds 0.

    Attributes:
        proxies: ``[C, D]`` raw.
        proxy_labels: int64 ``[C, L]``.
    """

    proxy_labels: Tensor
    title = "CSL"
    takes_gallery = False

    def __init__(
        self, parameters: CSLParameters, *, num_classes: int, dim: int, class_labels: Tensor | None = None
    ) -> None:
        super().__init__(parameters)
        if class_labels is None:
            raise UserError(
                "CSL needs the label tree, one row of labels for each finest class; got none. "
                "Choose a dataset with label levels, or a loss without hierarchy."
            )
        if len(class_labels) != num_classes:
            raise UserError(f"CSL needs a label row for each of {num_classes} classes; got {len(class_labels)}.")
        class_labels = class_labels.reshape(num_classes, -1)
        self.margins = _margins(parameters.margins_fine_to_coarse, class_labels.shape[1])
        self.proxies = nn.Parameter(torch.empty(num_classes, dim).uniform_(-1, 1) / math.sqrt(dim))
        self.register_buffer("proxy_labels", class_labels.long())
        self._finest = host(class_labels)[:, 0].copy()  # on the host, where the labels of a batch are

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return one part for each level, ``level_0`` (finest) on.

        Raises:
            UserError: a label has no proxy.
        """
        rows, labels = batch.rows, host(batch.labels)
        named = labels[:, :1] == self._finest
        if not named.any(1).all():
            unknown = labels[~named.any(1), 0][0]
            raise UserError(f"CSL has no proxy for class {unknown}; it was built for {len(self.proxies)} classes.")
        full = self.proxy_labels[send(named.argmax(1), rows.device)]
        positive = full[:, 0, None] == self.proxy_labels[None, :, 0]
        logits = self.settings.scale * (rows @ unit(self.proxies).to(rows.dtype).T)
        pull = (-logits).masked_fill(~positive, -math.inf).logsumexp(1)
        share = 1.0 if self.settings.reduce_levels == "sum" else 1 / len(self.margins)
        parts = {}
        for level, margin in enumerate(self.margins):
            other = full[:, level, None] != self.proxy_labels[None, :, level]
            some = other.any(1)
            # Rows without a negative are filled so that no gradient passes through logsumexp of nothing.
            push = logits.masked_fill(~other, -math.inf).masked_fill(~some[:, None], 0.0).logsumexp(1)
            losses = functional.softplus(push + pull + self.settings.scale * margin)
            parts[f"level_{level}"] = share * losses.masked_fill(~some, 0.0).mean()
        return parts


def _margins(margins: tuple[float, ...] | None, depth: int) -> tuple[float, ...]:
    if margins is not None:
        if len(margins) != depth:
            raise UserError(f"CSL needs one margin for each of {depth} levels, finest first; got {len(margins)}.")
        return margins
    low, high = (0.25, 0.45) if depth <= 3 else (0.15, 0.75)  # the published margins for 2, 3 and 7 levels
    return tuple(low + (high - low) * level / max(depth - 1, 1) for level in range(depth))


_CSL = LossDescriptor(
    name="csl",
    title="CSL",
    family="Proxy",
    paper="Dynamic Metric Learning, Sun et al., CVPR",
    year=2021,
    url="https://arxiv.org/abs/2103.11781",
    equation=(
        r"\mathcal{L}=\sum_v\frac1B\sum_i\mathrm{softplus}\Big(\log\!\!\sum_{k:\,v(k)\neq v(i)}\!\!e^{\gamma s_{ik}}"
        r"+\log\!\!\sum_{k:\,y_k=y_i}\!\!e^{-\gamma s_{ik}}+\gamma m_v\Big)"
    ),
    symbols=BATCH
    | {
        "v(i)": "class of image i, or of the class i of a proxy, at level v",
        "y_i": "its finest class",
        "s_{ik}": "cosine of image i and the proxy of class k",
        r"\gamma": "sharpness (`scale`)",
        "m_v": "margin of level v (`margins_fine_to_coarse`)",
        r"\mathrm{softplus}": "log(1 + exp of it): 0 far below zero, the value itself far above",
    },
    sentence="At every level of the tree, an image stays closer to its class's proxy than to those of other branches.",
    unlike=(
        "Unlike NSM over levels, it has proxies for the finest classes alone, and uses them at every "
        "level, with a margin for each."
    ),
    parameters=CSLParameters,
    module=CSL,
    hierarchy=True,
    proxies=True,
    order=603,
)


DESCRIPTORS = (*_PROXY_NSM, *_BASELINES_PROXIES, _CSL)
