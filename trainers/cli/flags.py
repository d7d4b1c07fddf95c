"""Flags of the command line, derived from parameters."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trainers import plugins
from trainers.cluster.address import address
from trainers.config import BUDGET
from trainers.errors import ParameterError, UserError
from trainers.kinds import KINDS
from trainers.kinds.base import Section
from trainers.parameters import Choice, Spec, describe, flat, parse_item, specs

SPELLING = "NAME[:PARAMETER=VALUE,...]"
DEFAULT = "default: "
"""Before the default of a flag, in brackets after its sentence."""
FURTHER = "Further settings"
LISTED = MappingProxyType(
    {
        "losses": "trainers.losses:LOSSES",
        "metrics": "trainers.metrics.names:MENU",
        "models": "trainers.image_text.models:MODELS",
        "encoders": "trainers.encoders:ENCODERS",
        "augmentations": "trainers.training.augmentations:AUGMENTATIONS",
        **{verb: registry for kind in KINDS.values() for verb, registry in kind.lists.items()},
    }
)
"""The verbs that list what may be chosen, with where it stands, ``module:NAME``."""


def add_flags(
    parser: argparse._ActionsContainer,
    parameters: type,
    sections: Sequence[Section] = (),
    offers: Callable[[str], bool] = lambda _name: True,
) -> None:
    """Add a flag per field of a parameter dataclass, those of nested ones included. None has a default: what is not
    given is left out of :func:`given`.

    Args:
        sections: those that are folded are groups after the others and the budget; what is in none comes last.
        offers: says by its name whether a field gets a flag.
    """
    known = {name: spec for name, spec in flat(parameters) if offers(name)}
    first = [name for section in sections if not section.folded for name in section.names]
    for name in dict.fromkeys([*first, *(name for name in BUDGET if sections and name in known)]):
        _add_flag(parser, known.pop(name))
    for section in sections:
        if section.folded:
            _add_group(parser, section.title, [known.pop(name) for name in section.names if name in known])
    if sections:
        _add_group(parser, FURTHER, list(known.values()))
    else:
        for spec in known.values():
            _add_flag(parser, spec)


def _add_group(parser: argparse._ActionsContainer, title: str, specs: Sequence[Spec]) -> None:
    group = parser.add_argument_group(title)
    for spec in specs:
        _add_flag(group, spec)


def given(arguments: argparse.Namespace, parameters: type) -> dict[str, Any]:
    """Return the fields that were given as flags, by name; nested dataclasses are made if any of theirs was given."""
    values: dict[str, Any] = {}
    for spec in specs(parameters):
        if spec.nested:
            inner = given(arguments, spec.type)
            if inner:
                values[spec.name] = dataclasses.replace(spec.default, **inner)
        elif hasattr(arguments, _dest(spec)):
            written = getattr(arguments, _dest(spec))
            if spec.rule.spelled is not None:
                values[spec.name] = spec.rule.spelled(" ".join(written))
                continue
            items = [parse_item(spec, item) for text in _listed(written) for item in _of_file(spec, text)]
            values[spec.name] = tuple(items) if spec.type is tuple else items[0]
    return values


def runs_flag(parser: argparse.ArgumentParser, inner: bool = False) -> None:
    """Add ``--runs``, the folder of the runs; not given to an ``inner`` command, what stands before that counts."""
    root = Path(os.environ.get("RANKSCOPE_RUNS", "runs"))
    default = argparse.SUPPRESS if inner else root
    parser.add_argument("--runs", type=Path, default=default, help=f"Folder that holds the runs. [{DEFAULT}{root}]")


def ray_flag(parser: argparse.ArgumentParser) -> None:
    """Add ``--ray``, the cluster on which runs are placed."""
    text = "Train on a Ray cluster: auto for the one that this machine belongs to, or HOST:PORT."
    here = address() or "this machine"
    parser.add_argument("--ray", metavar="ADDRESS", default=argparse.SUPPRESS, help=f"{text} [{DEFAULT}{here}]")


def _truth(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _reader(spec: Spec, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make a reader say what was needed, and read ``none`` where it is accepted."""

    def reader(text: str) -> Any:
        try:
            return None if spec.optional and text.lower() == "none" else read(text)
        except (ValueError, KeyError):
            raise argparse.ArgumentTypeError(f"{describe(spec)} was needed; got {text!r:.60}") from None

    return reader


class _Accepts:
    """What a flag accepts, in words: of a registry it is known once that is imported, when the help is printed."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    def __str__(self) -> str:
        spec, rule = self._spec, self._spec.rule
        words = [f"{DEFAULT}{shown(spec.default) or 'none'}"]
        if rule.registry:
            plugins.begin()
            words.append(f"of {', '.join(rule.entries())}")
        elif (spec.item or spec.type) in (int, float):
            words.append(describe(spec))
        words[1:] = [f"{text}, or none" if spec.optional else text for text in words[1:]]
        verbs = [verb for verb, registry in LISTED.items() if registry in (rule.registry, rule.menu)]
        return "; ".join([*words, *(f"`python -m trainers {verb}` describes them" for verb in verbs)])


class _Once(argparse.Action):
    """The action of a flag of several values: given again it would take the place of those before without a word."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if hasattr(namespace, self.dest):
            raise argparse.ArgumentError(self, "it is given once, with all its values; got it twice")
        setattr(namespace, self.dest, values)


_PLAIN: dict[type, Callable[[str], Any]] = {bool: _truth, int: int, float: float, str: str}


_FILE = re.compile(r"(.+\.py)(?::(.*))?")


def _file_used(text: str) -> str:
    """Use the file that stands in the place of an entry's name, if one does: ``my_loss.py:margin=0.3``."""
    if match := _FILE.fullmatch(text):
        try:
            plugins.use(match[1])
        except UserError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _of_file(spec: Spec, text: Any) -> list[Any]:
    """Return the entries of a file that stands in their place, as they are written by name; else the text itself.

    Raises:
        ParameterError: it has none of the kind that was needed, or not one where one was.
    """
    match = _FILE.fullmatch(text) if (spec.item or spec.type) is Choice else None
    if match is None:
        return [text]
    names = plugins.use(match[1]).names(spec.rule.registry.partition(":")[0])
    if not names or (len(names) > 1 and (spec.type is not tuple or match[2])):
        raise ParameterError(
            f"{spec.label} needs {'one' if names else 'an'} entry of {match[1]}; it has {', '.join(names) or 'none'}. "
            "Give --plugin the file, and its name here."
        )
    return [f"{name}:{match[2]}" if match[2] else name for name in names]


def _listed(written: Any) -> list[Any]:
    return written if isinstance(written, list) else [written]


def _add_flag(parser: argparse._ActionsContainer, spec: Spec) -> None:
    base = spec.item or spec.type
    read = str if spec.rule.spelled is not None else _PLAIN.get(base, str)
    reader: Callable[[str], Any] = _file_used if base is Choice else read if read is str else _reader(spec, read)
    options: dict[str, Any] = {"type": reader, "default": argparse.SUPPRESS}
    if spec.type is tuple:
        options |= {"nargs": "+", "action": _Once}
    elif base not in _PLAIN and base is not Choice:
        options["action"] = _Once
    elif base is bool:
        options |= {"nargs": "?", "const": True}
    if spec.rule.choices is not None:
        options["choices"] = spec.rule.choices
    elif base is Choice:
        options["metavar"] = SPELLING
    elif base is bool:
        options["metavar"] = "true|false"
    elif base not in _PLAIN:
        options["metavar"] = "PARAMETER=VALUE,..."
    else:
        options["metavar"] = spec.name.upper()
    text = f"{spec.rule.help.replace('%', '%%')} [%(accepts)s]"
    vars(parser.add_argument(f"--{_flag(spec)}", dest=_dest(spec), help=text, **options))["accepts"] = _Accepts(spec)


def shown(default: Any) -> str:
    """Write a value as the command line does."""
    if isinstance(default, Choice):
        return default.name + (f":{shown(dict(default.parameters))}" if default.parameters else "")
    if dataclasses.is_dataclass(default) and not isinstance(default, type):
        return shown(getattr(default, dataclasses.fields(default)[0].name))
    if isinstance(default, tuple):
        return " ".join(map(shown, default))
    if isinstance(default, dict):
        return ",".join(f"{name}={value}" for name, value in default.items()) or "-"
    if default is None or isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


def _flag(spec: Spec) -> str:
    return spec.rule.flag or spec.name.replace("_", "-")


def _dest(spec: Spec) -> str:
    return "setting_" + _flag(spec).replace("-", "_")
