"""The interface of a trainer, as the worker needs it."""

from __future__ import annotations

from typing import ClassVar, Protocol

from trainers.progress import Progress
from trainers.runs import RunFolder


class Trainer(Protocol):
    """Made from the run's folder and a function that is told about the progress of setting up.

    Attributes:
        ending: what it does after its last step, in words.
    """

    ending: ClassVar[str]

    def __init__(self, folder: RunFolder, progress: Progress) -> None: ...

    @property
    def step(self) -> int:
        """Steps done."""

    @property
    def seconds(self) -> float:
        """Time that they took."""

    @property
    def planned_steps(self) -> int | None:
        """Steps of the whole run, None while unknown."""

    @property
    def how_far(self) -> str:
        """How far it is, in words."""

    def advance(self, seconds: float) -> bool:
        """Work for about ``seconds``; returns whether there is more to do."""

    def checkpoint(self) -> None:
        """Write everything that resuming needs; the process may end after it."""

    def finish(self, progress: Progress | None = None) -> None:
        """Do what is left after the last step."""
