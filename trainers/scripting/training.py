"""Training from a program: the settings of the command line, by name, and the run that came of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainers.cli.start import created
from trainers.cli.work import trained
from trainers.errors import RunError
from trainers.kinds import KINDS
from trainers.parameters import Choice, Spec, parse_choice, specs
from trainers.plans import PLANS
from trainers.plans.config import apart
from trainers.plans.plain import configured
from trainers.scripting.opened import OpenedRun
from trainers.training.interrupts import kept

Data = str | os.PathLike[str] | Mapping[str, Any] | None


def train(
    data: Data = None, losses: Sequence[Any] = (), *, runs: str | Path = "runs", quiet: bool = False, **settings: Any
) -> OpenedRun:
    """Train one encoder under each of several losses, in lockstep, and return the finished run.

    Args:
        data: a folder of images, the id of a Hub dataset, the name of a drawn one, or ``{"source": ..., "image_size":
            ...}``; None: the drawn images of the first page.
        losses: names with parameters, ``"roadmap:preset=sop"``, or ``{"name": ..., "parameters": {...}}``.
        runs: folder of the runs; the page shows those of the folder that it is given.
        quiet: do not print how far it is.
        settings: the others of ``train --help``, such as ``steps``, ``minutes``, ``encoder``, ``dim``, ``seed``.

    Raises:
        UserError: a setting is unknown or wrong, or the images cannot be read; the message says what to do.
        RunError: the training failed.
        KeyboardInterrupt: after Ctrl-C, with a checkpoint written; ``resume`` goes on.
    """
    return _trained("train", {"data": data, "losses": losses, **settings}, Path(runs), quiet)


def pretrain(
    data: Data = None, methods: Sequence[Any] = (), *, runs: str | Path = "runs", quiet: bool = False, **settings: Any
) -> OpenedRun:
    """Pretrain an encoder under each of several contrastive methods, such as ``"moco_v2:queue=4096"`` or ``"supcon"``.

    See :func:`train`.
    """
    return _trained("pretrain", {"data": data, "methods": methods, **settings}, Path(runs), quiet)


def finetune(
    scenes: Data = None, recipes: Sequence[Any] = (), *, runs: str | Path = "runs", quiet: bool = False, **settings: Any
) -> OpenedRun:
    """Fine-tune an image-text model with object-removed images after each of several recipes (Kim et al. 2023, 3.3).

    Args:
        scenes: images with captions and objects: a COCO folder, or ``{"source": ...}``; None: drawn scenes.
        recipes: mappings, such as ``{"removed": False}``; ``{}`` is the default recipe.
        runs, quiet, settings: see :func:`train`, whose errors it raises.
    """
    return _trained("finetune", {"scenes": scenes, "recipes": recipes, **settings}, Path(runs), quiet)


def sweep(
    data: Data = None,
    losses: Sequence[Any] = (),
    *,
    seeds: int | Sequence[int] = 3,
    vary: Mapping[str, Sequence[Any]] | None = None,
    runs: str | Path = "runs",
    quiet: bool = False,
    **settings: Any,
) -> OpenedRun:
    """Train every loss with several seeds, and each setting of ``vary``; differences then have intervals.

    Args:
        data, losses, runs, quiet, settings: see :func:`train`, whose errors it raises. ``of`` names another kind of
            run, such as ``"contrastive"``.
        seeds: their number, or the seeds.
        vary: values to try of settings, such as ``{"dim": [32, 64]}``, or of parameters, ``{"happier.alpha": [1, 5]}``.
    """
    values = {"data": data, "losses": losses, "seeds": seeds, "vary": dict(vary or {}), **settings}
    return _trained("sweep", values, Path(runs), quiet)


def _trained(verb: str, values: Mapping[str, Any], runs: Path, quiet: bool) -> OpenedRun:
    kinds: dict[str, Any] = {started.verb: started for started in (*KINDS.values(), *PLANS.values())}
    folder = created(configured(kinds[verb].name, _plain(kinds[verb], values)), runs)
    with kept():
        state = trained(folder, quiet)
    if state.phase == "interrupted":
        raise KeyboardInterrupt
    if state.phase != "finished":
        raise RunError(f"The run {folder.id} ended as {state.phase}: {state.error or state.message}")
    return OpenedRun(folder)


def _plain(started: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given, by name, as ``config.json`` spells it: without what keeps its default."""
    config = started.config
    if started.name in PLANS:
        of_plan, name, values = apart(config, values)
        return {**of_plan, "of": name, **_plain(KINDS[name], values)} if name in KINDS else {**of_plan, "of": name}
    known = {spec.name: spec for spec in specs(config)}
    empty = {"data", "scenes", "losses", "methods", "recipes"}
    given = {name: value for name, value in values.items() if not (name in empty and value in (None, (), []))}
    return {name: _spelled(value, known[name]) if name in known else value for name, value in given.items()}


def _spelled(value: Any, spec: Spec) -> Any:
    if spec.nested and isinstance(value, (str, os.PathLike)):
        return {"source": os.fspath(value)}
    if (spec.item or spec.type) is Choice and isinstance(value, str):
        name, parameters = parse_choice(value, spec.rule.entries())
        return {"name": name, "parameters": parameters}
    if isinstance(value, (list, tuple)):
        return [_spelled(each, spec) for each in value]
    return value
