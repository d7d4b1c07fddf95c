"""Dataclasses from plain values of JSON, and whether their values are of the declared types."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any

from trainers.parameters import is_number


def build(kind: type, values: Mapping[str, Any]) -> Any:
    """An instance of a dataclass from what ``json.loads`` gave: nested dataclasses and tuples are made again.

    Raises:
        TypeError: a field is unknown or missing, or what should be nested is not.
    """
    return kind(**values_of(kind, values))


def values_of(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a dataclass by name, made from what ``json.loads`` gave; unknown names are left as they are."""
    hints = _hints(kind)
    return {name: _made(value, hints[name]) if name in hints else value for name, value in values.items()}


def check_types(value: Any) -> None:
    """Compare every field, nested dataclasses, tuples and mappings included, with its annotation.

    Raises:
        TypeError: a field holds something else; infinities and NaN are no numbers here, and ``True`` is none.
    """
    kind: type = type(value)
    for name, hint in _hints(kind).items():
        if not _fits(getattr(value, name), hint):
            raise TypeError(f"{name} holds {getattr(value, name)!r:.60}, which is of the wrong type")


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _made(value: Any, hint: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _made(value, next(one for one in inner if one is not type(None)))
    if origin is tuple and isinstance(value, (list, tuple)):
        return tuple(_made(item, inner[0]) for item in value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise TypeError(f"{hint.__name__} needs its fields by name; got {value!r:.60}")
        return build(hint, value)
    return value


def _fits(value: object, hint: Any) -> bool:
    if hint is Any:
        return True
    if typing.get_origin(hint) is typing.ClassVar:
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is typing.Literal:
        return value in inner
    if origin is tuple:
        kinds = inner[:1] * len(value) if isinstance(value, tuple) and inner[-1] is ... else inner
        return isinstance(value, tuple) and len(value) == len(kinds) and all(map(_fits, value, kinds))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(isinstance(key, str) and _fits(value[key], inner[1]) for key in value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, hint):
            return False
        check_types(value)
        return True
    if hint in (int, float):
        return is_number(value) and (hint is float or isinstance(value, int))
    return isinstance(value, hint)
