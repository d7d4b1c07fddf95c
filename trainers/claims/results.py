"""The results of claims: small JSON files beside this module, written by ``python -m trainers claims`` alone."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from trainers.cells import finite_number
from trainers.claims.base import Claim
from trainers.claims.measured import Arm, Measured
from trainers.claims.parts import digest
from trainers.claims.verdict import LACKING, NOT_RUN, Numbers, verdict
from trainers.errors import RunError

SHIPPED = Path(__file__).parent / "results"


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of the runs of a claim.

    Attributes:
        seeds: of its runs.
        minutes: of training, all runs together.
        machine: processor and libraries.
        commit: of the program that began to train; empty: not known. A ``+`` after it: files were changed.
        made: day.
        parts: digest of the code that the numbers come from, see :mod:`trainers.claims.parts`; empty: of other code.
        budget: settings tried for each side, as a sentence.
    """

    claim: str
    seeds: tuple[int, ...]
    minutes: float
    machine: str
    commit: str
    made: str
    parts: str
    budget: str
    measured: tuple[Measured, ...]

    def verdict(self, claim: Claim) -> str:
        """Return the verdict that the rule gives on these numbers."""
        return verdict([difference.numbers for difference in self.measured], claim.differences)

    def fits(self, claim: Claim) -> bool:
        """Return whether it has the differences that the claim is decided by."""
        titles = [(measured.title, measured.metric) for measured in self.measured]
        return titles == [(difference.title, difference.metric) for difference in claim.differences]

    def to_json(self) -> str:
        """Write JSON; numbers that are not known become null."""
        return json.dumps(_plain(asdict(self)), indent=1, ensure_ascii=False) + "\n"


def made(
    claim: Claim,
    measured: tuple[Measured, ...],
    *,
    seeds: tuple[int, ...],
    minutes: float,
    budget: str,
    commit: str,
    parts: str,
) -> Result:
    """Make a result of what was measured now, on this machine."""
    return Result(
        claim=claim.name,
        seeds=seeds,
        minutes=round(minutes, 2),
        machine=machine(),
        commit=commit,
        made=datetime.now(timezone.utc).date().isoformat(),
        parts=parts,
        budget=budget,
        measured=measured,
    )


def read(claim: Claim, folder: Path = SHIPPED) -> Result | None:
    """Read the result of a claim; None where there is none, or one of other differences.

    Raises:
        RunError: the file is damaged.
    """
    path = folder / f"{claim.name}.json"
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        values["measured"] = tuple(map(_measured, values["measured"]))
        result = Result(**values | {"seeds": tuple(values["seeds"])})
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"The result {path.name} cannot be read ({error}). Delete it and run the claim again."
        ) from error
    return result if result.fits(claim) else None


def write(result: Result, folder: Path = SHIPPED) -> Path:
    """Write a result; returns its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.claim}.json"
    path.write_text(result.to_json(), encoding="utf-8")
    return path


def standing(claim: Claim, result: Result | None) -> str:
    """Return the verdict on a claim as it stands."""
    if claim.plan is None:
        return LACKING
    return NOT_RUN if result is None else result.verdict(claim)


def is_stale(claim: Claim, result: Result) -> bool:
    """Return whether the code that the numbers come from has changed since."""
    return result.parts != digest(claim)


def machine() -> str:
    """Describe processor and libraries; no name of the machine."""
    import torch

    return f"{platform.machine()}, {os.cpu_count()} cores, one thread a run, torch {torch.__version__}"


def commit() -> str:
    """Return the commit of the program, with a ``+`` where files of it are changed; empty where git cannot say."""
    root = Path(__file__).parents[2]

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=20)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "trainers", ":!trainers/claims/results")
        return git("rev-parse", "--short=8", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _measured(values: Mapping[str, Any]) -> Measured:
    sides = tuple(
        Arm(**_known(side) | {"values": {int(seed): value for seed, value in side["values"].items()}})
        for side in values["sides"]
    )
    return Measured(**dict(values) | {"sides": sides, "numbers": Numbers(**_known(values["numbers"]))})


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with NaN where JSON has null."""
    return {name: math.nan if value is None else value for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        known = finite_number(value)
        return None if known is None else round(known, 6)
    return value
