"""The results of claims: small JSON files beside this module, written by ``python -m trainers claims`` alone."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import tempfile
import tomllib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from trainers.cells import finite_number
from trainers.claims.base import Claim
from trainers.claims.measured import LACKING, NOT_RUN, Measured, verdict
from trainers.comparison.words import seeds_in_words
from trainers.errors import RunError, UserError, brief
from trainers.values import adapter

SHIPPED = Path(__file__).parent / "results"
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class ClaimResult:
    """What came of the runs of a claim.

    Attributes:
        seeds: of its runs.
        stands_on: those of the seeds that have a result on every side of every difference; None: of an older result,
            which does not list them.
        without: titles of its runs that have no result.
        minutes: of training, all runs together.
        machine: processor; of an older result with the version of torch.
        commit: of the program that began to train; empty: not known, as without git. A ``+`` after it: files were
            changed.
        versions: of that program, of Python and of libraries; empty: of an older result, or not known.
        made: day.
        budget: settings tried for each side, as a sentence.
    """

    claim: str
    seeds: tuple[int, ...]
    minutes: float
    machine: str
    commit: str
    made: str
    budget: str
    measured: tuple[Measured, ...]
    versions: str = ""
    stands_on: tuple[int, ...] | None = None
    without: tuple[str, ...] = ()

    @property
    def lacking(self) -> str:
        """Name the seeds that it stands on where these are not all, as a sentence; empty where they are or unknown."""
        if self.stands_on is None or len(self.stands_on) == len(self.seeds):
            return ""
        on = seeds_in_words(self.stands_on) if self.stands_on else "no seed"
        runs = f" Without a result: {'; '.join(self.without)}." if self.without else ""
        return f"It stands on {on} of {len(self.seeds)}.{runs}"

    def verdict(self, claim: Claim) -> str:
        """Return the verdict that the rule gives on these numbers."""
        return verdict([difference.numbers for difference in self.measured], claim.differences)

    def fits(self, claim: Claim) -> bool:
        """Return whether it has the differences that the claim is decided by."""
        titles = [(measured.title, measured.metric) for measured in self.measured]
        return titles == [(difference.title, difference.metric) for difference in claim.differences]

    def to_json(self) -> str:
        """Write JSON; numbers that are not known become null, a list that is not known is left out."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(_plain(values), indent=1, ensure_ascii=False) + "\n"


def made(
    claim: Claim,
    measured: tuple[Measured, ...],
    *,
    seeds: tuple[int, ...],
    minutes: float,
    budget: str,
    commit: str,
    versions: str,
    without: tuple[str, ...] = (),
) -> ClaimResult:
    """Make a result of what was measured now, on this machine."""
    return ClaimResult(
        claim=claim.name,
        seeds=seeds,
        minutes=round(minutes, 2),
        machine=machine(),
        commit=commit,
        made=datetime.now(UTC).date().isoformat(),
        budget=budget,
        measured=measured,
        versions=versions,
        stands_on=tuple(seed for seed in seeds if all(seed in side.values for each in measured for side in each.sides)),
        without=without,
    )


def read(claim: Claim, folder: Path = SHIPPED) -> ClaimResult | None:
    """Read the result of a claim; None where there is none, or one of other differences.

    Raises:
        RunError: the file is damaged.
    """
    path = folder / f"{claim.name}.json"
    if not path.is_file():
        return None
    try:
        result = adapter(ClaimResult).validate_python(_known(json.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(
            f"The result {path.name} cannot be read ({brief(error)}). Delete it and run the claim again."
        ) from error
    return result if result.fits(claim) else None


def prepare(folder: Path) -> None:
    """Make the folder of results where it is missing, before there is something to write.

    Raises:
        UserError: it cannot be written in.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"A folder that results can be written in was needed; {folder} is none: {error.strerror or error}. Name "
            "another one with --results."
        ) from error


def write(result: ClaimResult, folder: Path = SHIPPED) -> Path:
    """Write a result, whole or not at all; returns its file.

    Raises:
        UserError: it cannot be written.
    """
    prepare(folder)
    path = folder / f"{result.claim}.json"
    part = path.with_suffix(".part")
    try:
        part.write_text(result.to_json(), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UserError(
            f"The result {path} cannot be written: {error.strerror or error}. Its runs are kept: run the claim again."
        ) from error
    return path


def standing(claim: Claim, result: ClaimResult | None) -> str:
    """Return the verdict on a claim as it stands."""
    if claim.plan is None:
        return LACKING
    return NOT_RUN if result is None else result.verdict(claim)


def machine() -> str:
    """Describe the processor; no name of the machine."""
    return f"{platform.machine()}, {os.cpu_count()} cores, one thread a run"


def versions() -> str:
    """Name the versions of the program, of Python, and of the libraries that compute."""
    try:
        own = metadata.version("rankscope")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        own = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    libraries = (f"{name} {metadata.version(name)}" for name in ("torch", "numpy"))
    return ", ".join((f"rankscope {own}", f"Python {platform.python_version()}", *libraries))


def commit() -> str:
    """Return the commit of the program, with a ``+`` where files of it are changed; empty where git cannot say."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(_ROOT), *words], capture_output=True, text=True, check=True, timeout=20)
        return done.stdout.strip()

    try:
        if git("rev-parse", "--show-prefix"):  # of a repository around the one that the program is installed in
            return ""
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "trainers", ":!trainers/claims/results")
        return git("rev-parse", "--short=8", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _known(value: Any) -> Any:
    """Return the value with NaN where JSON has null."""
    if isinstance(value, dict):
        return {name: _known(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_known(item) for item in value]
    return math.nan if value is None else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        known = finite_number(value)
        return None if known is None else round(known, 6)
    return value
