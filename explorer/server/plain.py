"""Checks of JSON values from outside: what the server's functions cannot handle is refused before it reaches them."""

from __future__ import annotations

import functools
import inspect
import json
import math
import re
from collections.abc import Callable
from typing import Any

from pydantic import ConfigDict, ValidationError, validate_call

from explorer.server.http import RequestError
from trainers.cells import finite_number

DEEPEST = 32
LARGEST_WHOLE = 2**63
MOST_MARKS = 100_000
"""Most commas and brackets in a request. Each value takes a hundred times the memory of its two letters and has to be
checked; the only long request that the page sends is one long text."""
_SHOWN = 60
_HALF = re.compile("[\ud800-\udfff]")
_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)  # Gradio's own, such as the request


def parse(body: bytes) -> dict[str, Any]:
    """Read the JSON object of a request, checked; an empty body is an empty object.

    Raises:
        RequestError: it is none.
    """
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_MARKS:
        raise RequestError(f"A request may hold {MOST_MARKS:,} commas and brackets; got more.")
    try:
        values = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise RequestError("A JSON object was needed; got text that cannot be read as JSON.") from error
    if not isinstance(values, dict):
        raise RequestError(f"A JSON object was needed; got {seen(values)}.")
    check(values)
    return values


def check(value: Any) -> None:
    """Refuse texts that are not Unicode, numbers that no field can hold, and values nested too deep.

    Raises:
        RequestError: with a sentence.
    """
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > DEEPEST:
            raise RequestError(f"Values may be nested {DEEPEST} deep; got deeper ones.")
        if isinstance(item, str):
            if _HALF.search(item):
                raise RequestError("A text holds half a character (a lone surrogate). Send whole ones.")
        elif isinstance(item, int):
            if not -LARGEST_WHOLE <= item < LARGEST_WHOLE:
                raise RequestError("A whole number of at most 19 digits was needed; got a longer one.")
        elif isinstance(item, float):
            if not math.isfinite(item):
                raise RequestError("A finite number was needed; got NaN or infinity, which JSON does not have.")
        elif isinstance(item, dict):
            pending += [(each, depth + 1) for pair in item.items() for each in pair]
        elif isinstance(item, (list, tuple)):
            pending += [(each, depth + 1) for each in item]


def seen(value: object) -> str:
    """Write a value as it was given, shortened."""
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"


def finite(content: Any) -> Any:
    """Put None for every number that JSON cannot hold."""
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [finite(value) for value in content]
    return finite_number(content) if isinstance(content, float) else content


def typed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check the arguments of a function against their annotations when it is called; null stands for a default."""
    signature = inspect.signature(function)
    defaults = {name for name, each in signature.parameters.items() if each.default is not each.empty}
    validated = validate_call(config=_STRICT)(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        try:
            return validated(
                **{name: value for name, value in given.items() if value is not None or name not in defaults}
            )
        except ValidationError as error:
            if error.title != function.__qualname__:  # of something that the function did
                raise
            first = error.errors(include_url=False, include_context=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise RequestError(
                f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}; got {seen(first['input'])}."
            ) from None

    checked.__doc__ = _unwrapped(inspect.getdoc(function) or "")
    return checked


def _unwrapped(docstring: str) -> str:
    """Write each argument of a docstring on one line: Gradio tells programs the first line alone."""
    return re.sub(r"\n {8,}", " ", docstring)
