"""The base of the bodies that the page posts, and of the fields that they are made of.

A value of the wrong type or out of range is refused with a message: its name, what it needs and what was given. null
counts as not given. Names in JSON differ from the attributes where an alias is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from annotated_types import GroupedMetadata, MaxLen, MinLen
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from explorer.server.http import RequestError
from explorer.server.plain import parse, seen
from trainers.parameters import Rule

B = TypeVar("B", bound="Body")


def needs(what: str) -> WrapValidator:
    """Return a rule that says what a value needs, instead of pydantic's own words."""

    def check(value: Any, handler: Any) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            if any(detail["type"] == "needs" for detail in error.errors(include_url=False)):
                raise  # a value inside this one has its own message
            raise PydanticCustomError("needs", "{what}; got {got}", {"what": what, "got": seen(value)}) from None

    return WrapValidator(check)


@dataclass(frozen=True)
class Rules(GroupedMetadata):
    """The rules for a value, one after another, as one item of ``Annotated``."""

    each: tuple[object, ...]

    def __iter__(self) -> Iterator[object]:
        """Return the rules one by one, as pydantic takes them."""
        return iter(self.each)


def text(longest: int = 400, least: int = 1) -> Rules:
    """Make the rules of ``Annotated[str, ...]``: without blanks around it."""
    what = "a text" if longest == 400 else f"a text of at most {longest} letters"
    constraints = StringConstraints(strip_whitespace=True, min_length=least, max_length=longest)
    return Rules((*constraints, needs(what)))


def whole(low: int, high: int) -> Rules:
    """Make the rules of ``Annotated[int, ...]``: the lowest and the highest."""
    rule = Rule(help="", low=low, high=high)
    return Rules((*rule.bounds(int), needs(rule.within("a whole number"))))


def list_of(most: int, what: str = "entries") -> Rules:
    """Make the rules of ``Annotated[list[...], ...]``: one item or more."""
    return Rules((MinLen(1), MaxLen(most), needs(f"a list of 1 to {most} {what}")))


Text = Annotated[str, text()]
Optional = Annotated[str, text(least=0)]
Flag = Annotated[bool, needs("true or false")]
REQUIRED: Any = Field(default=None, validate_default=True)


class Body(BaseModel):
    """The base of all bodies: strict types; further values are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: value for name, value in values.items() if value is not None}
        return values

    @classmethod
    def parse(cls: type[B], body: bytes) -> B:
        """Make it from the body of a request.

        Raises:
            RequestError: it is no JSON object, or a value is refused.
        """
        return cls.of(parse(body))

    @classmethod
    def of(cls: type[B], values: Mapping[str, Any]) -> B:
        """Make it from plain values.

        Raises:
            RequestError: a value is refused.
        """
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            aliases = {name: field.alias for name, field in cls.model_fields.items() if field.alias}
            where = ".".join(aliases.get(part, part) for part in first["loc"] if isinstance(part, str))
            raise RequestError(f"{where} needs {first['msg']}.") from None
