"""The sum outside the logarithm: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_out_in",
    title="The sum outside the logarithm",
    work="contrastive",
    statement=("With the sum over positives outside the logarithm SupCon is better than with the sum inside."),
    where="SupCon, section 3.2",
    differences=differences("SupCon (positives out)", "SupCon (positives in)", "classifier_accuracy"),
    plan=plans.supervised,
    ours=(
        *plans.OURS_CONTRASTIVE,
        "AdamW at 0.003 and batches of 64 in place of LARS and 6,144; SupCon sees two views in a step.",
    ),
    recipe=(
        "python -m trainers sweep pretrain --data ILSVRC/imagenet-1k --held-out images --max-images "
        "1000000 --image-size 224 --encoder timm:model=resnet50,pretrained=false --norm batch --batch "
        "6144 --epochs 350 --method supcon:positives=out supcon:positives=in"
    ),
    minutes=6.0,
    order=309,
)
