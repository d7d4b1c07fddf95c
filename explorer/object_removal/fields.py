"""Reading what a browser sent: every value is checked, every refusal is a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from explorer.server.http import RequestError
from explorer.server.plain import parse, seen
from trainers.parameters import is_number


class Fields:
    """The values of one JSON object, read by name.

    Args:
        values: what came.
        where: begins the sentences, for example ``remove.``.
    """

    def __init__(self, values: Mapping[str, Any], where: str = "") -> None:
        self._values = values
        self._where = where

    @classmethod
    def parse(cls, body: bytes) -> Fields:
        """From the body of a request.

        Raises:
            RequestError: it is no JSON object.
        """
        return cls(parse(body))

    def has(self, name: str) -> bool:
        """Whether the value is there and not null."""
        return self._values.get(name) is not None

    def names(self) -> tuple[str, ...]:
        """What came."""
        return tuple(str(name) for name in self._values)

    def text(self, name: str, default: str | None = None, longest: int = 400) -> str:
        """A text without blanks around it; not empty unless the default is."""
        value = self._values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not (value.strip() or default == ""):
            raise self._refused(name, "a text", value)
        if len(value) > longest:
            raise self._refused(name, f"a text of at most {longest} letters", value)
        return value.strip()

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number."""
        value = self._values.get(name)
        if value is None:
            return default
        if not is_number(value) or value != int(value) or not low <= value <= high:
            raise self._refused(name, f"a whole number from {low} to {high}", value)
        return int(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._refused(name, "true or false", value)
        return value

    def texts(self, name: str, most: int, longest: int = 400) -> tuple[str, ...]:
        """One to ``most`` texts."""
        values = self.list(name, most)
        return tuple(Fields({name: value}, self._where).text(name, longest=longest) for value in values)

    def list(self, name: str, most: int) -> list[Any]:
        """One to ``most`` values of any kind."""
        value = self._values.get(name)
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            raise self._refused(name, f"a list of 1 to {most} entries", value)
        return value

    def inner(self, name: str) -> Fields:
        """An object inside this one."""
        value = self._values.get(name)
        if not isinstance(value, dict):
            raise self._refused(name, "an object", value)
        return Fields(value, f"{self._where}{name}.")

    def inners(self, name: str, most: int) -> list[Fields]:
        """A list of objects inside this one."""
        values = self.list(name, most)
        if not all(isinstance(value, dict) for value in values):
            raise self._refused(name, "a list of objects", values)
        return [Fields(value, f"{self._where}{name}.") for value in values]

    def plain(self, name: str) -> Any:
        """Whatever came under the name."""
        return self._values.get(name)

    def _refused(self, name: str, needed: str, value: object) -> RequestError:
        return RequestError(f"{self._where}{name} needs {needed}; {seen(value)} came.")


def number(value: object) -> float:
    """A coordinate; NaN for null and whatever is no number. Browsers send what is not finite as null."""
    return float(value) if is_number(value) else math.nan
