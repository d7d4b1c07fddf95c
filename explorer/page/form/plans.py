"""The part of the form that makes a plan of the runs that it describes: seeds, what is varied, and the search."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from explorer.page.form.fields import Json, as_json, field
from explorer.page.form.form import Form
from trainers.config import Conditions, Config, RunConfig
from trainers.errors import ParameterError
from trainers.kinds import check, kind_of
from trainers.parameters import Choice, Spec, entry, parse_choice, specs
from trainers.parameters import check as checked
from trainers.plans import PLANS
from trainers.plans.axes import offered
from trainers.plans.config import FOLDS, SweepConfig, data_of

MOST = 6
"""Settings that the page varies at once; the command line and the API take more."""
STEPS = 300
"""After which the runs of a plan end that is made of a run without steps or epochs: in equal minutes, on a machine that
does other work too, its trainings would differ. Their minutes stay as a limit."""
WORDS = MappingProxyType({"sweep": "over seeds", "fair_comparison": "fair comparison"})
"""Of each plan its name in the menu beside Train."""
_FIELDS = ("seeds", "trials")
"""Settings of plans with a field; the others are for the command line and the API."""
_FOLDS = {
    "name": "folds",
    "label": "Folds",
    "help": "Of the training classes, or of their images where images are held out; each trial is trained on each.",
    "optional": False,
    "control": "slider",
    "low": 2,
    "high": 10,
    "step": 1,
    "whole": True,
    "default": FOLDS,
}


def plans_json(form: Form, most: int | None = None) -> list[Json]:
    """Describe the plans that suit the kind of a form.

    Args:
        most: runs that a plan may have here: its fields begin with numbers that it allows; None: any number.
    """
    described = []
    for name, plan in PLANS.items():
        if plan.suits(form.kind):
            fields = [field(spec) for spec in _specs(plan.config).values()] + [dict(_FOLDS)] * plan.config.folded
            defaults = {about["name"]: about["default"] for about in fields}
            first = {} if most is None else _allowed(form, name, defaults, most)
            for about in fields:
                about["default"] = first.get(about["name"], about["default"])
            described.append({"name": name, "title": plan.title, "word": WORDS[name], "steps": STEPS, "fields": fields})
    return described


def _allowed(form: Form, name: str, usual: Mapping[str, Any], most: int) -> Json:
    """Return the largest numbers up to the usual ones with which a plan has at most so many runs: trials are left out
    first, then folds, then seeds. Where even the smallest are too many, they are returned."""
    smaller = {
        key: [value[:count] for count in range(len(value), 1, -1)] if isinstance(value, list) else range(value, 1, -1)
        for key, value in usual.items()
    }
    keys = [key for key in ("seeds", "folds", "trials") if key in smaller]
    tried: Json = {}
    for numbers in itertools.product(*(smaller[key] for key in keys)):
        tried = dict(zip(keys, numbers, strict=True))
        made = planned(form, form.values(form.kind.config()), name, tried, [])
        if kind_of(made).sizes(made)["runs"] <= most:
            break
    return tried


def planned(
    form: Form, settings: Mapping[str, Any], name: str, of_plan: Mapping[str, Any], vary: Sequence[Sequence[str]]
) -> Config:
    """Make the checked configuration of a plan of the runs that a form describes.

    Args:
        settings: values of the fields of the form.
        name: of the plan; empty: the run itself.
        of_plan: values of the fields of the plan.
        vary: pairs of what is varied and the values to try, as typed.

    Raises:
        UserError: the first thing that is wrong.
    """
    run = form.config(settings)
    if not name:
        return run
    plan = entry(PLANS, name, "plan")
    known = _specs(plan.config)
    given = {key: checked(known[key], value, plan.title) for key, value in of_plan.items() if key in known}
    if plan.config.folded:
        run = _folded(run, of_plan.get("folds", FOLDS))
    made: Config = plan.config(run=run, vary=_varied(vary), **given)
    check(made)
    return made


def plan_values(config: Config) -> Json:
    """Return what the fields of a plan show of a configuration; of a single run what a plan has at first."""
    of = config if isinstance(config, SweepConfig) else SweepConfig()
    values = {name: as_json(spec, getattr(of, name)) for name, spec in _specs(type(of)).items()}
    vary = [
        [axis, ", ".join(map(_written, tried if isinstance(tried, (list, tuple)) else [tried]))]
        for axis, tried in of.vary.items()
    ]
    folds = {"folds": getattr(of, "folds", FOLDS)} if of.folded else {}
    return {"plan": config.kind if config.kind in PLANS else "", "own": values | folds, "vary": vary[:MOST]}


def axes_of(form: Form, settings: Mapping[str, Any]) -> list[list[str]]:
    """List what can be varied by name with a title; parameters are those of the arms that are chosen."""
    run, arms = form.kind.config(), settings.get(form.kind.compares)
    if isinstance(arms, list) and form.kind.families:
        names = [arm["name"] for arm in arms if isinstance(arm, Mapping) and isinstance(arm.get("name"), str)]
        run = form.kind.with_arms(run, [Choice(name=name) for name in names if name in form.kind.families])
    return [[name, title] for name, title in offered(run).items()]


def _specs(plan: type[SweepConfig]) -> dict[str, Spec]:
    return {spec.name: spec for spec in specs(plan) if spec.name in _FIELDS}


def _folded(run: RunConfig, folds: Any) -> RunConfig:
    conditions = dataclasses.replace(data_of(run).conditions, folds=folds, fold=Conditions.fold)
    return run.changed(data=dataclasses.replace(data_of(run), conditions=conditions))


def _varied(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    varied: dict[str, Any] = {}
    for row in rows:
        axis, text = (str(part).strip() for part in row)
        if not axis and not text:
            continue
        if not axis or not text:
            wanted = f"the values of {axis}" if axis else f"what takes the values {text!r:.60}"
            raise ParameterError(f"Over seeds needs {wanted}; got nothing. Fill it, or empty the other field too.")
        if axis in varied:
            raise ParameterError(f"Over seeds varies each thing once; got {axis!r:.60} twice.")
        items = [item.strip() for item in re.split("[,;]", text) if item.strip()]
        varied[axis] = parse_choice(f":values={';'.join(items)}")[1]["values"]
    return varied


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
