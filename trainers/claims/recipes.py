"""What the commands of claims at full size begin with, for people with the data and a GPU."""

from __future__ import annotations

SOP_RUN = (
    'python -m trainers sweep --data path/to/sop --encoder "timm:model=resnet50.tv_in1k,layer_norm=true" --frozen-norm '
    "--dim 512 --augmentation crop_flip --optimiser adam --epochs 100"
)
"""Rank losses on Stanford Online Products."""
SOP = f"{SOP_RUN} --classes-per-batch 32 --sampler two_super_classes --losses"
"""The same with its batches; the losses follow."""
CUB = (
    "python -m trainers sweep --data cub200 --encoder timm:model=resnet50.tv_in1k --frozen-norm --backbone-rate 0.5 "
    "--optimiser adam --learning-rate 8e-5 --steps 3360 --dim 512 --classes-per-batch 32 --losses"
)
"""The contextual loss on CUB-200; the losses follow."""
IMAGENET_RUN = (
    "python -m trainers sweep pretrain --data ILSVRC/imagenet-1k --held-out images --max-images 1000000 "
    "--image-size 224 --encoder timm:model=resnet50,pretrained=false --norm batch"
)
"""SupCon on ImageNet."""
IMAGENET = f"{IMAGENET_RUN} --batch 6144 --epochs 350 --method"
"""The same with its batches; the methods follow."""
