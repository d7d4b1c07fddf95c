"""The output of verbs: tables with a header, or the same as JSON; a progress bar."""

from __future__ import annotations

import argparse
import json
import numbers
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainers.cells import finite_number, one_line
from trainers.errors import UserError
from trainers.progress import Progress, silent


class Share(float):
    """A number that a table shows in percent."""

    def __str__(self) -> str:
        return f"{self:.1%}"


class Rounded(float):
    """A number that a table shows with three digits."""

    def __str__(self) -> str:
        return f"{self:.3f}"


class Signed(float):
    """A difference."""

    def __str__(self) -> str:
        return f"{self:+.3f}"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table; a cell that has no value is None.

    Attributes:
        title: above it; empty: none.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""

    def text(self) -> str:
        """Write it with a header in capitals, but for names with capitals of their own; of no rows ``none``."""
        return "\n".join([*([self.title] if self.title else []), *self._lines()])

    def _lines(self) -> Iterator[str]:
        inset = "  " if self.title else ""
        if not self.rows:
            yield f"{inset}none"
            return
        lines = [
            [column.upper() if column.islower() else column for column in self.columns],
            *(list(map(_cell, row)) for row in self.rows),
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            yield (inset + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))).rstrip()

    def json(self) -> dict[str, Any]:
        """Return title, columns and rows."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


def json_flag(parser: argparse._ActionsContainer, inner: bool = False) -> None:
    """Add ``--json``; not given to an ``inner`` command, what stands before that counts."""
    default = argparse.SUPPRESS if inner else False
    parser.add_argument("--json", action="store_true", default=default, help="Print JSON.")


def quiet_flag(parser: argparse._ActionsContainer, inner: bool = False) -> None:
    """Add ``--quiet``; not given to an ``inner`` command, what stands before that counts."""
    default = argparse.SUPPRESS if inner else False
    parser.add_argument("--quiet", action="store_true", default=default, help="Do not show how far the training is.")


def print_json(value: object) -> None:
    """Print one line of JSON; numbers that JSON does not have become null."""
    print(json.dumps(_plain(value), ensure_ascii=False))


def write_file(path: Path, content: bytes) -> None:
    """Write a file that was asked for.

    Raises:
        UserError: it cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}.") from error


def _cell(value: object) -> str:
    return "" if value is None else one_line(str(value))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return finite_number(float(value)) if isinstance(value, numbers.Real) else str(value)


LINE_SECONDS = 10.0  # between two lines where there is no terminal


@contextmanager
def training_line(quiet: bool = False) -> Iterator[Progress]:
    """Show how far a training is: on a terminal a bar, elsewhere a line every ten seconds; both go to stderr.

    Args:
        quiet: show nothing.
    """
    if quiet:
        yield silent
    elif sys.stderr.isatty():
        with progress_bar() as tell:
            yield tell
    else:
        yield _now_and_then()


def _now_and_then() -> Progress:
    """Return a progress function that prints a line at first, and every ten seconds."""
    said = float("-inf")

    def tell(text: str, _fraction: float) -> None:
        nonlocal said
        if time.monotonic() - said >= LINE_SECONDS:
            said = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    return tell


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show a bar; yields the function that moves it, with what is being done and the fraction done."""
    from tqdm import tqdm

    with tqdm(total=100, unit="%", bar_format="{l_bar}{bar:20}| {elapsed} {postfix}", disable=None) as bar:

        def tell(text: str, fraction: float) -> None:
            bar.n = min(100, round(100 * fraction))
            bar.set_postfix_str(text)

        yield tell
