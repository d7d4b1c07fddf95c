"""Errors meant for the person at the page or the command line.

Every message says what was needed, what was given and what to do; it is shown as it stands, without a traceback.
"""

from __future__ import annotations


class UserError(ValueError):
    """Something the user asked for cannot be done; the message is a sentence they can act on."""


class ParameterError(UserError):
    """A parameter is out of range, of the wrong type or unknown."""


class NewerVersionError(ParameterError):
    """A file was written by a newer version of this program."""


class DataError(UserError):
    """A dataset cannot be found, read or used."""


class RunError(UserError):
    """A run folder is missing, damaged or of another version."""


class DiskFullError(RunError):
    """There is no room left where runs are written."""

    def __init__(self) -> None:
        super().__init__(
            "The disk is full. Free some space, then resume this run: nothing before its last checkpoint is lost."
        )
