"""The comparisons of both papers, each as one run.

Sizes are ours, for small images and two CPU cores, wherever a title does not say otherwise. What the papers vary is
varied here too: the dictionary (figure 3 of MoCo), the momentum (its section 4.1), the temperature and the place of
the logarithm (SupCon, sections 3 and 4), one stage or two (SupCon, section 4), the batch (SupCon, figure 4b; SimCLR,
figure 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainers.config import DataChoice
from trainers.kinds.base import Preset
from trainers.parameters import Choice

_SMALL = {"queue": 2048, "momentum": 0.99}  # fewer keys than there are drawn images, 3,200


def _methods(name: str, **values: Any) -> tuple[Choice, ...]:
    """Make one method for each value of the one parameter that is a list."""
    (varied,) = (key for key, value in values.items() if isinstance(value, list))
    return tuple(Choice(name=name, parameters={**values, varied: value}) for value in values[varied])


def _preset(name: str, title: str, sentence: str, methods: tuple[Choice, ...], **settings: Any) -> Preset:
    return Preset(name=name, title=title, sentence=sentence, settings={"methods": methods, **settings})


_CIFAR: Mapping[str, Any] = {"augmentation": Choice(name="moco_v2", parameters={"blur": 0.0})}
"""SupCon's code on CIFAR: crops of 0.2 to 1, mirror, jitter 0.4 at probability 0.8, grey at 0.2, and no blur."""
_LABELLED: Mapping[str, Any] = {**_CIFAR, "optimiser": "adamw", "learning_rate": 0.003}
"""AdamW at 0.003 is ours, for runs of minutes; SupCon's code on CIFAR has SGD at 0.5 for a batch of 1,024."""

PRESETS = (
    _preset(
        "unsupervised",
        "MoCo beside SimCLR",
        "MoCo v1, MoCo v2 and SimCLR on the same views, without labels.",
        (
            Choice(name="moco_v1", parameters=_SMALL),
            Choice(name="moco_v2", parameters=_SMALL),
            Choice(name="simclr"),
        ),
    ),
    _preset(
        "mechanisms",
        "Three mechanisms",
        "End-to-end, a memory bank and MoCo with equally many negatives where they can have them; the dictionary of "
        "end-to-end training ends at the batch.",
        (
            Choice(name="end_to_end"),
            Choice(name="memory_bank", parameters={"negatives": 2048}),
            Choice(name="moco_v1", parameters={"queue": 256, "momentum": 0.99}),
            Choice(name="moco_v1", parameters=_SMALL),
        ),
    ),
    _preset(
        "dictionary",
        "Size of the dictionary",
        "MoCo with six queues; end-to-end training would stop at the keys of its batch.",
        _methods("moco_v1", momentum=0.99, queue=[64, 128, 256, 512, 1024, 2048]),
    ),
    _preset(
        "momentum",
        "Momentum of the key encoder",
        "MoCo with momentum 0, 0.9, 0.99, 0.999 and 0.9999. With 0 the paper's training fails; 0.9999 needs a long run "
        "to move at all.",
        _methods("moco_v1", queue=2048, momentum=[0.0, 0.9, 0.99, 0.999, 0.9999]),
    ),
    _preset(
        "temperature",
        "Temperature",
        "MoCo v2 at four temperatures.",
        _methods("moco_v2", **_SMALL, temperature=[0.05, 0.1, 0.2, 0.5]),
    ),
    _preset(
        "batch",
        "Batch size of SupCon",
        "SupCon with 32, 64, 128 and 256 images in an optimizer step, and the same images in an epoch. Sizes are ours; "
        "the paper's batch is 6,144.",
        _methods("supcon", batch=[32, 64, 128, 256]),
        **_CIFAR,
    ),
    _preset(
        "batch_simclr",
        "Batch size of SimCLR",
        "SimCLR with 32, 64, 128 and 256 images in an optimizer step, and the same images in an epoch. Sizes are ours; "
        "the paper compares 256 to 8,192.",
        _methods("simclr", batch=[32, 64, 128, 256]),
        augmentation=Choice(name="simclr", parameters={"strength": 0.5, "blur": 0.0}),
    ),
    _preset(
        "shuffling",
        "Shuffled and unshuffled keys",
        "MoCo with batch statistics in groups; without shuffling, a query can recognise its key by its group.",
        _methods("moco_v1", **_SMALL, shuffle=[True, False]),
    ),
    _preset(
        "supervised",
        "SupCon beside its baselines",
        "SupCon with the sum outside and inside the logarithm, cross-entropy and max-margin, after equally many steps. "
        "SupCon sees two views of each image in a step and takes about twice the processor time; its baselines see "
        "one.",
        (
            *_methods("supcon", positives=["out", "in"]),
            Choice(name="cross_entropy"),
            Choice(name="max_margin"),
        ),
        norm="batch",  # as SupCon has it in any case: nothing here has keys to tell apart
        **_LABELLED,
    ),
    _preset(
        "stages",
        "Two stages or one",
        "SupCon with its classifier in a second stage, beside it, and cross-entropy training as one stage, which sees "
        "half as many views.",
        (*_methods("supcon", joint=[False, True]), Choice(name="cross_entropy")),
        norm="batch",
        **_LABELLED,
    ),
    _preset(
        "supcon_queue",
        "SupCon with a queue",
        "SupCon within the batch and with queues of labelled keys.",
        (Choice(name="supcon"), *_methods("supcon_queue", momentum=0.99, queue=[1024, 2048])),
        **_LABELLED,
    ),
    _preset(
        "paper_moco_v1",
        "MoCo v1 as in its paper",
        "ResNet-50, 65,536 keys, 200 epochs of a million images of ImageNet, whose terms must be accepted on the Hub; "
        "then a linear classifier for 100 epochs at a rate of 30. Days on one GPU.",
        (Choice(name="moco_v1"),),
        encoder=Choice(name="timm", parameters={"model": "resnet50", "pretrained": False}),
        epochs=200.0,
        learning_rate=0.03,
        weight_decay=1e-4,
        schedule="step",
        warm_up=0,
        minutes=None,
        head_steps=390_600,
        head_learning_rate=30.0,
        head_augmentation=Choice(name="crop_flip", parameters={"smallest": 0.08}),
        augmentation=Choice(name="moco_v1"),
        data=DataChoice(
            source="ILSVRC/imagenet-1k",
            train_split="train",
            test_split="validation",
            held_out="images",
            image_size=224,
            max_images=1_000_000,
        ),
    ),
)
