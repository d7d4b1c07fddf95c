"""The contextual loss (Liao et al. 2023). Our text of the paper ends in section 4.2, before its tables."""

from __future__ import annotations

from collections.abc import Mapping

from trainers.parameters import Choice
from trainers.recipes.base import Setting, ours, published, stated

PAPER = "Liao et al. 2023"
CODE = "main.py, for images of 256 pixels"
ARMS = stated(
    ("contextual:total=official_256", "contrastive", "multi_similarity", "proxy_anchor"),
    "section 1; the sum of the terms and their weights are the published code's",
)
DIFFERS = (
    "The code multiplies the learning rate by 0.3 after epochs 15, 30 and 45; a schedule here has tenths: one, at "
    "epoch 30.",
    "The code keeps the checkpoint that is best on the test set; here the last one is scored.",
)
HALVES = "The classes are divided by --data-seed here; our text of the paper does not say how they are."
_EPOCHS = 80


def settings(*, learning_rate: float, classes: int = 32, sampler: str = "m_per_class") -> Mapping[str, Setting]:
    """Return the settings on one dataset.

    Args:
        learning_rate: of the head; the backbone has half of it.
        classes: of a batch, four images of each.
    """
    return {
        "encoder": published(
            Choice(name="timm", parameters={"model": "resnet50.tv_in1k"}), "a pretrained ResNet-50; the tag is ours"
        ),
        "frozen_norm": published(True, CODE),
        "dim": ours(512),
        "augmentation": ours(Choice(name="crop_flip")),
        "optimiser": published("adam", CODE),
        "learning_rate": published(learning_rate, CODE),
        "backbone_rate": published(0.5, CODE),
        "weight_decay": published(1e-4, CODE),
        "schedule": ours("step", "the code's factor of 0.3 is not offered"),
        "drops": ours((30 / _EPOCHS,), "the same"),
        "sampler": published(sampler, CODE),
        "classes_per_batch": published(classes, f"{CODE}: batches of {4 * classes}"),
        "images_per_class": stated(4, "section 3: at least 4, as many as the neighbourhoods have"),
        "epochs": published(float(_EPOCHS), CODE),
        "data.max_images": ours(1_000_000, "all images are read"),
        "data.image_size": published(256, CODE),
    }
