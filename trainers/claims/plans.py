"""The plans that claims name, on the drawn worlds at sizes of ours: small images, a small net, few steps.

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
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from trainers.config import DataChoice, SceneChoice
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice, parse_choice
from trainers.plans.config import FairComparisonConfig, SweepConfig

SEEDS = (0, 1, 2, 3, 4)
TRIALS, SEARCH_STEPS, PRETRAINING_SEARCH_STEPS = 4, 200, 80
"""Learning rates that are tried for each side, on two folds of the training data; steps of a trial, of losses and
of methods."""
_NONE: Mapping[str, Any] = MappingProxyType({})
_HERE: Mapping[str, Any] = MappingProxyType({"minutes": None, "device": "cpu", "threads": 1, "snapshot_steps": 10_000})
_NET = Choice(name="conv4", parameters={"width": 16})


@dataclasses.dataclass(frozen=True)
class ClaimPlan:
    """What is run for claims.

    Attributes:
        minutes: guess of the processor minutes of its runs.
        make: makes the plan.
        begins: makes the plan whose encoders the runs start from, seed by seed; None: they start anew.
        arms: titles of its arms by what the papers call them, where that is something else.
    """

    minutes: float
    make: Callable[[], SweepConfig]
    begins: Callable[[], SweepConfig] | None = None
    arms: Mapping[str, str] = dataclasses.field(default_factory=dict)


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
        "recipes": given,
        "scenes": SceneChoice(limit=1500),
        "batch": 64,
        "steps": 60,
        **_HERE,
    }
    return SweepConfig(run=FinetuningConfig(**settings), seeds=SEEDS)


def clean_encoder() -> SweepConfig:
    """Plan the encoders that the fine-tunings under noise start from: trained on right labels of another world,
    with the seed of their search too.
    """
    plan = losses(_CONTRASTIVE, data=DataChoice(image_size=32, seed=1))
    return dataclasses.replace(plan, seeds=(*SEEDS, FairComparisonConfig.search_seed))


def noise_from_clean() -> SweepConfig:
    """Plan fine-tunings under noise from :func:`clean_encoder`, with rates around a tenth of the usual one."""
    tuned = {"steps": 300, "learning_rate": 4e-4, "frozen_norm": True, "backbone_rate": 0.5}
    return losses(*_PAIRS[:2], vary={"label_noise": [0.4]}, search=True, **tuned)


def supervised() -> SweepConfig:
    """Plan SupCon and its baselines in batches of 256 images."""
    every = ("supcon:positives=out", "supcon:positives=in", "cross_entropy", "max_margin", "simclr")
    return methods(*every, select_by="probe_accuracy", batch=256, steps=240, **_VIEWS)


def _moco(written: str, *values: object) -> tuple[str, ...]:
    return tuple(f"moco_v1:{written.format(value)}" for value in values)


_CONTRASTIVE = "contrastive:pos_margin=0.707,neg_margin=0.894"
"""The baseline of the contextual loss: as distances the margins of the published code, cosines of 0.75 and 0.6."""
_PAIRS = ("contextual", _CONTRASTIVE, "multi_similarity")
_TIED = ("contextual", "contrastive", "multi_similarity", "supcon_out", "roadmap", "happier")
_BY_PAIRS = "roadmap:terms=table_ii_pairs"
_RANKS = ("smooth_ap", "sup_ap", "roadmap", _BY_PAIRS, "smooth_recall", "rod_recall")
_ROADMAP = {"ROADMAP": "ROADMAP (terms tables_i_iii_proxies)", "ROADMAP with pairs": "ROADMAP (terms table_ii_pairs)"}
_QUEUES = _moco("queue={},momentum=0.99", 128, 512, 2048)
_SHUFFLES = _moco("queue=1024,momentum=0.99,shuffle={}", "true", "false")
_QUEUED = "supcon_queue:queue=1024,momentum=0.99"
_VIEWS: Mapping[str, Any] = {"augmentation": Choice(name="moco_v2", parameters={"blur": 0.0})}
_D = {"removed": False}

PLANS: Mapping[str, ClaimPlan] = MappingProxyType(
    {
        # the losses of Tables V, VI and IX
        "hierarchy": ClaimPlan(5, lambda: losses("smooth_ap", "happier", "happier_f", "rod_ndcg", "csl", search=True)),
        # Table II: without the bound, with it, and with a decomposability term of proxies or pairs
        "ranks": ClaimPlan(4, lambda: losses(*_RANKS, search=True), arms=_ROADMAP),
        # figure 6: the same losses at a small and a larger batch, and their decomposability gap
        "batches": ClaimPlan(4, lambda: losses("sup_ap", "roadmap", vary={"classes_per_batch": [6, 24]})),
        # the bound with pairs, with proxies and alone, in batches of 256 images; the first arm pays for the start
        "cost": ClaimPlan(
            6, lambda: losses(_BY_PAIRS, "roadmap", "sup_ap", classes_per_batch=64, steps=200), arms=_ROADMAP
        ),
        # the contextual loss and two pair losses, with none, 20 % and 40 % of the labels wrong
        "noise": ClaimPlan(5, lambda: losses(*_PAIRS, vary={"label_noise": [0.0, 0.2, 0.4]}, search=True)),
        # most of the training classes withheld
        "withheld": ClaimPlan(4, lambda: losses(*_PAIRS[:2], vary={"withheld_classes": [0.75]}, search=True)),
        # little and much of the contrastive term
        "contextual_lambda": ClaimPlan(3, lambda: losses("contextual", vary={"contextual.lam": [0.2, 0.4, 1.0]})),
        # neighbourhoods of the class's size, and of another
        "contextual_k": ClaimPlan(3, lambda: losses("contextual", vary={"contextual.k": [2, 4, 8]})),
        "noise_from_clean": ClaimPlan(5, noise_from_clean, begins=clean_encoder),
        # backgrounds that tell nothing, and backgrounds that are tied to the classes trained on
        "tied_backgrounds": ClaimPlan(12, lambda: losses(*_TIED, vary={"source": ["drawn", "drawn:bias=0.9"]})),
        # the momentum, with queues of fewer keys than there are images
        "momentum": ClaimPlan(5, lambda: methods(*_moco("queue=1024,momentum={}", 0.0, 0.9, 0.99, 0.999))),
        # the contrastive mechanisms: a queue of three sizes, end-to-end training, a memory bank
        "dictionary": ClaimPlan(6, lambda: methods(*_QUEUES, "end_to_end", "memory_bank:negatives=2048")),
        # shuffled and unshuffled keys, with batch statistics in groups
        "shuffling": ClaimPlan(3, lambda: methods(*_SHUFFLES, norm="split", splits=8)),
        "temperature": ClaimPlan(3, lambda: methods("supcon:temperature=0.1", "supcon:temperature=1", **_VIEWS)),
        # the sum over positives outside and inside the logarithm, and SupCon's baselines
        "supervised": ClaimPlan(6, supervised),
        # the classifier in a second stage, and beside the encoder
        "stages": ClaimPlan(4, lambda: methods("supcon:joint=false", "supcon:joint=true", head_steps=200, **_VIEWS)),
        # a small batch with and without a queue
        "small_batches": ClaimPlan(3, lambda: methods("supcon", _QUEUED, batch=32, **_VIEWS)),
        # Tables 1 to 3: originals, and object-removed pairs with three fills and another caption edit
        "removal": ClaimPlan(6, lambda: recipes(_D, {}, {"fill": "zero"}, {"fill": "blur"}, {"text": "prompts"})),
        # figure 4: more and more removed pairs per original pair
        "ratios": ClaimPlan(
            6, lambda: recipes(_D, *({"ratio": ratio, "captions_each": 5} for ratio in (0.02, 0.1, 0.4)))
        ),
    }
)
"""The plans by name."""
