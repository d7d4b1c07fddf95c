"""Hugging Face Jobs as a destination: the run is trained there with the user's token, and comes back by the Hub."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from trainers.cli.destinations import Handed
from trainers.cli.flags import DEFAULT
from trainers.cli.push import lines
from trainers.config import Config
from trainers.errors import DataError, ParameterError, UserError
from trainers.jobs.hardware import Hardware, chosen, duration, limit_seconds, said
from trainers.jobs.script import IMAGE
from trainers.kinds import check, kind_of
from trainers.runs import RunFolder

if TYPE_CHECKING:
    from trainers.jobs.client import JobsClient

EVERY = "5m"
_IMAGE = re.compile(r"[\w][\w./:@-]{0,255}", re.ASCII)


class JobsSubmission:
    """A job of the user's account."""

    def __init__(self, flavor: str, seconds: int, every: int, image: str, agreed: bool) -> None:
        self._flavor, self._seconds, self._every = flavor, seconds, every
        self._image, self._agreed = image, agreed
        self._client: JobsClient | None = None
        self._hardware: Hardware | None = None

    def check(self, config: Config) -> None:
        """Refuse what the job's machine does not have: folders and other runs of this one, and more GPUs than it has.

        The Hub is asked last.
        """
        from trainers.jobs.client import JobsClient

        _check_portable(config)
        self._client = JobsClient()
        self._hardware = hardware = chosen(self._flavor, self._client.hardware())
        run = config.single
        if run.processes > max(1, hardware.gpus):
            raise ParameterError(
                f"Each process needs a GPU, and {hardware.name} has {hardware.gpus}; got --processes {run.processes}."
            )
        if run.device.startswith("cuda") and not hardware.gpus:
            raise ParameterError(f"{hardware.name} has no GPU; got --device {run.device}. Choose another --flavor.")

    def agree(self, config: Config) -> None:
        """Say hardware, limit and price on the error output, and ask unless ``--yes`` was given."""
        assert self._hardware is not None, "check comes first"
        hardware = self._hardware
        print(
            f"{hardware.name}: {hardware.title}\n"
            f"limit: {said(self._seconds)}, at ${hardware.hourly:.2f} an hour\n"
            f"cost: ${hardware.most(self._seconds):.2f} at most, for the whole limit, paid by your account on the Hub",
            file=sys.stderr,
        )
        minutes = config.single.minutes
        if minutes and minutes * 60 > self._seconds:
            print(
                f"The run asks for {minutes:g} minutes of training, more than the limit: it can be resumed after it.",
                file=sys.stderr,
            )
        if self._agreed:
            return
        if not sys.stdin.isatty():
            raise UserError("Nobody can be asked here whether to start the job, which costs money. Give --yes.")
        print("Start the job? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise UserError("No job was started.")

    def refresh(self, folder: RunFolder) -> RunFolder:
        """Return the run as its last job left it."""
        from trainers.jobs.fetch import fetch
        from trainers.jobs.record import read_record

        record = read_record(folder)
        if record is None:
            return folder
        assert self._client is not None, "check comes first"
        job = self._client.job(record.id, record.owner)
        if not job.ended:
            raise UserError(
                f"The run {folder.id} is with job {job.id}, which is {job.stage.lower()}. End it with `job {folder.id} "
                "--cancel`, or wait until it has ended."
            )
        return fetch(folder, record, self._client.token)

    def hand(self, folder: RunFolder, *, new: bool) -> Handed:
        """Upload the run and the program, and start the job."""
        from trainers.jobs.submission import Wish, submit

        assert self._client is not None and self._hardware is not None, "check comes first"
        wish = Wish(hardware=self._hardware, seconds=self._seconds, every=self._every, image=self._image)
        record = submit(folder, wish, self._client, lines(True), new=new)
        text = f"job {record.id}: {record.url}\nIts state, and the way back: python -m trainers job {folder.id}\n"
        values = {"job": record.id, "url": record.url, "repository": record.repository}
        return Handed(text=text, values=values | {"most_usd": self._hardware.most(self._seconds)})


class Jobs:
    """Hugging Face Jobs."""

    name = "jobs"
    title = "Hugging Face Jobs"
    help = "For Hugging Face Jobs, with your token and at your cost, which is said before anything starts."
    message = "handed to Hugging Face Jobs; `job ID` says how it is there and fetches it"

    def add_flags(self, group: argparse._ArgumentGroup) -> None:
        """Add what a job is asked for with."""
        absent: Any = argparse.SUPPRESS
        group.add_argument("--flavor", default=absent, help=f"Hardware, e.g. a10g-small. [{DEFAULT}none; it is needed]")
        limit = "Limit of the job, e.g. 90m or 2h; before its end the run is saved and copied."
        group.add_argument("--timeout", default=absent, help=f"{limit} [{DEFAULT}none; it is needed]")
        image = "Image in which everything of requirements.txt is installed."
        group.add_argument("--image", default=absent, help=f"{image} [{DEFAULT}{IMAGE}, where it is installed first]")
        every = "Least time between two copies of the run to your repository."
        group.add_argument("--copy-every", default=absent, metavar="TIME", help=f"{every} [{DEFAULT}{EVERY}]")
        group.add_argument("--yes", action="store_true", default=absent, help="Start the job without asking.")

    def submission(self, given: dict[str, Any]) -> JobsSubmission:
        """Read the flags."""
        for name, example in (("flavor", "a10g-small"), ("timeout", "2h")):
            if name not in given:
                raise ParameterError(f"A job needs --{name}, such as --{name} {example}.")
        image = given.get("image", "")
        if "image" in given and _IMAGE.fullmatch(image) is None:
            raise ParameterError(f"The name of an image was needed, such as {IMAGE}; got {image!r:.60}.")
        return JobsSubmission(
            flavor=given["flavor"],
            seconds=limit_seconds(given["timeout"]),
            every=duration(given.get("copy_every", EVERY), "--copy-every"),
            image=image,
            agreed="yes" in given,
        )


def _check_portable(config: Config) -> None:
    """Check a configuration as a machine would that may open no folder."""
    from trainers.data import access

    before = os.environ.get(access.FOLDERS)
    kind_of(config).check_processes(1)
    check(config)
    os.environ[access.FOLDERS] = "off"
    try:
        check(config)
    except DataError as error:
        raise ParameterError(
            "A job cannot read files and folders of this machine. Put the images on the Hub as a dataset, private if "
            "you like, and give its name as owner/name."
        ) from error
    finally:
        os.environ.pop(access.FOLDERS)
        if before is not None:
            os.environ[access.FOLDERS] = before
    if getattr(config.single, "start", None):
        raise ParameterError("A job has no other run to start from. Leave --start out, or train this run here.")
