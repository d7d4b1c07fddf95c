"""The commit of a Hub dataset that a run reads from its first start on, and all runs of a plan that read the same."""

from __future__ import annotations

from typing import TypeVar

from trainers.config import DataChoice, SceneChoice
from trainers.errors import RunError
from trainers.runs import RunFolder

Images = TypeVar("Images", DataChoice, SceneChoice)


def pinned(folder: RunFolder, choice: Images) -> Images:
    """Return what a run reads, at the commit of its first start or of its plan's, if there is one."""
    plan = _plan(folder, choice)
    revision = folder.revision or ("" if plan is None else plan.revision)
    return choice.at(revision) if revision else choice


def pin(folder: RunFolder, choice: DataChoice | SceneChoice, revision: str) -> None:
    """Keep the commit that was read, unless one is kept already; empty: it is not of the Hub."""
    if not revision or folder.revision:
        return
    folder.pin(revision)
    folder.log(f"data: {choice.source} at commit {revision}")
    plan = _plan(folder, choice)
    if plan is not None and not plan.revision:
        plan.pin(revision)


def _plan(folder: RunFolder, choice: DataChoice | SceneChoice) -> RunFolder | None:
    """Return the plan that a run is part of, whose runs read one commit; None: none, or they vary the images."""
    root = folder.path.parent
    if not folder.part_of or not (root / folder.part_of).is_dir():
        return None
    plan = RunFolder(root / folder.part_of)
    try:
        planned = [_dataset(value) for value in vars(plan.config.single).values()]
    except RunError:  # a damaged plan does not stop its runs
        return None
    return plan if _dataset(choice) in planned else None


def _dataset(choice: object) -> tuple[str, str | None] | None:
    if isinstance(choice, DataChoice):
        return choice.source, choice.revision
    return (choice.source, None) if isinstance(choice, SceneChoice) else None
