"""NT-Xent of SimCLR: every image is its own class, its views are its positives."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trainers.devices.host import equal
from trainers.errors import UserError
from trainers.losses._inputs import flatten_views, refuse_gallery
from trainers.losses._symbols import BATCH, CONTRAST
from trainers.losses.base import LossDescriptor, LossModule
from trainers.losses.supcon import Temperatures, positive_cross_entropy, temperature


@dataclass(frozen=True, kw_only=True)
class SimCLRParameters(Temperatures):
    temperature: float = temperature(0.5)


class SimCLR(LossModule):
    """Mean over all views of the cross-entropy towards the other views of the same image. Labels are not looked at.

    Times temperature / base_temperature if there is a base temperature; the paper has none.
    """

    def terms(
        self, embeddings: Tensor, labels: Tensor, gallery: Tensor | None = None, gallery_labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        """Return one term, ``contrast``.

        Raises:
            UserError: one view of each image only, or a gallery.
        """
        refuse_gallery("SimCLR", gallery)
        if embeddings.dim() != 3 or embeddings.shape[1] < 2:
            raise UserError(
                f"SimCLR needs two or more views of each image, embeddings [B, V, D]; got {list(embeddings.shape)}. "
                f"Draw two augmented views of each image."
            )
        rows, _, image = flatten_views(embeddings, labels)
        itself = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
        logits = rows @ rows.T / self.settings.temperature
        losses = positive_cross_entropy(logits, equal(image, image, rows.device), itself)
        return {"contrast": losses.mean() * self.settings.factor}


DESCRIPTOR = LossDescriptor(
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
    order=403,
)
