"""A made-up claim, and a result of it from made-up runs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.made_up_plan import sweep
from trainers.claims.base import Claim, Difference
from trainers.claims.measured import measure
from trainers.claims.results import ClaimResult, made
from trainers.comparison import Cell


def claim_of(*differences: Difference) -> Claim:
    """A claim that is decided by these differences; its plan trains two losses."""
    return Claim(
        name="made_up",
        title="Made up",
        work="rank_losses",
        statement="A is above B.",
        where="Table 0",
        recipe="python -m trainers sweep",
        differences=differences,
        plan=lambda: sweep("smooth_ap", "happier"),
        minutes=1.0,
    )


def result_of(claim: Claim, cells: Sequence[Cell]) -> ClaimResult:
    """The result of a claim from the results of its runs."""
    seeds = tuple(sorted({cell.seed for cell in cells}))
    told = "One setting for each side, none searched."
    measured = measure(claim, cells)
    return made(claim, measured, seeds=seeds, minutes=1.5, budget=told, commit="01234567", versions="")
