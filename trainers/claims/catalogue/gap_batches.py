"""The gap and the batch: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans
from trainers.claims.base import Claim, Side, differences

DESCRIPTOR = Claim(
    name="gap_batches",
    title="The gap and the batch",
    work="rank_losses",
    statement=(
        "The average precision within batches overstates that of the whole set more, the smaller the batches are."
    ),
    where="Section VII-A3",
    differences=differences(
        Side(arm="Sup-AP", under={"Classes per batch": 6}),
        Side(arm="Sup-AP", under={"Classes per batch": 24}),
        "decomposability_gap",
    ),
    plan=plans.batches,
    ours=plans.OURS,
    recipe=(
        "python -m trainers sweep --data path/to/sop --encoder "
        '"timm:model=resnet50.tv_in1k,layer_norm=true" --frozen-norm --dim 512 --augmentation crop_flip '
        "--optimiser adam --epochs 100 --vary 'classes_per_batch=4;8;16;32' --sampler two_super_classes "
        "--losses sup_ap"
    ),
    minutes=4.0,
    order=113,
)
