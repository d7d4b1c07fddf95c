"""The parser of the command line: a verb's flags are made when it is called; what is nearly right is proposed."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from trainers import plugins
from trainers.cli.flags import DEFAULT, shown
from trainers.errors import UserError
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
        if names := [action for action in self._actions if isinstance(action, RunNames)]:
            known.run_names = names
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
        if "--plugin" not in self._option_string_actions:
            self.add_argument("--plugin", action=PluginFlag, metavar="FILE", default=argparse.SUPPRESS, help=PLUGIN)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            raise argparse.ArgumentError(None, f"there is no command {value!r:.60}.{meant(value, action.choices)}")
        if action.choices is not None and value not in action.choices:
            known = list(map(str, action.choices))
            said = f"one of {', '.join(known)} was needed; got {value!r:.60}.{meant(value, known)}"
            raise argparse.ArgumentError(action, said)


def named(arguments: argparse.Namespace) -> argparse.Namespace:
    """Put ids in the place of the names of runs.

    Raises:
        RunError: no run is meant, or several are.
    """
    for action in getattr(arguments, "run_names", ()):
        action.resolve(arguments)
    return arguments


class RunNames(argparse._StoreAction):
    """An argument that names runs of the folder ``--runs``, see :func:`trainers.runs.naming.whole_id`; :func:`named`
    turns them into ids. An arm may stand behind a colon.

    Args:
        others: names what else may stand there beside files, which stay as they are; None: only runs.
    """

    def __init__(self, *args: Any, others: Callable[[], Collection[str]] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._others = others

    def resolve(self, namespace: argparse.Namespace) -> None:
        """Put the ids in the place of the names."""
        given = getattr(namespace, self.dest)
        if given is None or given is self.default:
            return
        whole = [self._whole(namespace.runs, word) for word in ([given] if isinstance(given, str) else given)]
        setattr(namespace, self.dest, whole[0] if isinstance(given, str) else whole)

    def _whole(self, root: Path, word: str) -> str:
        from trainers.runs.naming import whole_id

        name, colon, arm = word.partition(":")
        if self._others is not None and (Path(word).suffix or name in self._others()):
            return word
        return f"{whole_id(root, name)}{colon}{arm}"


PLUGIN = (
    "Also use the losses, metrics, encoders, datasets and the like of a Python file, which is run: see "
    f"docs/extending.md. Several are given one by one. [{DEFAULT}none]"
)


class PluginFlag(argparse.Action):
    """Runs a file and adds its entries, before the flags after it are read; of one that fails a sentence is printed."""

    def __call__(self, _parser: Any, _namespace: Any, values: Any, _flag: str | None = None) -> None:
        try:
            plugins.use(values)
        except UserError as error:
            print(f"rankscope: {error}", file=sys.stderr)


class _Heading(argparse.Action):
    """A line between the verbs of the help."""


def add_section(verbs: Any, title: str, *adding: Callable[[Any], None]) -> None:
    """Add verbs below a heading, if there are any."""
    listed = verbs._choices_actions
    at = len(listed)
    for add in adding:
        add(verbs)
    if len(listed) > at:
        listed.insert(at, _Heading((), title))


class _Formatter(argparse.HelpFormatter):
    """Writes the default of every flag that takes a value, headings, and the usage without flags: there are dozens."""

    def add_usage(self, usage: Any, actions: Iterable[argparse.Action], groups: Any, prefix: str | None = None) -> None:
        """Name the arguments that are no flags."""
        names = [str(action.metavar or action.dest) for action in actions if not action.option_strings]
        super().add_usage(usage or " ".join(["%(prog)s", *names, "[FLAGS]"]), actions, groups, prefix)

    def _format_action(self, action: argparse.Action) -> str:
        return f"\n  {action.dest}:\n" if isinstance(action, _Heading) else super()._format_action(action)

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        given = action.option_strings and action.nargs != 0 and not action.required
        if not given or DEFAULT in text or argparse.SUPPRESS in (action.default, text):
            return text
        return f"{text} [{DEFAULT}{shown(action.default)}]".replace("%", "%%")


RUN = "Id of the run, the beginning of it, its name, or `last`."
"""What an argument of the kind :class:`RunNames` takes."""


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the command line.

    Attributes:
        name: what is typed.
        text: what it does, as sentences.
        equip: adds its arguments to its parser.
        run: does it and returns the exit status.
    """

    name: str
    text: str
    equip: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], int]

    def add(self, verbs: Any) -> None:
        """Add it to the parsers of all verbs; it gets its arguments when it is called."""
        verbs.add_parser(self.name, help=self.text, description=self.text, equip=self._equip)

    def _equip(self, parser: argparse.ArgumentParser) -> None:
        self.equip(parser)
        parser.set_defaults(run=self.run)


def verb(
    name: str, equip: Callable[[argparse.ArgumentParser], object]
) -> Callable[[Callable[[argparse.Namespace], int]], Verb]:
    """Make a verb of a function; the first paragraph of its docstring is what the help says."""

    def made(run: Callable[[argparse.Namespace], int]) -> Verb:
        text = " ".join((inspect.getdoc(run) or "").partition("\n\n")[0].split())
        return Verb(name=name, text=text, equip=equip, run=run)

    return made
