"""How a run is named in words: titles, summaries, severities."""

from __future__ import annotations

import math
from collections import Counter

from explorer.server.library import Run
from explorer.server.queue import Place
from trainers.config import LossChoice, ModelChoice, RunConfig
from trainers.data import SOURCES
from trainers.data.captioned.loader import named
from trainers.encoders import ENCODERS
from trainers.hierarchy import Hierarchy
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning import recipes
from trainers.losses import LOSSES


def loss_title(choice: LossChoice) -> str:
    """As printed in the catalogue; the bare name of a loss that this program does not know."""
    return LOSSES[choice.name].title if choice.name in LOSSES else choice.name


def kind(config: RunConfig) -> str:
    """``ranking``: losses on labelled images; ``mending``: an image-text model on object-removed photos."""
    return "ranking" if config.mend is None else "mending"


def arm_titles(config: RunConfig) -> list[str]:
    """One title per arm, all different: the same loss twice is told apart by its parameters, or by number."""
    if config.mend is not None:
        return recipes.titles([recipes.recipe(values) for values in config.mend.recipes])
    plain = [loss_title(choice) for choice in config.losses]
    often = Counter(plain)
    titles = [
        title if often[title] == 1 or not choice.parameters else f"{title} ({_parameters(choice)})"
        for title, choice in zip(plain, config.losses, strict=True)
    ]
    seen: Counter[str] = Counter()
    often = Counter(titles)
    for i, title in enumerate(titles):
        seen[title] += 1
        if often[title] > 1:
            titles[i] = f"{title} #{seen[title]}"
    return titles


def data_title(run: Run) -> str:
    """The name of the images: as read, or as asked for while they are not read yet."""
    if run.probe is not None:
        return run.probe.data_title
    mend = run.config.mend
    source = run.config.data.source if mend is None else mend.scenes.source
    made = named(source)
    if made is not None:
        return made.title
    if source in SOURCES:
        return SOURCES[source].title
    return source.rstrip("/").rsplit("/", 1)[-1]


def run_title(run: Run) -> str:
    """``Smooth-AP vs HAPPIER on Drawn world``, or ``Mending Tiny CLIP on Drawn scenes``."""
    if run.config.mend is not None:
        return f"Mending {model_title(run.config.mend.model)} on {data_title(run)}"
    return f"{' vs '.join(arm_titles(run.config))} on {data_title(run)}"


def summary(run: Run) -> str:
    """One line: images, encoder, batch, budget, seed."""
    config = run.config
    if config.mend is not None:
        parts = [
            data_title(run),
            model_title(config.mend.model),
            f"{config.mend.batch} pairs a step",
            _clipped(config),
            _budget(config),
            f"seed {config.seed}",
        ]
        return ", ".join(part for part in parts if part)
    parts = [
        data_title(run),
        ENCODERS[config.encoder].title if config.encoder in ENCODERS else config.encoder,
        f"{config.classes_per_batch} classes x {config.images_per_class} images",
        _clipped(config),
        _budget(config),
        f"seed {config.seed}",
    ]
    return ", ".join(part for part in parts if part)


def model_title(choice: ModelChoice) -> str:
    """As printed in the menu of image-text models; the bare name of one that this program does not know."""
    return MODELS[choice.name].title if choice.name in MODELS else choice.name


def waiting(place: Place | None) -> str:
    """How long a run waits for its turn; empty if it need not wait."""
    if place is None or place.minutes == 0:
        return ""
    time = "for how long is not known" if place.minutes is None else f"about {math.ceil(place.minutes)} min"
    return f"It is number {place.position} in line, {time}. The page may be closed meanwhile."


def severity_words(hierarchy: Hierarchy) -> list[str]:
    """``words[n]`` for a result that shares ``n`` levels with the query, 0 to L."""
    depth = hierarchy.depth
    return ["unrelated", *(f"same {hierarchy.levels[depth - shared]}" for shared in range(1, depth + 1))]


def _parameters(choice: LossChoice) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(choice.parameters.items()))


def _clipped(config: RunConfig) -> str:
    return "" if config.clip_norm is None else f"gradients clipped at norm {config.clip_norm:g}"


def _budget(config: RunConfig) -> str:
    steps = f"{config.steps} steps" if config.steps is not None else ""
    minutes = f"{config.minutes:g} min" if config.minutes is not None else ""
    epochs = f"{config.epochs:g} epochs" if config.epochs is not None else ""
    return " or ".join(part for part in (steps, epochs, minutes) if part)
