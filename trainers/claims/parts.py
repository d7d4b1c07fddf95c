"""The code that a claim's numbers come from, and its digest: a result older than its parts is said to be so."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import trainers
from trainers.claims.base import Claim
from trainers.config import RunConfig
from trainers.kinds import kind_of
from trainers.kinds.sections import SPEED
from trainers.metrics.names import describe
from trainers.parameters import Rule, specs
from trainers.plans.config import SweepConfig

_ROOT = Path(trainers.__file__).parent
_WITHIN = (
    "trainers.data.conditions",
    "trainers.data.labelled.datasets",
    "trainers.data.synthetic",
    "trainers.encoders",
    "trainers.image_text.models",
    "trainers.kinds",
    "trainers.losses",
    "trainers.metrics",
    "trainers.object_removal",
    "trainers.optimization",
    "trainers.samplers",
    "trainers.training.augmentations",
)
"""Packages whose modules decide numbers; what else is imported carries them."""
_DESCRIBING = ("_symbols", "advice", "footprint", "panels", "plots", "sections", "settings", "titles")
"""Modules of these packages that decide none: sentences, fields, checks and estimates."""


def parts(claim: Claim) -> tuple[str, ...]:
    """List the modules that a claim's numbers come from, by name: the entries of registries that its runs choose, the
    package of their kind, and what these import of such packages.
    """
    plans = [made() for made in (claim.plan, claim.begins) if made is not None]
    scored = [describe(key).measure.score for difference in claim.differences for key in difference.metrics]
    begun = {name for plan in plans for name in _chosen(plan.run)} | {score.__module__ for score in scored if score}
    return tuple(sorted(_closure(frozenset(begun))))


def digest(claim: Claim) -> str:
    """Return sha256, 16 hexadecimal digits, of the code of :func:`parts` without its comments and docstrings, and of
    the plan.
    """
    total = hashlib.sha256()
    for name in parts(claim):
        total.update(f"{name}\n{_code(name)}\n".encode())
    for made in (claim.plan, claim.begins):
        total.update(b"" if made is None else _numbers(made()).encode())
    return total.hexdigest()[:16]


def _numbers(plan: SweepConfig) -> str:
    """Return the settings of a plan as JSON, without those of memory, speed and names of files that are as usual: they
    change none of its numbers.
    """
    values = json.loads(plan.to_json())
    data = values["run"].get("data", {})
    if data.get("name_encoding") is None:
        data.pop("name_encoding", None)
    usual = {spec.name: spec.default for spec in specs(type(plan.run)) if spec.name in SPEED.names}
    values["run"] = {name: value for name, value in values["run"].items() if name not in usual or value != usual[name]}
    return json.dumps(values, sort_keys=True)


def _chosen(run: RunConfig) -> Iterator[str]:
    """Yield the modules of what a run chooses, and of its kind's loop."""
    yield kind_of(run).loop().__module__
    for spec in specs(type(run)):
        value = getattr(run, spec.name)
        if spec.rule.registry:
            entries = Rule(help="", registry=spec.rule.registry).entries()
            several = value if isinstance(value, (tuple, list)) else (value,)
            for choice in several:
                entry = entries.get(str(getattr(choice, "name", choice)))
                yield from _home(entry)
    source = getattr(getattr(run, "data", None) or getattr(run, "scenes", None), "source", "")
    if source.startswith("drawn_scenes"):
        yield "trainers.data.synthetic.scenes.build"
    elif source.startswith("drawn"):
        yield "trainers.data.labelled.datasets.drawn"


def _home(entry: object) -> Iterator[str]:
    """Yield the module of an entry's class or function, whichever makes it."""
    for name in ("module", "build", "load", "make", "parameters"):
        made = getattr(entry, name, None)
        if made is not None and getattr(made, "__module__", "").startswith("trainers."):
            yield made.__module__


def _closure(begun: frozenset[str]) -> set[str]:
    known: set[str] = set()
    waiting = list(begun)
    while waiting:
        name = waiting.pop()
        describes = name.rpartition(".")[2] in _DESCRIBING
        if name in known or describes or not name.startswith(_WITHIN) or _path(name) is None:
            continue
        known.add(name)
        waiting += _imported(name)
    return known


@cache
def _imported(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports at its top or within a function."""
    path = _path(name)
    assert path is not None
    modules: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(modules)


@cache
def _code(name: str) -> str:
    """Return the code of a module as a tree, without docstrings."""
    path = _path(name)
    assert path is not None
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            del body[0]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def _path(name: str) -> Path | None:
    """Return the file of a module of the trainers; None: it is a name within one, or of another library."""
    base = _ROOT.joinpath(*name.split(".")[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None
