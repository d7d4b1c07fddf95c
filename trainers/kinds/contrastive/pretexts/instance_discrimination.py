"""Instance discrimination: augmented crops of one image belong together (He et al. 2020, 3.3)."""

from __future__ import annotations

from torch import Tensor

from trainers.kinds.contrastive.pretexts.base import Augment, PretextDescriptor


def _view(_parameters: object, images: Tensor, augment: Augment, *, seed: int, step: int, view: int) -> Tensor:
    return augment(images, seed=seed, step=step, view=view)


DESCRIPTOR = PretextDescriptor(
    name="instance_discrimination",
    title="Instance discrimination",
    sentence="Crops of one image belong together, and every other image is another class.",
    view=_view,
    order=1,
)
