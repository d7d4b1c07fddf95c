"""What the verb ``submit`` asks of a destination: something that trains runs elsewhere."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any, Protocol

from trainers.config import Config
from trainers.runs import RunFolder


@dataclass(frozen=True, kw_only=True)
class Handed:
    """What is told of a run that was handed over.

    Attributes:
        text: printed as it stands.
        values: printed instead with ``--json``, beside the run's id and folder.
    """

    text: str
    values: dict[str, Any] = field(default_factory=dict)


class Submission(Protocol):
    """One submission: its flags are read, and nothing is made yet."""

    def check(self, config: Config) -> None:
        """Refuse a configuration that cannot be trained there, before anything is made.

        Raises:
            UserError: with what was needed and what to do.
        """

    def agree(self, config: Config) -> None:
        """Say what it takes, and ask whoever pays.

        Raises:
            UserError: they do not want it, or cannot be asked.
        """

    def refresh(self, folder: RunFolder) -> RunFolder:
        """Return a run that goes on, as far as it was trained there before.

        Raises:
            UserError: it is being trained there now.
        """

    def hand(self, folder: RunFolder, *, new: bool) -> Handed:
        """Hand a run over.

        Args:
            new: the run was made for this; what remains of it goes where this fails.

        Raises:
            UserError: it cannot be handed over; nothing was begun.
        """


class Destination(Protocol):
    """Something that trains runs elsewhere; chosen by a flag of its own."""

    name: str
    """Of the flag, and of the attribute of the arguments."""
    title: str
    help: str

    @property
    def message(self) -> str:
        """What the state of a run says that was handed over."""

    def add_flags(self, group: argparse._ArgumentGroup) -> None:
        """Add its flags; one that is not given leaves no attribute."""

    def submission(self, given: dict[str, Any]) -> Submission:
        """Read the flags that were given, by attribute.

        Raises:
            ParameterError: one of them is wrong.
        """
