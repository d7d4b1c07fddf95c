"""What is pushed of a run: of a plan its comparison as a dataset, of any other an encoder as a model."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainers.data.hub_step import Step
from trainers.kinds import kind_of
from trainers.progress import Progress
from trainers.publishing.comparison import write_comparison
from trainers.publishing.model import named, write_model
from trainers.publishing.upload import Target, check_target, upload
from trainers.runs import RunFolder

_LAST_REQUEST_SECONDS = 15.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """What was uploaded: the address of its commit, and its files with their bytes together."""

    url: str
    files: tuple[str, ...]
    bytes: int


def push(folder: RunFolder, target: Target, progress: Progress, *, arm: int = 0) -> Pushed:
    """Write the files and upload them in one commit.

    Args:
        progress: called while it lasts; what it raises ends it, and nothing is committed unless it already was.
        arm: of a run, from 0.

    Raises:
        UserError: there is nothing to push yet, or the Hub refuses; with what to do.
    """
    check_target(target)
    plans = kind_of(folder.config).plans
    with tempfile.TemporaryDirectory(prefix="rankscope-") as scratch:
        progress("Writing the files", 0.1)
        to = Path(scratch)
        if plans:
            files, message = write_comparison(folder, target.name, to), f"Comparison {folder.id}"
        else:
            files, message = write_model(folder, arm, target.name, to), named(folder, arm)
        return _send(files, target, message, "dataset" if plans else "model", progress)


def _send(files: Mapping[str, Path], target: Target, message: str, kind: str, progress: Progress) -> Pushed:
    """Upload files in a thread of its own, so that ``progress`` can stop it as long as nothing is committed."""
    size = sum(path.stat().st_size for path in files.values())
    step = Step(lambda: upload(files, target, message=message, kind=kind))
    try:
        while not step.ended(_POLL_SECONDS):
            progress(f"Uploading {len(files)} files, {size / 1e6:.1f} MB, to {target.name}", 0.5)
    except BaseException:
        step.give_up()
        if not (step.ended(_LAST_REQUEST_SECONDS) and step.succeeded):
            raise
        # the commit was being made already, so that it is told
    return Pushed(url=step.result(), files=tuple(sorted(files)), bytes=size)
