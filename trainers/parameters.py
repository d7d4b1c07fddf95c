"""Parameters as frozen dataclasses whose fields carry range and help, and the text that spells a choice with them.

One declaration feeds the page's controls, the command line's flags, the validation and the catalogue page.

    @dataclass(frozen=True, kw_only=True)
    class SupConParameters:
        temperature: float = parameter(0.1, low=0.01, high=1.0, log=True, help="Lower makes hard pairs count more.")

:func:`parse_choice` reads ``supcon:temperature=0.2`` for the command line, the page and the API.
"""

from __future__ import annotations

import builtins
import dataclasses
import difflib
import functools
import importlib
import json
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import pydantic
from annotated_types import Ge, Gt, Le

from trainers.errors import ParameterError
from trainers.values import CHECKED, is_number

Entry = TypeVar("Entry")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An entry of a registry (a loss, an encoder, a model) and its parameters that differ from their defaults."""

    name: str
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __hash__(self) -> int:
        """Hash the names alone: values may be lists."""
        return hash((self.name, *sorted(self.parameters)))


@dataclass(frozen=True, kw_only=True)
class Menu:
    """Words of which there are more than a menu can list.

    Attributes:
        titles: those that are offered, with what they are called.
        check: raises a :class:`ParameterError` for a word that is not accepted.
        key: the word that is meant by what is written; a word is itself.
    """

    titles: Mapping[str, str]
    check: Callable[[str], object]
    key: Callable[[str], str] = str


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A word that is offered where any may be written.

    Attributes:
        word: the value.
        family: the heading under which it stands.
        facts: what one wants to know before choosing it.
        missing: returns None if it can be used now, else a sentence with what to do. Cheap: it loads nothing.
    """

    word: str
    family: str
    facts: str
    missing: Callable[[], str | None] = lambda: None


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The values that a parameter accepts, and how it is shown.

    Attributes:
        help: one sentence, for the page, the command line and the documentation.
        low, high: bounds, both inclusive unless ``above`` excludes ``low``.
        choices: the accepted values.
        log: asks for a logarithmic slider.
        slider: bounds of the slider where they are narrower than what is accepted.
        title: its label; the name in words if empty.
        flag: its name on the command line; the field's own name if empty.
        registry: ``module:NAME`` of the registry that a :class:`Choice` chooses from; imported when it is needed.
        menu: ``module:NAME`` of the :class:`Menu` that words are chosen from; imported when it is needed.
        proposals: ``module:NAME`` of :class:`Proposal` tuples: words that are offered where any may be written.
        spelled: of a tuple, makes its value of another spelling that is accepted; what it does not know stays as it is.
        main: its value may be written without its name, as in ``open_clip:ViT-B-32``.
        private: it reaches beyond the run that it is a setting of: a public page neither offers nor takes it.
        searched: a search for the best value tries it; False: it is no matter of tuning, as a tolerance is, or a number
            that its paper calls redundant with the learning rate.
        stored: it is in the configuration of a run; False: it says how a run is trained here, and not what is trained.
    """

    help: str
    low: float | None = None
    high: float | None = None
    above: bool = False
    choices: tuple[Any, ...] | None = None
    log: bool = False
    slider: tuple[float, float] | None = None
    title: str = ""
    flag: str = ""
    registry: str = ""
    menu: str = ""
    proposals: str = ""
    spelled: Callable[[Any], Any] | None = None
    main: bool = False
    private: bool = False
    searched: bool = True
    stored: bool = True

    def bounds(self, kind: type) -> tuple[object, ...]:
        """Return pydantic's constraints of a number, of ``Annotated[kind, ...]``; 3.0 is a whole one."""
        low = () if self.low is None else (Gt(self.low) if self.above else Ge(self.low),)
        high = () if self.high is None else (Le(self.high),)
        return (*low, *high, *((pydantic.BeforeValidator(_integral),) if kind is int else ()))

    def within(self, what: str) -> str:
        """Say the same in words, after ``what`` the numbers are: ``a number from 0.01 to 1``."""
        if self.above and self.low is not None:
            most = "" if self.high is None else f" and at most {_bound(self.high)}"
            return f"{what} above {_bound(self.low)}{most}"
        if self.low is not None and self.high is not None:
            return f"{what} from {_bound(self.low)} to {_bound(self.high)}"
        if self.low is not None:
            return f"{what} of at least {_bound(self.low)}"
        return what if self.high is None else f"{what} of at most {_bound(self.high)}"

    def entries(self) -> Mapping[str, Any]:
        """Return the registry's descriptors by name."""
        return typing.cast("Mapping[str, Any]", imported(self.registry))

    def proposed(self) -> tuple[Proposal, ...]:
        """Return the words that :attr:`proposals` names."""
        return typing.cast("tuple[Proposal, ...]", imported(self.proposals)) if self.proposals else ()

    def words(self) -> Menu:
        """Return the words that :attr:`menu` names."""
        return typing.cast(Menu, imported(self.menu))


def imported(path: str) -> Any:
    """Import the object at ``module:NAME``."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def parameter(default: Any = dataclasses.MISSING, *, factory: Any = dataclasses.MISSING, **rule: Any) -> Any:
    """Make a dataclass field with a default and a :class:`Rule`, whose attributes are the keywords."""
    made = Rule(**rule)
    return dataclasses.field(default=default, default_factory=factory, metadata={"rule": made}, compare=made.stored)


def default_of(parameters: type, name: str, default: Any, **rule: Any) -> Any:
    """Make the field ``name`` of a dataclass again, for a subclass in which it has another default, or another rule."""
    (same,) = (field for field in dataclasses.fields(parameters) if field.name == name)
    return dataclasses.field(default=default, metadata={"rule": dataclasses.replace(same.metadata["rule"], **rule)})


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One field, resolved.

    Attributes:
        type: int, float, bool, str, tuple, :class:`Choice`, a mapping or another dataclass of parameters.
        item: type of a tuple's items, else None.
        optional: whether None is accepted.
    """

    name: str
    type: builtins.type
    item: builtins.type | None
    optional: bool
    default: Any
    rule: Rule

    @property
    def label(self) -> str:
        """Its title, or its name in words: ``images_per_class`` becomes ``Images per class``."""
        words = self.rule.title or self.name.replace("_", " ").strip()
        return words[:1].upper() + words[1:]

    @property
    def nested(self) -> bool:
        """Whether it is a dataclass of further parameters."""
        return dataclasses.is_dataclass(self.type) and self.type is not Choice

    @functools.cached_property
    def adapter(self) -> pydantic.TypeAdapter[Any]:
        """What pydantic checks its values with."""
        annotated: Any = typing.Annotated
        several: Any = tuple
        kind = self.item or self.type
        number = (kind, *self.rule.bounds(kind)) if kind in (int, float) else (Any,)
        pieces = (*number, pydantic.AfterValidator(functools.partial(_accepted, self)))
        accepted = annotated[pieces]
        if self.type is tuple:
            accepted = annotated[several[accepted, ...], pydantic.BeforeValidator(functools.partial(_listed, self))]
        return pydantic.TypeAdapter(accepted | None if self.optional else accepted, config=CHECKED)


def specs(parameters: type) -> tuple[Spec, ...]:
    """Return the fields of a parameter dataclass in order, those that :func:`parameter` made."""
    return _specs(parameters)


@functools.cache
def _specs(parameters: type) -> tuple[Spec, ...]:
    hints = typing.get_type_hints(parameters)
    resolved = []
    for field in dataclasses.fields(parameters):
        rule = field.metadata.get("rule")
        if rule is None:
            continue
        base, item, optional = _resolve(hints[field.name])
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        resolved.append(Spec(name=field.name, type=base, item=item, optional=optional, default=default, rule=rule))
    return tuple(resolved)


def flat(parameters: type, above: str = "") -> Iterator[tuple[str, Spec]]:
    """Yield every field with its name, those of nested dataclasses in the place of theirs: ``data.subset``."""
    for spec in specs(parameters):
        if spec.nested:
            yield from flat(spec.type, f"{above}{spec.name}.")
        else:
            yield f"{above}{spec.name}", spec


def check_all(parameters: Any, owner: str) -> None:
    """Check every field of a parameter dataclass, nested ones included.

    Raises:
        ParameterError: with the parameter, what it accepts and what it got.
    """
    for spec in specs(type(parameters)):
        check(spec, getattr(parameters, spec.name), owner)


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


def entry(entries: Mapping[str, Entry], name: str, what: str) -> Entry:
    """Return an entry of a registry by name; ``what`` it is, is for the message.

    Raises:
        ParameterError: there is none of that name.
    """
    if name not in entries:
        raise ParameterError(
            f"There is no {what} {name!r:.60}; choose from {', '.join(entries)}.{meant(name, entries)}"
        )
    return entries[name]


def meant(name: object, names: Iterable[str]) -> str:
    """Propose the most similar of some names, as the end of a message; empty: none is similar."""
    alike = difflib.get_close_matches(str(name), list(names), n=1)
    return f" Did you mean {alike[0]!r}?" if alike else ""


def check(spec: Spec, value: Any, owner: str) -> Any:
    """Check one value against its spec and return it in the field's own type."""
    try:
        return spec.adapter.validate_python(value, context=owner)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = first.get("ctx", {}).get("error")
        if isinstance(reason, ParameterError):  # of what stands in it
            raise reason from None
        given = _listed(spec, value)[int(first["loc"][0])] if first["loc"] else value
        got = "nothing" if value is None else f"{given!r:.80}"
        raise ParameterError(f"{owner}: {spec.name} needs {describe(spec)}; got {got}.") from None


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
        ParameterError: a part has no ``=``, or two give the same parameter.
    """
    name, _, rest = text.strip().partition(":")
    known = {spec.name: spec for spec in specs(family[name].parameters)} if name in family else {}
    main = next((spec.name for spec in known.values() if spec.rule.main), None)
    values: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if main is not None and not (equals and key.isidentifier()) and set(values) <= {main}:
            values[main] = f"{values[main]},{part}" if main in values else part
        elif equals and key in values:
            raise ParameterError(f"Each is given once; {key!r:.60} is given twice in {text.strip().lstrip(':')!r:.80}.")
        elif equals:
            values[key] = value
        elif part:
            raise ParameterError(f"NAME:PARAMETER=VALUE,... was needed; {part!r} has no '='.")
    return name, {key: _read(value, known.get(key)) for key, value in values.items()}


def parse_item(spec: Spec, written: Any) -> Any:
    """Read one value of a parameter: a choice, values by name (``-`` stands for none), or what it is, unchanged."""
    base = spec.item or spec.type
    if base is Choice:
        name, parameters = parse_choice(written, spec.rule.entries())
        return Choice(name=name, parameters=parameters)
    return written if base in (bool, int, float, str) else parse_choice(f":{'' if written == '-' else written}")[1]


def parse_text(spec: Spec, text: str) -> Any:
    """Read the value of a parameter written as on the command line; items of a tuple have spaces between them.

    Raises:
        ParameterError: it cannot be read.
    """
    if not text.strip():
        raise ParameterError(f"{spec.label} needs a value; got nothing.")
    if spec.nested:
        first = specs(spec.type)[0]
        return dataclasses.replace(spec.default, **{first.name: text.strip()})
    parts = [parse_item(spec, part) for part in text.split()]
    return tuple(parts) if spec.type is tuple else parts[0]


def describe(spec: Spec) -> str:
    """Describe the accepted values in words, e.g. ``a number from 0.01 to 1``."""
    rule = spec.rule
    if rule.choices is not None:
        return "one of " + ", ".join(str(choice) for choice in rule.choices)
    kind = spec.item or spec.type
    if rule.registry:
        names = ", ".join(rule.entries())
        choice = f"one of {names}" if kind is str else f"name and parameters of one of {names}"
        return f"a list; each {choice}" if spec.type is tuple else choice
    if dataclasses.is_dataclass(kind):
        return f"by name: {', '.join(f'{inner.name} ({describe(inner)})' for inner in specs(kind))}"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}.get(kind, kind.__name__)
    if spec.type is tuple:
        words = {int: "whole numbers", float: "numbers", str: "words"}.get(kind, f"{kind.__name__}s")
    return rule.within(words)


def _bound(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


def _integral(value: Any) -> Any:
    return int(value) if isinstance(value, float) and is_number(value) and value == int(value) else value


def _listed(spec: Spec, value: Any) -> tuple[Any, ...]:
    if spec.rule.spelled is not None:
        value = spec.rule.spelled(value)
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _accepted(spec: Spec, value: Any, owner: pydantic.ValidationInfo) -> Any:
    """Check one item and what is nested in it: it is of the type and among the choices, the entries or the words of its
    spec.
    """
    kind: Any = spec.item or spec.type
    rule = spec.rule
    countable = kind is not int or is_number(value)
    if not (countable and isinstance(value, kind)) or (rule.choices is not None and value not in rule.choices):
        raise ValueError
    if dataclasses.is_dataclass(value) and not isinstance(value, Choice):
        check_all(value, str(owner.context))
    if rule.registry:
        _check_entry(spec, value)
    if rule.menu:
        value = rule.words().key(value)
        rule.words().check(value)
    return value


def _check_entry(spec: Spec, choice: Choice | str) -> None:
    what = spec.name.removesuffix("es" if spec.name.endswith("sses") else "s").replace("_", " ")
    descriptor = entry(spec.rule.entries(), choice if isinstance(choice, str) else choice.name, what)
    if isinstance(choice, Choice):
        make(descriptor.parameters, dict(choice.parameters), descriptor.title)


def _read(text: str, spec: Spec | None) -> Any:
    """Read a value as typed; of a text parameter that must be given, the text itself."""
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
    """Resolve ``float | None`` to (float, None, True) and ``tuple[int, ...]`` to (tuple, int, False)."""
    optional = False
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        inner = [arm for arm in typing.get_args(hint) if arm is not type(None)]
        optional = len(inner) < len(typing.get_args(hint))
        hint = inner[0]
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        return tuple, typing.get_origin(item) or item, optional
    return typing.get_origin(hint) or hint, None, optional
