"""The verb ``job``: how a run is that was handed to Hugging Face Jobs, its log, its end, and the way back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trainers.cli.flags import runs_flag
from trainers.cli.output import json_flag, print_json
from trainers.cli.verb import verb
from trainers.errors import RunError
from trainers.jobs.hardware import HOUR, said
from trainers.runs import RunFolder

if TYPE_CHECKING:
    from trainers.jobs.client import Job
    from trainers.jobs.record import JobRecord


def _equip(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="RUN", help="Id of the run.")
    fetched = "Replace the run here by what the job has copied to your repository, also while it trains."
    parser.add_argument("--fetch", action="store_true", help=fetched)
    parser.add_argument("--cancel", action="store_true", help="End the job; what it has copied stays.")
    parser.add_argument("--lines", type=int, default=10, metavar="N", help="Last lines of the log.")
    runs_flag(parser)
    json_flag(parser)


@verb("job", _equip)
def job(arguments: argparse.Namespace) -> int:
    """Say how the job of a run is on Hugging Face Jobs and the last lines of its log; fetch the run, or cancel it."""
    from trainers.jobs.client import JobsClient
    from trainers.jobs.fetch import fetch
    from trainers.jobs.record import read_record

    folder = RunFolder.open(arguments.runs, arguments.id)
    record = read_record(folder)
    if record is None:
        raise RunError(f"Run {folder.id} was not handed to Hugging Face Jobs. `submit --jobs resume {folder.id}` does.")
    client = JobsClient()
    if arguments.cancel:
        client.cancel(record.id, record.owner)
    now = client.job(record.id, record.owner)
    log = client.last_lines(record.id, record.owner, max(0, arguments.lines))
    if arguments.fetch:
        folder = fetch(folder, record, client.token)
    state = folder.state()
    if arguments.json:
        run = {"id": folder.id, "phase": state.phase, "step": state.step}
        about = {"job": now.id, "stage": now.stage, "message": now.message, "seconds": now.seconds, "url": now.url}
        print_json({**run, **about, "repository": record.repository, "log": log})
        return 0
    print(_described(record, now))
    print("\n".join(f"  {line}" for line in log))
    print(f"run {folder.id} here: {state.phase}, step {state.step}")
    return 0


def _described(record: JobRecord, now: Job) -> str:
    """Write the state of a job, and what it has cost if that is known, in two lines."""
    parts = [f"job {now.id}: {now.stage.lower()}", f"{record.flavor}, limit {said(record.seconds)}"]
    if now.message:
        parts.insert(1, now.message)
    if now.seconds is not None:
        cost = now.seconds * record.hourly / HOUR
        parts.append(f"ran {said(now.seconds)}, about ${cost:.2f} at the price when it was submitted")
    return f"{'; '.join(parts)}\n{now.url}"
