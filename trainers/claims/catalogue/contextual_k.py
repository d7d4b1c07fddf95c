"""Neighbourhoods of the class's size: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="contextual_k",
    title="Neighbourhoods of the class's size",
    work="contextual",
    statement="Neighbourhoods must be as large as there are images of a class in the batch.",
    where="Section 3",
    differences=(
        *differences("Contextual (k 4)", "Contextual (k 2)", "R_at_1"),
        *differences("Contextual (k 4)", "Contextual (k 8)", "R_at_1"),
    ),
    plan=plans.contextual_k,
    ours=(*plans.OURS, "The paper states the condition; what happens without it is asked here."),
    recipe=(
        "python -m trainers sweep --data cub200 --encoder timm:model=resnet50.tv_in1k --frozen-norm "
        "--backbone-rate 0.5 --optimiser adam --learning-rate 8e-5 --steps 3360 --dim 512 "
        "--classes-per-batch 32 --losses contextual --vary 'contextual.k=2;4;8'"
    ),
    minutes=3.0,
    order=206,
)
