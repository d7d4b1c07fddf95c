"""SupCon on corrupted images: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import plans
from trainers.claims.base import Claim, differences

DESCRIPTOR = Claim(
    name="supcon_corruptions",
    title="SupCon on corrupted images",
    work="contrastive",
    statement=("SupCon loses less accuracy than cross-entropy on images with noise, blur, weather and compression."),
    where="SupCon, section 4.2 (ImageNet-C)",
    differences=differences("SupCon", "Cross-entropy", "corrupted_accuracy"),
    plan=plans.corrupted,
    ours=plans.OURS_CONTRASTIVE,
    recipe=(
        "python -m trainers sweep pretrain --data ILSVRC/imagenet-1k --held-out images --max-images "
        "1000000 --image-size 224 --encoder timm:model=resnet50,pretrained=false --norm batch --batch "
        "6144 --epochs 350 --method supcon cross_entropy --corruptions true"
    ),
    minutes=6.0,
    order=315,
)
