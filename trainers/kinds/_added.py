"""Kinds of run from further folders: what cannot be used there is left out, with a sentence, and stops nothing else."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from trainers.config import PLAN_VERBS
from trainers.kinds.base import Kind
from trainers.parameters import specs
from trainers.registry import descriptors

VARIABLE = "RANKSCOPE_KINDS"
_TEXTS = ("name", "title", "verb", "sentence")


def added_kinds(
    package: ModuleType, folders: str, built_in: Mapping[str, Kind]
) -> tuple[Mapping[str, Kind], tuple[str, ...]]:
    """Import every package in some folders as a part of ``package``.

    Args:
        folders: separated as in ``PATH``.
        built_in: the kinds that are there already.

    Returns:
        The kinds by name, and a sentence for everything that is left out.
    """
    paths = [path for path in folders.split(os.pathsep) if path]
    said = [sentence for path in paths if (sentence := _wrong_folder(path))]
    taken = {info.name for info in pkgutil.iter_modules(package.__path__)}
    package.__path__.extend(paths)
    added: dict[str, Kind] = {}
    for info in pkgutil.iter_modules(paths):
        if info.name.startswith("_"):
            continue
        try:
            if info.name in taken:
                raise ValueError("another module has this name; rename the folder")
            for kind in _kinds(importlib.import_module(f"{package.__name__}.{info.name}")):
                _check(kind, {**built_in, **added})
                added[kind.name] = kind
        except (Exception, SystemExit) as error:  # code of somebody else may raise anything
            what = f"{type(error).__name__}: {str(error).strip()[:300]}".rstrip(":. ")
            said.append(f"The kind of run {info.name!r} of {VARIABLE} is left out: it cannot be used ({what}).")
    return added, tuple(said)


def _wrong_folder(path: str) -> str:
    """Say what is wrong with a folder; empty: nothing."""
    if Path(path).is_dir() and os.access(path, os.R_OK | os.X_OK):
        return ""
    what = "cannot be read" if Path(path).is_dir() else "is no folder" if Path(path).exists() else "is not there"
    return f"{VARIABLE} names {path!r:.300}, which {what}; no kinds of run are taken from it."


def _kinds(module: ModuleType) -> Iterator[Kind]:
    kinds = descriptors(module)
    if not kinds:
        raise ValueError("it has no DESCRIPTOR")
    yield from kinds


def _check(kind: Kind, others: Mapping[str, Kind]) -> None:
    """Ask a kind for everything that the command line and the page show of it before it has a run.

    Raises:
        Exception: something is missing or wrong.
    """
    if not isinstance(kind, Kind):
        raise TypeError(f"its DESCRIPTOR is not a Kind but {kind!r:.60}")
    for name in _TEXTS:
        if not isinstance(text := getattr(kind, name, None), str) or not text:
            raise ValueError(f"it needs the text {name!r}; got {text!r:.60}")
    verbs = {verb for other in others.values() for verb in (other.verb, *other.old_verbs)}
    if kind.name in {*others, *PLAN_VERBS} or {*verbs, *PLAN_VERBS.values()} & {kind.verb, *kind.old_verbs}:
        raise ValueError(f"another kind has the name {kind.name!r} or the verb {kind.verb!r}")
    config = kind.config()
    if config.kind != kind.name:
        raise ValueError(f"its configuration is of the kind {config.kind!r}, not {kind.name!r}")
    unknown = {*kind.main, *kind.more} - {spec.name for spec in specs(kind.config)}
    if unknown:
        raise ValueError(f"it has no setting {sorted(unknown)[0]!r}")
    if len(kind.arms(config)) != config.arms:
        raise ValueError(f"its configuration has {config.arms} arms, of which it describes {len(kind.arms(config))}")
    kind.run_title(config, kind.data_title(config))
    kind.summary(config, kind.line(config))
    _ = kind.order + 0, kind.measures_of(config), kind.presets(), dict(kind.lists), kind.sizes(config)
