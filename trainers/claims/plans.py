"""The plans that several claims share, on the drawn worlds at sizes of ours: small images, a small net, few steps.

Claims with the same plan are decided by the same runs. Sizes were fixed with other seeds than those that are compared.
Losses have 600 steps and methods 480: in pilots with seeds 10 to 14 and 99 a third or a quarter of that left them half
trained. Of MoCo (momentum 0.99) the k-NN accuracy was 8 % after 480 steps and 10 % after 1,500. SupCon and its
baselines are compared in batches of 256: in one of 64 a third of the images have another of their class. The accuracy
of its classifier was 15 % after 480 steps of 64 images, and 26 % after 240 of 256.

Plans that compare losses, or SupCon with its baselines, search the learning rate of every side first, with the same
budget: the papers' rates are for other encoders and images. Ablations, whose sides differ in one setting, keep the rate
as the papers' do. So do MoCo's mechanisms, and fine-tunings of an image-text model, which have no folds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from trainers.claims.base import Side
from trainers.config import DataChoice, SceneChoice
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice, parse_choice
from trainers.plans.config import FairComparisonConfig, SweepConfig

SEEDS = (0, 1, 2, 3, 4)
ROADMAP = Side(arm="ROADMAP (terms tables_i_iii_proxies)", name="ROADMAP")
ROADMAP_PAIRS = Side(arm="ROADMAP (terms table_ii_pairs)", name="ROADMAP with pairs")
"""The two of :func:`ranks` and :func:`cost`, by what they are called in the paper."""
CONTRASTIVE = "contrastive:pos_margin=0.707,neg_margin=0.894"
"""The baseline of the contextual loss: as distances the margins of the published code, cosines of 0.75 and 0.6."""
TRIALS, SEARCH_STEPS, PRETRAINING_SEARCH_STEPS = 4, 200, 80
"""Learning rates that are tried for each side, on two folds of the training data; steps of a trial, of losses and
of methods."""
OURS = (
    "The drawn world in place of photographs: 96 pots in 16 shapes on 4 shelves to train on, 80 others to test on, at "
    "32 pixels; a small convolutional net from random weights, and minutes in place of days.",
)
"""What is ours in every plan of this module that learns a metric."""
OURS_PAIRS = (
    *OURS,
    "The contrastive loss has the margins of the published code, which our text of the paper does not give. Of the "
    "baselines the learning rate alone is searched.",
)
"""The same where the contextual loss is compared with the contrastive one."""
OURS_LEVELS = (
    *OURS,
    "The drawn world favours losses on levels: what tells pots apart tells nothing about their shape or shelf.",
)
"""The same where losses on levels are compared."""
OURS_TABLE_II = (
    *OURS,
    "Which row of Table II has the proxies is our reading: its symbols are lost in our text. Section VII-A2 names "
    "pairs (Eq. 7) before proxies (Eq. 8), hence the second row, whose figures Table III repeats.",
)
"""The same where rows of Table II with a decomposability term are compared."""
OURS_SHOWN = "That it is higher or lower is decided, not by how much."
"""What is ours where a paper gives an extent, and the margin is 0."""
OURS_MARGIN = "The margin of 2 points is ours."
OURS_PRETRAINED = (
    "The drawn world in place of ImageNet: 176 pots at 32 pixels, other images of the same pots to test on; a small "
    "convolutional net, and minutes in place of days.",
)
"""What is ours in every plan of this module that pretrains."""
OURS_OPTIMISER = "AdamW with batch normalisation, in place of LARS, RMSProp or SGD."
"""What is ours in every plan of this module that pretrains, besides."""
OURS_PROBE = (
    "A linear probe of the frozen encoder decides for every method, its learning rate chosen on a tenth of the "
    "training images."
)
"""What is ours where it does."""
OURS_CONTRASTIVE = (*OURS_PRETRAINED, OURS_OPTIMISER, OURS_PROBE)
"""All of it where methods are compared in batches of 64."""
OURS_UNTRAINED = (
    "At this scale the methods end hardly above untrained weights: by k-NN 6 to 10 % of 200 test images, against 6 %."
)
"""What is ours where mechanisms of MoCo are compared."""
OURS_BATCHES = "Batches of 256 images of 176 classes in place of 6,144 of 1,000."
"""What is ours where methods with labels are compared."""
OURS_LABELLED = (*OURS_PRETRAINED, OURS_OPTIMISER, OURS_BATCHES, OURS_PROBE)
"""All of it."""
OURS_VIEWS = "SupCon sees two views of an image in a step, its baseline one."
"""What is ours where SupCon is compared with cross-entropy or max-margin."""
OURS_SCENES = (
    "Drawn scenes and a small CLIP, trained on drawn scenes before, in place of COCO and ViT-B; the fill is Telea's in "
    "place of a network.",
    "All sides have 60 steps of 64 pairs: object-removed pairs take the place of originals.",
)
"""What is ours in every plan of this module that fine-tunes an image-text model."""

_NONE: Mapping[str, Any] = MappingProxyType({})
_HERE: Mapping[str, Any] = MappingProxyType({"minutes": None, "device": "cpu", "threads": 1, "snapshot_steps": 10_000})
_NET = Choice(name="conv4", parameters={"width": 16})


def _choices(written: tuple[str, ...]) -> tuple[Choice, ...]:
    return tuple(Choice(name=name, parameters=given) for name, given in map(parse_choice, written))


def searched(
    run: MetricLearningConfig | ContrastiveConfig, vary: Mapping[str, Any], select_by: str, steps: int
) -> SweepConfig:
    """Plan runs whose learning rate is searched for each arm and condition.

    Args:
        select_by: metric on the folds that decides.
        steps: of a trial, at most.
    """
    return FairComparisonConfig(
        run=run,
        seeds=SEEDS,
        vary=dict(vary),
        trials=TRIALS,
        searched="rate",
        compare_given=False,
        search_steps=min(steps, run.steps or steps),
        select_by=select_by,
    )


def losses(*written: str, vary: Mapping[str, Any] = _NONE, search: bool = False, **changes: Any) -> SweepConfig:
    """Plan losses on the drawn world: 600 steps of 12 classes x 4 images.

    Args:
        written: losses with parameters, as on the command line.
        search: see :func:`searched`; mAP@R decides.
        changes: other settings of the runs.
    """
    settings: dict[str, Any] = {
        "losses": _choices(written),
        "data": DataChoice(image_size=32),
        "encoder": _NET,
        "dim": 32,
        "classes_per_batch": 12,
        "steps": 600,
        "probe_size": 200,
        **_HERE,
    }
    run = MetricLearningConfig(**settings | changes)
    if search:
        return searched(run, vary, "AP_at_R", SEARCH_STEPS)
    return SweepConfig(run=run, seeds=SEEDS, vary=dict(vary))


def methods(*written: str, select_by: str = "", **changes: Any) -> SweepConfig:
    """Plan contrastive methods on the drawn world: 480 steps of 64 images.

    Args:
        written: methods with parameters, as on the command line.
        select_by: see :func:`searched`; empty: nothing is searched.
        changes: other settings of the runs.
    """
    settings: dict[str, Any] = {
        "methods": _choices(written),
        "data": DataChoice(image_size=32, held_out="images"),
        "encoder": _NET,
        "dim": 64,
        "batch": 64,
        "steps": 480,
        "optimiser": "adamw",
        "learning_rate": 0.003,
        "norm": "batch",
        "head_steps": 0,
        "probe_size": 200,
        **_HERE,
    }
    run = ContrastiveConfig(**settings | changes)
    return searched(run, {}, select_by, PRETRAINING_SEARCH_STEPS) if select_by else SweepConfig(run=run, seeds=SEEDS)


def recipes(*given: Mapping[str, Any]) -> SweepConfig:
    """Plan fine-tunings of the small CLIP on 1,500 drawn scenes: 60 steps of 64 pairs."""
    settings: dict[str, Any] = {
        "recipes": tuple(given),
        "scenes": SceneChoice(limit=1500),
        "batch": 64,
        "steps": 60,
        **_HERE,
    }
    return SweepConfig(run=FinetuningConfig(**settings), seeds=SEEDS)


# ------------------------------------------------------------------ rank losses


def hierarchy() -> SweepConfig:
    """Plan the losses of Tables V, VI and IX."""
    return losses("smooth_ap", "happier", "happier_f", "rod_ndcg", "csl", search=True)


def ranks() -> SweepConfig:
    """Plan the losses of Table II: without the bound, with it, and with a decomposability term of proxies or pairs."""
    every = ("smooth_ap", "sup_ap", "roadmap", "roadmap:terms=table_ii_pairs", "smooth_recall", "rod_recall")
    return losses(*every, search=True)


def batches() -> SweepConfig:
    """Plan figure 6: the same losses at a small and a larger batch, and their decomposability gap."""
    return losses("sup_ap", "roadmap", vary={"classes_per_batch": [6, 24]})


def cost() -> SweepConfig:
    """Plan the bound with pairs, with proxies and alone, in batches of 256 images; the first arm pays for the start."""
    return losses("roadmap:terms=table_ii_pairs", "roadmap", "sup_ap", classes_per_batch=64, steps=200)


# ------------------------------------------------------------------- contextual


def noise() -> SweepConfig:
    """Plan the contextual loss and two pair losses, with none, 20 % and 40 % of the labels wrong."""
    return losses("contextual", CONTRASTIVE, "multi_similarity", vary={"label_noise": [0.0, 0.2, 0.4]}, search=True)


def withheld() -> SweepConfig:
    """Plan the contextual and the contrastive loss with most of the training classes withheld."""
    return losses("contextual", CONTRASTIVE, vary={"withheld_classes": [0.75]}, search=True)


def contextual_lambda() -> SweepConfig:
    """Plan the contextual loss with little and much of its contrastive term."""
    return losses("contextual", vary={"contextual.lam": [0.2, 0.4, 1.0]})


def contextual_k() -> SweepConfig:
    """Plan the contextual loss with neighbourhoods of the class's size, and of another."""
    return losses("contextual", vary={"contextual.k": [2, 4, 8]})


def clean_encoder() -> SweepConfig:
    """Plan the encoders that the fine-tunings under noise start from: trained on right labels of another world,
    with the seed of their search too.
    """
    plan = losses(CONTRASTIVE, data=DataChoice(image_size=32, seed=1))
    return dataclasses.replace(plan, seeds=(*SEEDS, FairComparisonConfig.search_seed))


def noise_from_clean() -> SweepConfig:
    """Plan fine-tunings under noise from :func:`clean_encoder`, with rates around a tenth of the usual one."""
    tuned = {"steps": 300, "learning_rate": 4e-4, "frozen_norm": True, "backbone_rate": 0.5}
    return losses("contextual", CONTRASTIVE, vary={"label_noise": [0.4]}, search=True, **tuned)


def tied_backgrounds() -> SweepConfig:
    """Plan losses on backgrounds that tell nothing, and on backgrounds that are tied to the classes trained on."""
    pairs = ("contextual", "contrastive", "multi_similarity")
    return losses(*pairs, "supcon_out", "roadmap", "happier", vary={"source": ["drawn", "drawn:bias=0.9"]})


# ------------------------------------------------------------------ contrastive


def momentum() -> SweepConfig:
    """Plan the ablation of the momentum, queues of fewer keys than there are images."""
    return methods(*(f"moco_v1:queue=1024,momentum={value}" for value in (0.0, 0.9, 0.99, 0.999)))


def dictionary() -> SweepConfig:
    """Plan the ablation of the contrastive mechanisms: a queue of three sizes, end-to-end training, a memory bank."""
    queues = (f"moco_v1:queue={size},momentum=0.99" for size in (128, 512, 2048))
    return methods(*queues, "end_to_end", "memory_bank:negatives=2048")


def shuffling() -> SweepConfig:
    """Plan shuffled and unshuffled keys, with batch statistics in groups."""
    both = (f"moco_v1:queue=1024,momentum=0.99,shuffle={each}" for each in ("true", "false"))
    return methods(*both, norm="split", splits=8)


_VIEWS = Choice(name="moco_v2", parameters={"blur": 0.0})


def temperature() -> SweepConfig:
    """Plan temperatures of SupCon."""
    return methods("supcon:temperature=0.1", "supcon:temperature=1", augmentation=_VIEWS)


def supervised() -> SweepConfig:
    """Plan SupCon, with the sum over positives outside and inside the logarithm, beside its baselines, in batches of
    256 images; scored on test images with and without corruptions.
    """
    every = ("supcon:positives=out", "supcon:positives=in", "cross_entropy", "max_margin", "simclr")
    return methods(*every, select_by="probe_accuracy", batch=256, steps=240, augmentation=_VIEWS, corruptions=True)


def stages() -> SweepConfig:
    """Plan SupCon with its classifier in a second stage, and beside it."""
    return methods("supcon:joint=false", "supcon:joint=true", head_steps=200, augmentation=_VIEWS)


def small_batches() -> SweepConfig:
    """Plan SupCon at a small batch with and without a queue."""
    return methods("supcon", "supcon_queue:queue=1024,momentum=0.99", batch=32, augmentation=_VIEWS)


# --------------------------------------------------------------------- spurious

D: Mapping[str, Any] = MappingProxyType({"removed": False})


def removal() -> SweepConfig:
    """Plan Tables 1 to 3: originals, and object-removed pairs with three fills and another caption edit."""
    return recipes(dict(D), {}, {"fill": "zero"}, {"fill": "blur"}, {"text": "prompts"})


def ratios() -> SweepConfig:
    """Plan figure 4: more and more removed pairs per original pair."""
    return recipes(dict(D), *({"ratio": ratio, "captions_each": 5} for ratio in (0.02, 0.1, 0.4)))
