"""Opening a dataset on request: one at a time; each request can be followed and left under its ticket."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from explorer.server.http import RequestError
from explorer.server.jobs import Job, Jobs
from explorer.server.visitors import NOBODY, Caller
from explorer.tabs.object_removal.bodies import Open
from explorer.tabs.object_removal.datasets import Datasets, OpenDataset
from trainers.config import SceneChoice
from trainers.errors import DataError

MOST = 64
"""Datasets that may be waited for at once."""
_TICKET = re.compile(r"[0-9a-f]{16,64}")


@dataclass(kw_only=True, eq=False)
class Opening(Job):
    """A request to open a dataset; its id is the ticket, a number that nobody else can guess."""

    asked: Open
    message: str = "waiting until another dataset is read"


class Openings:
    """Opens datasets.

    Args:
        datasets: where they are kept.
        scenes: the images of a fine-tuned model by its name; None for what is no such model.
        each: datasets that one address or login may wait for at once; None: no limit of its own.
    """

    def __init__(
        self,
        datasets: Datasets,
        each: int | None = None,
        scenes: Callable[[str], SceneChoice | None] = lambda _name: None,
    ) -> None:
        self._datasets = datasets
        self._scenes = scenes
        self.jobs: Jobs[Opening] = Jobs(self._open, noun="datasets", most=MOST, each=each, kept=0)

    def open(self, asked: Open, caller: Caller = NOBODY) -> OpenDataset:
        """Open the dataset that is asked for; returns when it is read.

        Raises:
            RequestError: the ticket is in the wrong form.
            DataError: too many are being opened, the dataset cannot be had, or the visitor has left it.
        """
        ticket = asked.ticket or secrets.token_hex(16)
        if _TICKET.fullmatch(ticket) is None:
            raise RequestError("A ticket has 16 to 64 hexadecimal digits; send none, or such a one.")
        job = self.jobs.add(Opening(id=ticket, asked=asked, caller=caller))
        job.done.wait()
        if job.phase == "stopped":
            raise DataError("The dataset was left before it was read; nothing was opened.")
        return job.wait()

    def _open(self, job: Opening) -> OpenDataset:
        asked = job.asked
        of_run = self._scenes(asked.source)
        if of_run is not None:
            return self._datasets.open(of_run.source, of_run.captions_from, of_run.limit, job.tell)
        return self._datasets.open(asked.source, asked.captions_from or None, asked.limit, job.tell)
