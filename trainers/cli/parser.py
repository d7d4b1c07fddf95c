"""The parser of the command line: flags are made when their verb is called; what is nearly right is proposed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from trainers.cli.flags import DEFAULT, shown
from trainers.parameters import meant


class Parser(argparse.ArgumentParser):
    """A parser whose errors are sentences.

    Args:
        equip: adds the arguments when they are needed: a verb that is not called makes none.
    """

    def __init__(self, *args: Any, equip: Callable[[Parser], object] | None = None, **options: Any) -> None:
        super().__init__(*args, **(options | {"formatter_class": _Formatter}))
        self._equip = equip

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; what is not known is an error already here, where the flags are known."""
        self._equipped()
        known, rest = super().parse_known_args(args, namespace)
        if rest:
            flags = [flag for action in self._actions for flag in action.option_strings]
            first = rest[0].partition("=")[0]
            self.error(f"there is no {'flag' if first[:1] == '-' else 'argument'} {first!r:.60}.{meant(first, flags)}")
        return known, rest

    def format_help(self) -> str:
        """Return the help with all arguments."""
        self._equipped()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print what is wrong as sentences, and where the help is; exit status 2."""
        text = message.removeprefix("argument ")
        end = "" if text.endswith((".", "?")) else "."
        print(f"rankscope: {text[:1].upper()}{text[1:]}{end} See `{self.prog} --help`.", file=sys.stderr)
        sys.exit(2)

    def _equipped(self) -> None:
        equip, self._equip = self._equip, None
        if equip is not None:
            equip(self)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            raise argparse.ArgumentError(None, f"there is no command {value!r:.60}.{meant(value, action.choices)}")
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            said = f"one of {', '.join(known)} was needed; got {value!r:.60}.{meant(value, known)}"
            raise argparse.ArgumentError(action, said)


class _Formatter(argparse.HelpFormatter):
    """Writes the default of every flag that takes a value, and the usage without flags: there are dozens."""

    def add_usage(self, usage: Any, actions: Iterable[argparse.Action], groups: Any, prefix: str | None = None) -> None:
        """Name the arguments that are no flags."""
        names = [str(action.metavar or action.dest) for action in actions if not action.option_strings]
        super().add_usage(usage or " ".join(["%(prog)s", *names, "[FLAGS]"]), actions, groups, prefix)

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        given = action.option_strings and action.nargs != 0 and not action.required
        if not given or DEFAULT in text or argparse.SUPPRESS in (action.default, text):
            return text
        return f"{text} [{DEFAULT}{shown(action.default)}]".replace("%", "%%")
