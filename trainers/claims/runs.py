"""The runs of a claim: an ordinary plan in the runs folder, found again by its settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from trainers.claims.base import Claim
from trainers.claims.measured import measure
from trainers.claims.results import ClaimResult, commit, made, read, versions
from trainers.errors import RunError, UserError
from trainers.plans.base import plan_of
from trainers.plans.children import Children
from trainers.plans.config import FairComparisonConfig, SweepConfig, data_of
from trainers.plans.report import results_of
from trainers.plans.search import CHOSEN
from trainers.runs import RunFolder, list_runs
from trainers.runs.damage import reading
from trainers.runs.label import Label, read_label, write_label

_BEGAN = re.compile(r"(?:commit ([0-9a-f]{8}\+?)(?:, |$))?(rankscope .+)?")


def check_at_hand(claim: Claim) -> None:
    """Refuse a claim that cannot be run here.

    Raises:
        UserError: with what it lacks, and its recipe.
    """
    if claim.plan is None:
        raise UserError(f"{claim.title}: {claim.lacking} Its recipe at full size: {claim.recipe}")


def steps(claim: Claim) -> Sequence[Callable[[], SweepConfig]]:
    """Return what makes the plans of a claim, in the order in which they are run; none for a claim without one."""
    return [made for made in (claim.begins, claim.plan) if made is not None]


def plans_of(claim: Claim, find: Callable[[SweepConfig], RunFolder | None]) -> list[RunFolder]:
    """Find the plans of a claim, first that which it begins with; fewer if not all are there.

    Args:
        find: finds the newest plan with these settings.
    """
    there: list[RunFolder] = []
    for make in steps(claim):
        folder = find(make().changed(start=there[0].id) if there else make())
        if folder is None:
            break
        there.append(folder)
    return there


def with_settings(config: SweepConfig, root: Path) -> RunFolder | None:
    """Find the newest plan with these settings."""
    text = config.to_json()
    for folder in list_runs(root):
        try:
            with reading(folder.id):
                if not folder.part_of and folder.config.to_json() == text:
                    return folder
        except RunError:
            continue
        finally:
            folder.db.close()
    return None


def begin(claim: Claim, config: SweepConfig, root: Path) -> RunFolder:
    """Make the folder of a plan of a claim; its label says what it is for, and which program trains it."""
    folder = RunFolder.create(root, config)
    mark(claim, folder)
    return folder


def mark(claim: Claim, folder: RunFolder) -> None:
    """Write into the label of a plan that was made just now what it is for, and which program trains it."""
    known = commit()
    note = f"commit {known}, {versions()}" if known else versions()
    write_label(folder.path, Label(name=f"Claim: {claim.title}", note=note))


def began(folder: RunFolder) -> tuple[str, str]:
    """Return the commit and the versions that began a plan, as its label has them; empty: not known."""
    found = _BEGAN.match(read_label(folder.path).note)
    return (found[1] or "", found[2] or "") if found else ("", "")


def result(claim: Claim, folder: RunFolder) -> ClaimResult:
    """Make the result of a claim from the finished plan ``folder``. Its commit and versions are those that began the
    plan.
    """
    config = folder.config
    assert isinstance(config, SweepConfig)
    children = Children(folder).all()
    part = CHOSEN if isinstance(config, FairComparisonConfig) else next(iter(plan_of(config).parts))
    of_part = [child for child in children if part in child.planned.parts]
    cells = results_of(folder, of_part)
    without = [child.planned.title for child in of_part if child.outcome is not None and not child.outcome.finished]
    seconds = sum(child.outcome.seconds for child in children if child.outcome is not None)
    known, built = began(folder)
    return made(
        claim,
        measure(claim, cells),
        seeds=config.seeds,
        minutes=seconds / 60,
        budget=budget(config),
        commit=known,
        versions=built,
        without=tuple(without),
    )


def budget(config: SweepConfig) -> str:
    """Say how many settings were tried for each side."""
    if isinstance(config, FairComparisonConfig):
        what = "learning rates" if config.searched == "rate" else "settings"
        unit = data_of(config.run).held_out
        steps = f", at most {config.search_steps:,} steps each" if config.search_steps else ""
        return f"{config.trials} {what} for each side, each on {config.folds} folds of the training {unit}{steps}."
    return "One setting for each side, none searched."


def duration(claims: Sequence[Claim], root: Path, results: Path, *, again: bool = False) -> str:
    """Say how long it takes to run some claims: those whose runs are finished are only judged.

    Args:
        results: folder of the results, whose minutes are used where there are any.
        again: runs that are finished are trained anew.
    """
    left: dict[str, float] = {}  # claims with the same plan share its runs
    for claim in claims:
        plans = plans_of(claim, lambda config: with_settings(config, root))
        done = len(plans) == len(steps(claim)) and all(plan.state().phase == "finished" for plan in plans)
        if again or not done:
            result = read(claim, results)
            text = "".join(make().to_json() for make in steps(claim))
            left[text] = claim.minutes if result is None else result.minutes
    many = f"{len(claims)} claim{'s' if len(claims) > 1 else ''}"
    if not left:
        return f"{many}; {'their' if len(claims) > 1 else 'its'} runs are finished."
    many += f", {len(left)} plan{'s' if len(left) > 1 else ''} to train"
    return f"{many}: about {sum(left.values()):.0f} minutes of one idle processor core. Interrupted, it goes on here."


def described(claim: Claim) -> list[str]:
    """Say what is run for a claim, a few words each; nothing where nothing is."""
    if claim.plan is None:
        return []
    config = claim.plan()
    plan = plan_of(config)
    return [plan.data_title(config), *plan.details(config), *plan.budget(config), plan.seeds(config)]
