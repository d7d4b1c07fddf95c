"""Plant the faults of this folder, one at a time, in a copy of the program, and tell which test catches each.

python -m tests.faults [NAME ...] [--all] [-n PROCESSES]

A fault is a patch, before which stand a sentence on what is wrong and, after ``Caught by:``, the tests that catch it.
The copy is a clone in a temporary folder, with the changes that are not committed. A test that catches a fault must
pass without it. The exit status is 1 if a fault is not caught, or if such a test fails without one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.programs import command, markdown, say
from tests.shared import SHARED
from trainers.errors import UserError

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
MISSED, UNKNOWN = "NOT CAUGHT", "NOT RUN TO THE END"
_HEADER = re.compile(r"(?P<sentence>.+)\nCaught by: (?P<tests>.+)\n\ndiff --git ")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class Fault:
    """A patch and the tests that catch it.

    Attributes:
        patch: its file, which has the fault's name.
        sentence: what is wrong with the program that has it.
        tests: as pytest takes them, without parameters.
    """

    patch: Path
    sentence: str
    tests: tuple[str, ...]

    @classmethod
    def read(cls, patch: Path) -> Fault:
        """Read a patch of this folder.

        Raises:
            UserError: it does not begin with a sentence and the tests.
        """
        header = _HEADER.match(patch.read_text(encoding="utf-8"))
        if header is None:
            raise UserError(f"{patch.name} must begin with a sentence, a line 'Caught by: TEST ...' and an empty line.")
        return cls(patch, header["sentence"], tuple(header["tests"].split()))

    def apply(self, root: Path, *flags: str) -> None:
        """Apply the patch to the program in ``root``; ``flags``: of ``git apply``.

        Raises:
            UserError: it does not apply.
        """
        told = ["git", "apply", *flags, str(self.patch)]
        done = subprocess.run(told, cwd=root, capture_output=True, text=True)
        if done.returncode:
            raise UserError(
                f"{self.patch.name} no longer applies ({done.stderr.strip()}): plant the fault anew in today's code "
                f"and write the patch with `git diff -U1`."
            )


def read_faults() -> dict[str, Fault]:
    """Read all patches; the faults by name."""
    return {path.stem: Fault.read(path) for path in sorted(FOLDER.glob("*.patch"))}


@contextmanager
def copied() -> Iterator[Path]:
    """A clone with the changes that are not committed; beside it what is shared, where it is beside this one."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy = Path(folder) / "program"
        subprocess.run(["git", "clone", "-q", "--shared", str(ROOT), str(copy)], check=True)
        changes = subprocess.run(["git", "diff", "--binary", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        if changes:
            subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=copy, input=changes, check=True)
        if SHARED.exists():
            (Path(folder) / SHARED.name).symlink_to(SHARED)
        yield copy


def failed(root: Path, tests: Sequence[str], *flags: str) -> dict[str, str]:
    """Run tests; those that failed, each with the last word about it.

    Raises:
        UserError: they could not be run, or did not end.
    """
    words = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "--timeout=1200", *flags, *tests]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, env={**os.environ, "COLUMNS": "300"})
    found = dict(_FAILED.findall(done.stdout))
    if done.returncode not in (0, 1) or bool(found) != bool(done.returncode) or "Timeout" in "".join(found.values()):
        raise UserError(f"{' '.join(words[2:])} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def plant(faults: Sequence[Fault], every: bool, flags: Sequence[str]) -> tuple[list[tuple[str, ...]], bool]:
    """Plant faults one after the other; the rows of the table, and whether all is as it should be.

    Args:
        every: run the default suite until something fails, in place of the tests named for the fault.
        flags: of pytest.
    """
    rows, caught = [], set()
    with copied() as copy:
        for fault in faults:
            begun = time.monotonic()
            fault.apply(copy)
            try:
                found = failed(copy, ("--ignore=tests/faults",) if every else fault.tests, "-x", *flags)
                test = next(iter(found), MISSED)
            except UserError as error:
                say(str(error))
                test = UNKNOWN
            fault.apply(copy, "--reverse")
            caught |= {test.partition("[")[0]} - {MISSED, UNKNOWN}
            rows.append((fault.patch.stem, fault.sentence, test, f"{time.monotonic() - begun:.0f}"))
            say("  ".join(rows[-1]))
        wrong = failed(copy, sorted(caught), *flags) if caught else {}
    for test, words in wrong.items():
        say(f"{test} fails without a fault: {words}")
    return rows, not wrong and not {MISSED, UNKNOWN} & {row[2] for row in rows}


@command
def main(argv: list[str]) -> None:
    """Try the faults that are named, or all."""
    faults = read_faults()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(faults)}")
    parser.add_argument("--all", action="store_true", help="run the default suite until a test fails")
    parser.add_argument("-n", default="0", metavar="PROCESSES", help="that run the tests")
    given = parser.parse_args(argv)
    if unknown := sorted(set(given.names) - set(faults)):
        parser.error(f"no fault has the name {', '.join(unknown)}")
    chosen = [faults[name] for name in given.names or faults]
    rows, well = plant(chosen, given.all, ("-n", given.n, "--dist", "loadfile"))
    print(markdown(("fault", "what is wrong", "caught by", "seconds"), rows))
    if not well:
        raise UserError("A fault is not caught, or a test fails without one; see above.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
