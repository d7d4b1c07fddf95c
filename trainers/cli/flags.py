"""Flags of the command line, derived from parameters."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainers.errors import ParameterError
from trainers.parameters import Choice, Spec, describe, parse_choice, specs

SPELLING = "NAME[:PARAMETER=VALUE,...]"


def add_flags(parser: argparse.ArgumentParser, parameters: type) -> None:
    """Add a flag per field of a parameter dataclass, those of nested ones included. None has a default: what is not
    given is left out of :func:`given`.
    """
    for spec in specs(parameters):
        if spec.nested:
            add_flags(parser, spec.type)
        else:
            _add_flag(parser, spec)


def given(arguments: argparse.Namespace, parameters: type) -> dict[str, Any]:
    """Return the fields that were given as flags, by name; nested dataclasses are made if any of theirs was given."""
    values: dict[str, Any] = {}
    for spec in specs(parameters):
        if spec.nested:
            inner = given(arguments, spec.type)
            if inner:
                values[spec.name] = dataclasses.replace(spec.default, **inner)
        elif hasattr(arguments, _place(spec)):
            written = getattr(arguments, _place(spec))
            items = [_read(spec, item) for item in (written if isinstance(written, list) else [written])]
            values[spec.name] = tuple(items) if spec.type is tuple else items[0]
    return values


def runs_flag(parser: argparse.ArgumentParser, inner: bool = False) -> None:
    """Add ``--runs``, the folder of the runs; not given to an ``inner`` command, what stands before that counts."""
    root = Path(os.environ.get("RANKSCOPE_RUNS", "runs"))
    default = argparse.SUPPRESS if inner else root
    parser.add_argument("--runs", type=Path, default=default, help="folder that holds the runs")


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"true or false was needed; got {text!r:.60}")
    return text.lower() == "true"


def _optional(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make a reader read ``none``, too."""

    def read_or_none(text: str) -> Any:
        return None if text.lower() == "none" else read(text)

    read_or_none.__name__ = read.__name__  # argparse names it where a value cannot be read
    return read_or_none


class _Once(argparse.Action):
    """The action of a flag of several values: given again it would take the place of those before without a word."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if hasattr(namespace, self.dest):
            raise argparse.ArgumentError(self, "it is given once, with all its values; got it twice")
        setattr(namespace, self.dest, values)


_PLAIN: dict[type, Callable[[str], Any]] = {bool: _truth, int: int, float: float, str: str}


def _read(spec: Spec, written: Any) -> Any:
    """Parse one value that the argument parser left as text; done here for a complete error message."""
    base = spec.item or spec.type
    if base is Choice:
        name, parameters = parse_choice(written, spec.rule.entries())
        return Choice(name=name, parameters=parameters)
    # alpha=5,preset=sop are values by name; - stands for none
    return written if base in _PLAIN else parse_choice(f":{'' if written == '-' else written}")[1]


def _add_flag(parser: argparse.ArgumentParser, spec: Spec) -> None:
    base = spec.item or spec.type
    read = _PLAIN.get(base, str)
    if spec.optional and read is not str:
        read = _optional(read)
    options: dict[str, Any] = {"type": read, "default": argparse.SUPPRESS}
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
    accepts = f"{describe(spec)}; " if base in (int, float) else ""
    text = f"{spec.rule.help.rstrip('.')} ({accepts}default: {shown(spec.default)})".replace("%", "%%")
    parser.add_argument(f"--{_flag(spec)}", dest=_place(spec), help=text, **options)


def given_text(spec: Spec, text: str) -> Any:
    """Read the value of a parameter written as on the command line; items of a tuple have spaces between them.

    Raises:
        ParameterError: it cannot be read.
    """
    if not text.strip():
        raise ParameterError(f"{spec.label} needs a value; got nothing.")
    if spec.nested:
        first = specs(spec.type)[0]
        return dataclasses.replace(spec.default, **{first.name: text.strip()})
    parts = [_read(spec, part) for part in text.split()]
    return tuple(parts) if spec.type is tuple else parts[0]


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
    return "none" if default is None else f"{default:g}" if isinstance(default, float) else str(default)


def _flag(spec: Spec) -> str:
    return spec.rule.flag or spec.name.replace("_", "-")


def _place(spec: Spec) -> str:
    return "setting_" + _flag(spec).replace("-", "_")
