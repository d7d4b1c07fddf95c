"""Errors meant for the person at the page or the command line.

Every message says what was needed, what was given and what to do; it is shown as it stands, without a traceback.
"""

from __future__ import annotations

import re

DISK_FULL = "The disk is full."
"""What the sentence of a :class:`DiskFullError` begins with."""
UNEXPECTED = "An unexpected "
"""What the sentence of an error begins with that no part of the program foresaw."""


class UserError(ValueError):
    """Something the user asked for cannot be done; the message is a sentence they can act on."""


class ParameterError(UserError):
    """A parameter is out of range, of the wrong type or unknown."""


class VersionError(ParameterError):
    """A file was written by another version of this program."""


class DataError(UserError):
    """A dataset cannot be found, read or used."""


class RunError(UserError):
    """A run folder is missing, damaged or of another version."""


class DiskFullError(RunError):
    """There is no room left where something is written.

    Args:
        advice: what to do once there is room.
    """

    def __init__(
        self, advice: str = "Free some space, then resume this run: nothing before its last checkpoint is lost."
    ) -> None:
        super().__init__(f"{DISK_FULL} {advice}")


_WAYS = re.compile(r"(?: from one of)?: \(1\) ")
"""Where a library begins to list ways out, which are of its own world and send people off."""


def brief(error: BaseException, most: int = 300) -> str:
    """Write what a library says of an error in one line; more than ``most`` letters are cut between words."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = _WAYS.split(text)[0]
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0] or text[:most]} …"
