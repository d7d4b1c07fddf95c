"""Parameters as fields of the page's forms, in JSON; ``assets/page/controls.js`` draws each by its ``control``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from explorer.server.choice_titles import titled_choices
from trainers.cli.flags import SPELLING, shown
from trainers.parameters import Choice, Spec, specs

SLIDER_STEPS = 100  # a linear slider moves in about this many steps, so that its values read as round numbers
WIDEST_WHOLE = 300  # a slider over more whole numbers than this cannot be set with a mouse
ABOVE_ZERO = 1e-6  # of its right end: the smallest number of a logarithmic slider that begins with 0

Json = dict[str, Any]


def field(spec: Spec, name: str = "") -> Json:
    """Describe a parameter as a field.

    Args:
        name: of the field; the parameter's own if empty.
    """
    made = _control(spec)
    about = {"name": name or spec.name, "label": spec.label, "help": spec.rule.help, "optional": spec.optional}
    if made["control"] == "entry":
        about["help"] = ""  # the sentence of the entry that is chosen stands there
    return about | made | {"default": as_json(spec, spec.default)}


def entries(registry: Mapping[str, Any]) -> list[Json]:
    """Describe the entries of a registry that are offered, one family after the other."""
    families: dict[str, list[Json]] = {}
    for name, descriptor in registry.items():
        if getattr(descriptor, "alias_of", None) is None:
            families.setdefault(getattr(descriptor, "family", ""), []).append(_entry(name, descriptor))
    return [entry for family in families.values() for entry in family]


def as_json(spec: Spec, value: Any) -> Any:
    """Return a value as the page's form holds it."""
    if is_written(spec):
        return shown(value)
    if isinstance(value, Choice):
        return {"name": value.name, "parameters": dict(value.parameters)}
    if isinstance(value, (tuple, list)):
        return [as_json(spec, item) for item in value]
    return value


def is_written(spec: Spec) -> bool:
    """Return whether the page has no control for it, so that it is written as on the command line."""
    kind = spec.item or spec.type
    return kind not in (int, float, bool, str) and not spec.rule.registry


def _entry(name: str, descriptor: Any) -> Json:
    lacking = getattr(descriptor, "lacking", None)
    sentence = f"{descriptor.sentence} {getattr(descriptor, 'slow', '')}".strip()
    return {
        "name": name,
        "title": descriptor.title,
        "family": getattr(descriptor, "family", ""),
        "sentence": sentence,
        "missing": lacking() if lacking else None,
        "fields": [field(spec) for spec in specs(descriptor.parameters)] if hasattr(descriptor, "parameters") else [],
    }


def _control(spec: Spec) -> Json:
    """Choose the control, with what it needs beside its value."""
    rule, kind = spec.rule, spec.item or spec.type
    if is_written(spec):
        return {"control": "text", "placeholder": SPELLING}
    if kind is Choice:
        return {"control": "entries" if spec.type is tuple else "entry", "registry": rule.registry}
    if rule.registry:
        return {"control": "select", "choices": [[name, entry.title] for name, entry in rule.entries().items()]}
    if rule.menu:
        return {"control": "words", "choices": list(map(list, rule.words().titles.items()))}
    if rule.choices is not None:
        return {"control": "select", "choices": list(map(list, titled_choices(spec)))}
    if kind is bool:
        return {"control": "check"}
    if kind is str and spec.type is not tuple:
        proposed = [
            {"name": each.word, "title": each.facts, "family": each.family, "missing": each.missing()}
            for each in rule.proposed()
        ]
        return {"control": "proposed", "choices": proposed} if proposed else {"control": "text"}
    if kind is str:
        return {"control": "words", "choices": []}
    if spec.type is tuple:
        return {"control": "numbers", "spelled": rule.spelled is not None}
    return _number(spec)


def _number(spec: Spec) -> Json:
    rule, whole = spec.rule, spec.type is int
    low, high = rule.slider or (rule.low, rule.high)
    if spec.optional or low is None or high is None:
        return {"control": "number"}
    if rule.log and low >= 0:
        first = max(high * ABOVE_ZERO, 1 if whole else 0) if low == 0 else low
        return {"control": "slider", "log": True, "low": first, "high": high, "zero": low == 0, "whole": whole}
    if whole and high - low > WIDEST_WHOLE:
        return {"control": "number"}
    step = 1 if whole else _step(low, high, spec.default)
    return {"control": "slider", "low": low, "high": high, "step": step, "whole": whole}


def _step(low: float, high: float, default: Any) -> float:
    """Choose a round step that divides the range finely and meets the default."""
    step = 10.0 ** min(0, math.floor(math.log10((high - low) / SLIDER_STEPS)))
    while isinstance(default, float) and abs((default - low) / step - round((default - low) / step)) > 1e-6:
        step /= 10
        if step < 1e-6:
            break
    return step
