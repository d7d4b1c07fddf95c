"""CSL: the cross-scale proxy loss of dynamic metric learning."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.devices.host import host, send
from trainers.errors import UserError
from trainers.losses._batch import Batch, unit
from trainers.losses._symbols import BATCH
from trainers.losses.base import LossDescriptor, LossModule
from trainers.parameters import parameter


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


DESCRIPTOR = LossDescriptor(
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
