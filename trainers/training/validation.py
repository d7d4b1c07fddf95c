"""Is this a run that can be started? Said before anything is loaded."""

from __future__ import annotations

from trainers.config import MAX_LOSSES, OPTIMISERS, MendChoice, RunConfig
from trainers.errors import ParameterError
from trainers.parameters import is_number, make

RANGES: dict[str, tuple[float, float]] = {
    "dim": (2, 4096),
    "classes_per_batch": (2, 2048),
    "images_per_class": (2, 256),
    "learning_rate": (1e-7, 1.0),
    "weight_decay": (0.0, 1.0),
    "memory": (0, 262_144),
    "memory_after": (0, 10_000_000),
    "seed": (0, 2**31 - 1),
    "probe_size": (20, 50_000),
    "clip_norm": (1e-3, 1e6),
    "steps": (0, 10_000_000),
    "minutes": (0, 7 * 24 * 60),
    "epochs": (0, 100_000),
    "halve_every": (0, 100_000),
    "snapshot_steps": (0, 10_000_000),
}
"""Least and most of each setting, both included but the least of those of :data:`_ABOVE`."""
_ABOVE = ("steps", "minutes", "epochs", "halve_every", "snapshot_steps")
_MENDING_RANGES = {"batch": (8, 4096), "queries": (10, 100_000), "gallery": (100, 10_000_000)}


def check(config: RunConfig) -> None:
    """Check names, ranges and the budget.

    Raises:
        ParameterError: the first thing that is wrong, with what is accepted and what came.
        DataError: a source that may not be opened here.
    """
    from trainers.encoders import ENCODERS
    from trainers.losses import LOSSES
    from trainers.samplers import SAMPLERS

    if config.steps is None and config.minutes is None and config.epochs is None:
        raise ParameterError("A run needs a budget: steps, minutes or epochs; none came.")
    optional = (*_ABOVE, "clip_norm")
    for name, (low, high) in RANGES.items():
        value = getattr(config, name)
        if value is not None or name not in optional:
            _check_range(name, value, low, high, above=name in _ABOVE)
    if config.optimiser not in OPTIMISERS:
        raise ParameterError(f"There is no optimiser {config.optimiser!r}; choose from {', '.join(OPTIMISERS)}.")
    if config.mend is not None:
        _check_mending(config.mend)
        return
    _check_source(config.data.source)
    if not 1 <= len(config.losses) <= MAX_LOSSES:
        raise ParameterError(f"A run compares one to {MAX_LOSSES} losses; {len(config.losses)} came.")
    for choice in config.losses:
        if choice.name not in LOSSES:
            raise ParameterError(f"There is no loss {choice.name!r}; choose from {', '.join(LOSSES)}.")
        make(LOSSES[choice.name].parameters, dict(choice.parameters), LOSSES[choice.name].title)
    if config.encoder not in ENCODERS:
        raise ParameterError(f"There is no encoder {config.encoder!r}; choose from {', '.join(ENCODERS)}.")
    encoder = ENCODERS[config.encoder]
    make(encoder.parameters, dict(config.encoder_parameters), encoder.title)
    if config.sampler not in SAMPLERS:
        raise ParameterError(f"There is no sampler {config.sampler!r}; choose from {', '.join(SAMPLERS)}.")


def _check_mending(mend: MendChoice) -> None:
    from trainers.data import access
    from trainers.data.captioned.loader import named
    from trainers.image_text.models import MODELS
    from trainers.kinds.finetuning.recipes import recipe, title
    from trainers.object_removal import captioner

    if not 1 <= len(mend.recipes) <= MAX_LOSSES:
        raise ParameterError(f"A run compares one to {MAX_LOSSES} recipes; {len(mend.recipes)} came.")
    for found in map(recipe, mend.recipes):
        if found.captioner and access.public():
            raise ParameterError("A captioner cannot be named on a public page. Choose phrases or prompts.")
        reason = captioner.missing(found.captioner) if found.removed and found.text == "captioner" else None
        if reason is not None:
            raise ParameterError(
                f"No captioner can be had for the recipe {title(found)}: {reason} Another BLIP captioner can be named "
                "in `captioner`, as a folder or a Hub id."
            )
    if mend.model.name not in MODELS:
        raise ParameterError(f"There is no image-text model {mend.model.name!r}; choose from {', '.join(MODELS)}.")
    model = MODELS[mend.model.name]
    if not model.trainable:
        raise ParameterError(f"{model.title} cannot be fine-tuned here; choose another model.")
    reason = model.missing(model.checked(mend.model.parameters))
    if reason is not None:
        raise ParameterError(reason)
    for name, (low, high) in _MENDING_RANGES.items():
        _check_range(name, getattr(mend, name), low, high)
    for source in filter(None, (mend.scenes.source, mend.scenes.captions_from)):
        _check_source(source)
    made = named(mend.scenes.source)
    if made is not None and made.parameters is not None:
        make(made.parameters, dict(mend.scenes.parameters), made.title)
    if not mend.scenes.source.strip():
        raise ParameterError("Mending needs photos: drawn_scenes, a folder or a Hub id; nothing came.")


def _check_source(source: str) -> None:
    """Where not everything may be opened, what may not be is refused before a run waits for its turn."""
    from trainers.data import SOURCES, access
    from trainers.data.captioned.loader import named
    from trainers.data.sources import resolve

    if access.restricted() and source not in SOURCES and named(source) is None:
        resolve(source)


def _check_range(name: str, value: object, low: float, high: float, *, above: bool = False) -> None:
    label = name.replace("_", " ")
    if above:
        if not is_number(value) or not low < value <= high:
            raise ParameterError(f"{label} needs a number above {low:g} and at most {high}; {value!r} came.")
    elif not is_number(value) or not low <= value <= high or (isinstance(low, int) and value != int(value)):
        words = "a whole number" if isinstance(low, int) else "a number"
        raise ParameterError(f"{label} needs {words} from {low:g} to {high:g}; {value!r} came.")
