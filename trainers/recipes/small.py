"""A recipe at small scale: the same losses, sampler and order of work on a stand-in, with a small net and few steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainers.config import BUDGET
from trainers.parameters import Choice, flat
from trainers.plans.config import SweepConfig
from trainers.recipes.base import Recipe, configured
from trainers.recipes.differences import differences, in_words
from trainers.recipes.stand_in import MOST, SIDE, stand_in

SEEDS = (0, 1)
LABELLED: Mapping[str, Any] = {
    "encoder": Choice(name="conv4", parameters={"width": 16}),
    "frozen_norm": False,
    "data.train_split": None,
    "data.test_split": None,
    "data.image_size": SIDE,
    "data.max_images": MOST,
    "probe_size": 200,
    "warm_up": 5,
}
"""On images with labels: a random net has no statistics to freeze."""
_LARGEST = {"dim": 32, "classes_per_batch": 12, "memory": 500, "memory_after": 10, "batch": 64, "head_steps": 50}
_QUEUE = 512
_MOST_RATE = {"adam": 4e-3, "adamw": 4e-3, "sgd": 0.05, "lars": 0.3, "rmsprop": 1e-3}
_STEPS = {"metric_learning": 40, "contrastive": 30, "finetuning": 10}
_SCENES: Mapping[str, Any] = {
    "scenes.source": "drawn_scenes",
    "scenes.limit": 100,
    "model": Choice(name="tiny_clip"),
    "batch": 32,
    "queries": 50,
    "gallery": 100,
}
_NEEDS_WEIGHTS = "captioner"


@dataclass(frozen=True, kw_only=True)
class Small:
    """A recipe at small scale.

    Attributes:
        arms: those of the recipe that are trained, as it writes them.
        scaled: every setting that is another, in words.
    """

    config: SweepConfig
    arms: tuple[str, ...]
    scaled: tuple[str, ...]


def small(recipe: Recipe, folder: Path) -> Small:
    """Make the sweep that rehearses a recipe in a minute or two.

    Args:
        folder: where the images of the stand-in are written.
    """
    full = recipe.values()
    arms = tuple(arm for arm in recipe.arms.value if f"text={_NEEDS_WEIGHTS}" not in arm)
    kept = [value for arm, value in zip(recipe.arms.value, full[recipe.arms_setting], strict=True) if arm in arms]
    values = full | _changes(recipe, folder) | {recipe.arms_setting: tuple(map(_small_arm, kept))}
    steps = _STEPS[recipe.kind]
    values |= dict.fromkeys(BUDGET) | {"steps": steps, "snapshot_steps": steps}  # frames first and last: each is scored
    run = configured(recipe.of, values)
    left_out = tuple(f"left out: {arm}, which needs weights" for arm in recipe.arms.value if arm not in arms)
    scaled = (*differences(recipe.config().run, run), f"seeds: {in_words(recipe.config().seeds)} → {in_words(SEEDS)}")
    return Small(config=SweepConfig(run=run, seeds=SEEDS), arms=arms, scaled=(*scaled, *left_out))


def _changes(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Return the settings, by whole name, that are others at small scale."""
    config = recipe.config().run
    known = dict(flat(recipe.of.config))
    sizes = {name: min(getattr(config, name), most) for name, most in _LARGEST.items() if name in known}
    rate = min(config.learning_rate, _MOST_RATE[config.optimiser])
    if not recipe.dataset.levels:
        return {**_SCENES, "learning_rate": _MOST_RATE["adam"] / 20}
    if recipe.kind == "contrastive":  # its test images are of the classes that it trains on
        head = {"data.source": "drawn", "head_learning_rate": 0.1}
        return {**LABELLED, **sizes, **head, "learning_rate": rate}
    rate = _MOST_RATE[config.optimiser]  # a random net needs more than a pretrained one
    return {**LABELLED, **sizes, "data.source": stand_in(recipe.dataset.levels, folder), "learning_rate": rate}


def _small_arm(arm: Any) -> Any:
    """Return an arm whose queue is no longer than there are images."""
    from trainers.kinds.contrastive.methods import METHODS

    if not isinstance(arm, Choice) or arm.name not in METHODS:
        return arm
    fields = {field.name for field in dataclasses.fields(METHODS[arm.name].parameters)}
    smaller: dict[str, Any] = {name: _QUEUE for name in ("queue", "negatives") if name in fields}
    return Choice(name=arm.name, parameters={**arm.parameters, **smaller})
