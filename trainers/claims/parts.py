"""The code that a claim's numbers come from, and its digest: a result older than its parts is said to be so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from hashlib import sha256

from trainers.claims.base import Claim
from trainers.claims.definitions import Definition, closure, definition_of
from trainers.config import RunConfig
from trainers.data.labelled.datasets.drawn import load as drawn
from trainers.data.synthetic.scenes import drawn_scenes, pixels
from trainers.kinds import kind_of
from trainers.kinds.sections import SPEED
from trainers.metrics.names import describe
from trainers.parameters import Rule, specs
from trainers.plans.config import SweepConfig

_WITHIN = (
    "trainers.data.conditions",
    "trainers.data.labelled.datasets",
    "trainers.data.picture",
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
"""Packages whose definitions decide numbers; what else they use carries them."""
_DESCRIBING = ("LICENCE", "Preset", "TITLE", "advice", "footprint", "title", "titles")
"""Definitions of these packages that decide none: sentences and estimates."""
_MADE_BY = ("module", "build", "load", "make", "parameters")
"""Fields of an entry of a registry that make what it stands for."""


def parts(claim: Claim) -> tuple[Definition, ...]:
    """List the definitions that a claim's numbers come from: the entries of registries that its runs choose, the loop
    of their kind, the scores of its metrics, and what these use of such packages.
    """
    plans = [made() for made in (claim.plan, claim.begins) if made is not None]
    begun = [made for plan in plans for made in _chosen(plan.run)]
    begun += [describe(key).measure.score for difference in claim.differences for key in difference.metrics]
    roots = {known for made in begun if (known := definition_of(made)) is not None}
    return closure(frozenset(roots), _WITHIN, _DESCRIBING)


def digest(claim: Claim) -> str:
    """Return sha256, 16 hexadecimal digits, of :func:`parts` and of the plan. Where a definition stands and what it is
    called change nothing, nor do comments, docstrings, types and the texts of parameters.
    """
    total = sha256("".join(sorted(_label(part) for part in parts(claim))).encode())
    for made in (claim.plan, claim.begins):
        total.update(b"" if made is None else _numbers(made()).encode())
    return total.hexdigest()[:16]


@cache
def _label(part: Definition) -> str:
    """Return sha256 of a definition's code and of those that it uses, in their order."""
    code, used = part.code(_WITHIN)
    within = [known.code(_WITHIN)[0] for known in used]
    return sha256("\n".join((code, *within)).encode()).hexdigest()


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


def _chosen(run: RunConfig) -> Iterator[object]:
    """Yield what makes the choices of a run, and its kind's loop."""
    yield kind_of(run).loop()
    for spec in specs(type(run)):
        value = getattr(run, spec.name)
        if spec.rule.registry:
            entries = Rule(help="", registry=spec.rule.registry).entries()
            several = value if isinstance(value, (tuple, list)) else (value,)
            for choice in several:
                entry = entries.get(str(getattr(choice, "name", choice)))
                yield from (getattr(entry, name, None) for name in _MADE_BY)
    source = getattr(getattr(run, "data", None) or getattr(run, "scenes", None), "source", "")
    if source.startswith("drawn_scenes"):
        yield from (drawn_scenes, pixels)
    elif source.startswith("drawn"):
        yield drawn
