"""The handing of a run to a job: the run and the program to its repository, then the job; all of it or nothing."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from trainers.errors import UserError
from trainers.jobs.client import JobsClient
from trainers.jobs.hardware import Hardware
from trainers.jobs.program import PROGRAM, write_program
from trainers.jobs.record import JobRecord, write_record
from trainers.jobs.repository import opened
from trainers.jobs.script import IMAGE, Task, command
from trainers.progress import Progress
from trainers.publishing.upload import Target
from trainers.runs import RunFolder, list_runs


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a job is asked for with.

    Attributes:
        hardware: of the Hub's list.
        seconds: its limit.
        every: least seconds between two copies of the run.
        image: with what the program needs; empty: one in which it is installed.
    """

    hardware: Hardware
    seconds: int
    every: int
    image: str = ""


def repository_name(owner: str, run: str) -> str:
    """Return the name of the repository of a run."""
    return f"{owner}/rankscope-{run.lower()}"


def submit(folder: RunFolder, wish: Wish, client: JobsClient, progress: Progress, *, new: bool) -> JobRecord:
    """Upload the run and the program, and start the job.

    Args:
        new: the run was made for this; where no job is started, it and its repository go again.

    Raises:
        UserError: the Hub refuses.
    """
    owner = client.user()
    target = Target(name=repository_name(owner, folder.id), private=True, token=client.token)
    with _undone(folder, target.name, client) if new else contextlib.nullcontext():
        task = Task(
            run=folder.id,
            repository=target.name,
            revision=_uploaded(folder, target, progress),
            seconds=wish.seconds,
            every=wish.every,
            installs=not wish.image,
        )
        job = client.start(
            owner,
            command(task),
            image=wish.image or IMAGE,
            flavor=wish.hardware.name,
            seconds=wish.seconds,
            run=folder.id,
        )
        try:
            record = JobRecord(
                id=job.id,
                owner=job.owner,
                url=job.url,
                repository=target.name,
                flavor=wish.hardware.name,
                seconds=wish.seconds,
                hourly=wish.hardware.hourly,
            )
        except ValidationError as error:
            raise UserError(
                "The Hub's answer about the job that it started cannot be read. End it among your jobs on the Hub."
            ) from error
        write_record(folder, record)
    return record


def family(folder: RunFolder) -> list[RunFolder]:
    """Return a run, and those that belong to it if it is a plan."""
    root = folder.path.parent
    return [folder, *(run for run in list_runs(root) if run.id != folder.id and run.part_of == folder.id)]


def _uploaded(folder: RunFolder, target: Target, progress: Progress) -> str:
    with tempfile.TemporaryDirectory(prefix="rankscope-") as spare, opened(target) as repository:
        program = write_program(Path(spare) / PROGRAM)
        revision = repository.push(family(folder), {PROGRAM: program}, progress)
    assert revision is not None, "the program is uploaded each time"
    return revision


@contextlib.contextmanager
def _undone(folder: RunFolder, repository: str, client: JobsClient) -> Iterator[None]:
    """Delete the run and its repository where the block fails; a job that began unnoticed then has nothing to train."""
    try:
        yield
    except BaseException:
        folder.delete()
        try:
            client.delete_repository(repository)
        except UserError as error:
            raise UserError(f"No job was started. Delete {repository!r} on the Hub: {error}") from None
        raise
