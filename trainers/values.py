"""Dataclasses from plain values of JSON, and whether their values are of the declared types, by pydantic."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeGuard, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from trainers.errors import ParameterError

Value = TypeVar("Value")
CHECKED = ConfigDict(strict=True, allow_inf_nan=False, revalidate_instances="always")


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether this is a number that can be computed with: finite, and no truth value."""
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def build(kind: type, values: Mapping[str, Any]) -> Any:
    """Return an instance of a dataclass from what ``json.loads`` gave: nested dataclasses and tuples are made again.

    Raises:
        TypeError: a field is unknown or missing, or what should be nested is not.
    """
    return kind(**values_of(kind, values))


def values_of(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Make the fields of a dataclass, by name, from what ``json.loads`` gave; unknown names are left as they are."""
    hints = _hints(kind)
    return {name: _made(value, hints[name]) if name in hints else value for name, value in values.items()}


@contextmanager
def readable(title: str) -> Iterator[None]:
    """Make what is raised for plain values that no configuration can hold an error about the settings of ``title``.

    Raises:
        ParameterError: within, as it is; or in place of what else such values cause.
    """
    try:
        yield
    except ParameterError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise ParameterError(f"{title}: the settings cannot be read: {error}.") from error


def check_types(value: Value) -> Value:
    """Compare every field of a dataclass, nested ones, tuples and mappings included, with its annotation.

    Its class has the configuration :data:`CHECKED`.

    Returns:
        the same dataclass.

    Raises:
        TypeError: a field holds something else; infinities and NaN are no numbers here, and ``True`` is none.
    """
    kind: type = type(value)
    try:
        adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise TypeError(f"{where} holds {first['input']!r:.60}, which is of the wrong type") from None
    return value


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@functools.cache
def adapter(kind: type) -> TypeAdapter[Any]:
    """Return what checks values of a type; it is made once."""
    return TypeAdapter(kind)


def _made(value: Any, hint: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _made(value, next(kind for kind in inner if kind is not type(None)))
    if origin is tuple and isinstance(value, (list, tuple)):
        return tuple(_made(item, inner[0]) for item in value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise TypeError(f"{hint.__name__} needs its fields by name; got {value!r:.60}")
        return build(hint, value)
    return value
