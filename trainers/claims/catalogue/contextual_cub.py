"""The contextual loss on CUB: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="contextual_cub",
    title="The contextual loss on CUB",
    work="contextual",
    statement=("With a pretrained ResNet-50 the contextual loss has the best R@1 on four image retrieval sets."),
    where="Section 5",
    lacking=("The images of CUB, Cars, SOP and In-Shop and the published weights of ResNet-50 are not at hand."),
    recipe=recipes.full_size("cub_contextual"),
    order=209,
)
