"""Parameters as frozen dataclasses whose fields carry range and help, and the text that spells a choice with them.

One declaration feeds the page's controls, the command line's flags, the validation and the catalogue page.

    @dataclass(frozen=True, kw_only=True)
    class SupConParameters:
        temperature: float = parameter(0.1, low=0.01, high=1.0, log=True, help="Lower makes hard pairs count more.")

:func:`parse_choice` reads ``supcon:temperature=0.2`` for the command line, the page and the API.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeGuard

from trainers.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a parameter accepts. ``low`` and ``high`` are inclusive; ``log`` asks for a logarithmic slider.

    The value of a ``main`` parameter may be written without its name, as in ``open_clip:ViT-B-32``.
    """

    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] | None = None
    log: bool = False
    main: bool = False


def parameter(
    default: Any,
    *,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[Any, ...] | None = None,
    log: bool = False,
    main: bool = False,
) -> Any:
    """A dataclass field with a default, a range and one sentence of help."""
    rule = Rule(help=help, low=low, high=high, choices=choices, log=log, main=main)
    return dataclasses.field(default=default, metadata={"rule": rule})


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One field, resolved: its name, base type (int, float, bool, str or tuple), whether None is allowed."""

    name: str
    type: type
    item: type | None
    optional: bool
    default: Any
    rule: Rule


def specs(parameters: type) -> tuple[Spec, ...]:
    """The fields of a parameter dataclass in order."""
    hints = typing.get_type_hints(parameters)
    found = []
    for field in dataclasses.fields(parameters):
        base, item, optional = _resolve(hints[field.name])
        rule = field.metadata.get("rule", Rule(help=""))
        found.append(Spec(name=field.name, type=base, item=item, optional=optional, default=field.default, rule=rule))
    return tuple(found)


def make(parameters: type, values: Mapping[str, Any], owner: str) -> Any:
    """Build and validate; unknown names, wrong types and values out of range are refused, never corrected.

    Args:
        parameters: the frozen dataclass.
        values: name to value, as parsed from JSON, flags or controls; missing names take their defaults.
        owner: what the parameters belong to, for the message.

    Raises:
        ParameterError: with the parameter, what it accepts and what it got.
    """
    known = {spec.name: spec for spec in specs(parameters)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ParameterError(f"{owner} has no parameter {unknown[0]!r}; it has {', '.join(known) or 'none'}.")
    checked = {name: check(known[name], value, owner) for name, value in values.items()}
    return parameters(**checked)


def check(spec: Spec, value: Any, owner: str) -> Any:
    """One value against its spec; returns it in the field's own type."""
    if value is None:
        if spec.optional:
            return None
        raise ParameterError(f"{owner}: {spec.name} needs {describe(spec)}; got nothing.")
    if spec.type is tuple:
        items = list(value) if isinstance(value, (list, tuple)) else [value]
        return tuple(_scalar(spec, item, spec.item or float, owner) for item in items)
    return _scalar(spec, value, spec.type, owner)


def parse_choice(text: str, family: Mapping[str, Any] = MappingProxyType({})) -> tuple[str, dict[str, Any]]:
    """Read ``name[:parameter=value,...]``, for example ``happier:alpha=5,preset=sop`` or ``open_clip:ViT-B-32``.

    Lists are written ``k=1;2;4``. The value of the main parameter may come first without its name and
    may hold commas, as a path does.

    Args:
        text: as typed.
        family: descriptors by name. Of one that is among them, text parameters are kept as they are written and the
            main parameter needs no name; other values are read as JSON where they are JSON.

    Returns:
        The name and the parameters, not yet checked.

    Raises:
        ParameterError: a part has no ``=``.
    """
    name, _, rest = text.strip().partition(":")
    known = {spec.name: spec for spec in specs(family[name].parameters)} if name in family else {}
    main = next((spec.name for spec in known.values() if spec.rule.main), None)
    values: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if main is not None and not (equals and key.isidentifier()) and set(values) <= {main}:
            values[main] = f"{values[main]},{part}" if main in values else part
        elif equals:
            values[key] = value
        elif part:
            raise ParameterError(f"NAME:PARAMETER=VALUE,... was needed; {part!r} has no '='.")
    return name, {key: _read(value, known.get(key)) for key, value in values.items()}


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether this is a number that can be computed with: finite, and no truth value."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def describe(spec: Spec) -> str:
    """The accepted values in words, e.g. ``a number from 0.01 to 1``."""
    rule = spec.rule
    if rule.choices is not None:
        return "one of " + ", ".join(str(choice) for choice in rule.choices)
    kind = spec.item or spec.type
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[kind]
    if spec.type is tuple:
        words = {int: "whole numbers", float: "numbers", str: "words"}[kind]
    if rule.low is not None and rule.high is not None:
        return f"{words} from {rule.low:g} to {rule.high:g}"
    if rule.low is not None:
        return f"{words} of at least {rule.low:g}"
    return words if rule.high is None else f"{words} of at most {rule.high:g}"


def _scalar(spec: Spec, value: Any, kind: type, owner: str) -> Any:
    wrong = ParameterError(f"{owner}: {spec.name} needs {describe(spec)}; got {value!r}.")
    if kind is bool:
        if isinstance(value, bool):
            return value
        raise wrong
    if kind in (int, float):
        if not is_number(value):
            raise wrong
        if kind is int and value != int(value):
            raise wrong
        value = kind(value)
        low, high = spec.rule.low, spec.rule.high
        if (low is not None and value < low) or (high is not None and value > high):
            raise wrong
    elif not isinstance(value, str):
        raise wrong
    if spec.rule.choices is not None and value not in spec.rule.choices:
        raise wrong
    return value


def _read(text: str, spec: Spec | None) -> Any:
    """A value as typed; of a text parameter that must be given, the text itself."""
    if spec is not None and spec.type is str and not spec.optional:
        return text
    items = [_value(item) for item in text.split(";")]
    return items if ";" in text else items[0]


def _value(text: str) -> Any:
    try:
        return json.loads({"none": "null", "None": "null", "True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text


def _resolve(hint: Any) -> tuple[type, type | None, bool]:
    """``float | None`` -> (float, None, True); ``tuple[int, ...]`` -> (tuple, int, False)."""
    optional = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        inner = [arm for arm in typing.get_args(hint) if arm is not type(None)]
        optional = len(inner) < len(typing.get_args(hint))
        hint = inner[0]
    if typing.get_origin(hint) is tuple:
        return tuple, typing.get_args(hint)[0], optional
    return hint, None, optional
