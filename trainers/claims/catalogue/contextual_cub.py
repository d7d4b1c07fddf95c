"""The contextual loss on CUB: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="contextual_cub",
    title="The contextual loss on CUB",
    work="contextual",
    statement="The contextual loss has the best R@1 on all of the standard image retrieval benchmarks, four of them.",
    where="Abstract and section 1",
    lacking=(
        "The images of CUB, Cars and SOP and published weights are not at hand. The fourth benchmark, the encoder and "
        "the results are not in our text; the recipe's encoder is ours."
    ),
    recipe=recipes.full_size("cub_contextual"),
    order=209,
)
