"""Is this a run that can be started? Said before anything is loaded."""

from __future__ import annotations

from trainers.errors import ParameterError
from trainers.parameters import is_number, make
from trainers.types import MAX_LOSSES, OPTIMISERS, MendChoice, RunConfig

_RANGES = {
    "dim": (2, 4096),
    "classes_per_batch": (2, 2048),
    "images_per_class": (2, 256),
    "learning_rate": (1e-7, 1.0),
    "weight_decay": (0.0, 1.0),
    "memory": (0, 262_144),
    "memory_after": (0, 10_000_000),
    "seed": (0, 2**31 - 1),
    "probe_size": (20, 50_000),
}
_MENDING_RANGES = {"batch": (8, 4096), "queries": (10, 100_000), "gallery": (100, 10_000_000)}
CLIP_NORM_RANGE = (1e-3, 1e6)
LONGEST_MINUTES = 7 * 24 * 60
MOST_STEPS = 10_000_000
MOST_EPOCHS = 100_000
_MOST = {
    "steps": MOST_STEPS,
    "minutes": LONGEST_MINUTES,
    "epochs": MOST_EPOCHS,
    "halve_every": MOST_EPOCHS,
    "snapshot_steps": MOST_STEPS,
}


def check(config: RunConfig) -> None:
    """Check names, ranges and the budget.

    Raises:
        ParameterError: the first thing that is wrong, with what is accepted and what came.
        DataError: a source that may not be opened here.
    """
    from trainers.encoders import ENCODERS
    from trainers.losses import LOSSES
    from trainers.samplers import SAMPLERS

    for name, (low, high) in _RANGES.items():
        _check_range(name, getattr(config, name), low, high)
    if config.clip_norm is not None:
        _check_range("clip_norm", config.clip_norm, *CLIP_NORM_RANGE)
    _check_budget(config)
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
    from trainers.crossmodal.models import MODELS
    from trainers.data import access
    from trainers.mending.recipes import recipe, title
    from trainers.removal import captioner

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
    if mend.scenes.source == "drawn_scenes":
        from trainers.data.drawn_scenes import DrawnScenes

        make(DrawnScenes, dict(mend.scenes.parameters), "Drawn scenes")
    if not mend.scenes.source.strip():
        raise ParameterError("Mending needs photos: drawn_scenes, a folder or a Hub id; nothing came.")


def _check_source(source: str) -> None:
    """Where not everything may be opened, what may not be is refused before a run waits for its turn."""
    from trainers.data import SOURCES, access
    from trainers.data.captions import is_drawn
    from trainers.data.origin import resolve

    if access.restricted() and source not in SOURCES and not is_drawn(source):
        resolve(source)


def _check_range(name: str, value: object, low: float, high: float) -> None:
    if not is_number(value) or not low <= value <= high or (isinstance(low, int) and value != int(value)):
        words = "a whole number" if isinstance(low, int) else "a number"
        raise ParameterError(f"{name.replace('_', ' ')} needs {words} from {low:g} to {high:g}; {value!r} came.")


def _check_budget(config: RunConfig) -> None:
    if config.steps is None and config.minutes is None and config.epochs is None:
        raise ParameterError("A run needs a budget: steps, minutes or epochs; none came.")
    for name, most in _MOST.items():
        value = getattr(config, name)
        if value is not None and (not is_number(value) or not 0 < value <= most):
            label = name.replace("_", " ")
            raise ParameterError(f"{label} needs a number above 0 and at most {most}; {value!r} came.")
