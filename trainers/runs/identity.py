"""What one run is, read from its folder; all values are checked."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from safetensors import SafetensorError

from trainers.config import MAX_ARMS, TRACKERS, Config
from trainers.errors import ParameterError, RunError, VersionError
from trainers.parameters import Rule
from trainers.plugins.record import MOST_BYTES, Needed, recorded
from trainers.runs import checked
from trainers.runs.atomic_files import read_tensors
from trainers.runs.damage import absent, damaged, reading, reads, words
from trainers.runs.database import Database, can_write
from trainers.runs.earlier import with_former_defaults
from trainers.runs.lock import is_locked
from trainers.runs.records import ACTIVE, RunState
from trainers.runs.regular import check_regular, is_regular, is_there, read_regular
from trainers.values import check_types

if TYPE_CHECKING:
    from torch import Tensor


_DESCRIPTORS = tuple(
    Rule(help="", registry=path)
    for path in ("trainers.kinds:KINDS", "trainers.plans:PLANS", "trainers.brought.kind:BROUGHT")
)
"""Kinds of run and plans by name, looked up when a configuration is read: they stand above this module."""


def read_config(text: str) -> Config:
    """Read the text of :meth:`Config.to_json`.

    Raises:
        VersionError: it is of another version.
        ParameterError: it cannot be read.
    """
    configs = {name: descriptor.config for entries in _DESCRIPTORS for name, descriptor in entries.entries().items()}
    try:
        values = json.loads(text)
        kind, version = values.pop("kind", ""), values.pop("version", 1)
        read = configs.get(kind, Config).version
        if version > read:
            raise VersionError("It was written by a newer version of this program; update it.")
        if version < read - 1:
            raise VersionError(
                f"It was written by an earlier version of this program: its settings are of version {version}, and "
                f"versions {read - 1} and {read} are read here. Open it with that program, or train it again."
            )
        if version < read:
            values = with_former_defaults(values)
        if kind not in configs:
            raise ValueError(f"there is no kind of run {kind!r:.40}")
        config: Config = configs[kind].read(values)
        check_types(config)
        return config
    except VersionError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(f"A run configuration was needed; this one cannot be read: {error}.") from error


_COMMIT = re.compile("[0-9a-f]{40,64}", re.ASCII)
CONFIG_BYTES, OWNER_BYTES, MEMBER_BYTES = 2**20, 200, 2**12
PLACE = 300  # characters of what tells a run from the others of its plan
PLUGINS, TRACKER = "plugins.json", "tracker"
NOBODY = "?"  # the owner of a run whose owner cannot be read: no digest equals it


class RunIdentity:
    """What a run is, and whose: its settings, its owner, its place in a plan and its state.

    Every method raises nothing but :class:`trainers.errors.RunError`, with one sentence about this run; what cannot be
    wrong in a way worth a sentence (``owner``, ``is_alive``, ``size``) never raises. Only regular files are opened.

    Args:
        path: the folder; need not exist.
        read_only: it is a recording.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.id = path.name
        self.read_only = read_only
        self.db = Database(path / "run.db", read_only=read_only)
        self._arms: int | None = None

    @reads
    def check(self) -> None:
        """Raise RunError if this is no run: gone, half-deleted, damaged or of another version."""
        if not is_there(self.path):
            raise absent(self.id)
        config = self.path / "config.json"
        if self.path.is_dir() and not is_there(config):
            os.scandir(self.path).close()  # the folder may be unreadable: then that is the error
            raise damaged(self.id, "it has no configuration: it was never whole, or is half deleted")
        check_regular(config)
        self.db.check()

    @property
    def present(self) -> bool:
        """Whether the run's configuration is still where it was; it never raises."""
        return is_regular(self.path / "config.json")

    @property
    def writable(self) -> bool:
        """Whether this run can be changed here: False for recordings and in a read-only place; it never raises."""
        # a folder that cannot be listed is damaged, not read-only
        open_to_us = can_write(self.path) or not os.access(self.path, os.R_OK | os.X_OK)
        return not self.read_only and can_write(self.path.parent) and open_to_us

    @property
    def config(self) -> Config:
        """The settings of the run."""
        with reading(self.id):
            content = read_regular(self.path / "config.json", CONFIG_BYTES)
        try:
            text = content.decode()
            checked.json_object(text, "config.json")
            config = read_config(text)
            if not 1 <= config.arms <= MAX_ARMS:
                raise ValueError(f"it has {config.arms} arms")
        except VersionError as error:
            raise RunError(f"The run {self.id} cannot be opened. {error}") from error
        except (ValueError, RecursionError) as error:
            raise RunError(
                f"The run {self.id} has no readable configuration: {str(error)[:300].rstrip('.')}. "
                "Delete it, or restore the missing files from a download of the run."
            ) from error
        return config

    @property
    def owner(self) -> str:
        """Digest of the owner's token, or ``login`` and that of the owner's account; empty when anyone may control the
        run, ``?`` when it cannot be read.
        """
        try:
            return read_regular(self.path / "owner", OWNER_BYTES).decode("ascii")
        except FileNotFoundError:
            return ""
        except (OSError, ValueError):
            return NOBODY

    @property
    def revision(self) -> str:
        """Commit of the Hub dataset that it reads; empty: none was read yet, or what is written there is no commit."""
        try:
            text = read_regular(self.path / "revision", OWNER_BYTES).decode("ascii")
        except (OSError, ValueError):
            return ""
        return text if _COMMIT.fullmatch(text) else ""

    @property
    def processes(self) -> int:
        """How many processes are to train it; 1 where that cannot be read."""
        try:
            return max(1, int(read_regular(self.path / "processes", OWNER_BYTES)))
        except (OSError, ValueError):
            return 1

    @property
    def track(self) -> str:
        """Name of the tracker that it is mirrored to; ``none`` if none, or if that cannot be read."""
        return self._tracker()[0]

    @property
    def tracked_row(self) -> int:
        """The last row of its numbers that the tracker has; 0: it has none."""
        return self._tracker()[1]

    def _tracker(self) -> tuple[str, int]:
        try:
            name, _, row = read_regular(self.path / TRACKER, OWNER_BYTES).decode("ascii").partition(" ")
            return (name, int(row or 0)) if name in TRACKERS else ("none", 0)
        except (OSError, ValueError):
            return "none", 0

    @property
    def plugins(self) -> tuple[Needed, ...]:
        """What it needs from outside the program, as it was when the run was made; see :mod:`trainers.plugins`."""
        with reading(self.id):
            if not is_there(self.path / PLUGINS):
                return ()
            return recorded(read_regular(self.path / PLUGINS, MOST_BYTES))

    @property
    def part_of(self) -> str:
        """Id of the plan that it belongs to; empty if none, or if what is written there is no other run's id."""
        return self._membership()[0]

    @property
    def place_in_plan(self) -> str:
        """What tells it from the other runs of its plan (``seed 0, label noise 0.2``), a line; empty if not known."""
        written = self._membership()[1]
        # no line breaks, no marks that turn text
        seen = "".join(letter if letter.isprintable() else " " for letter in written)
        return " ".join(seen.split())[:PLACE]

    def is_alive(self) -> bool:
        """Return whether a trainer process holds this run."""
        return not self.read_only and is_locked(self.path)

    def state(self) -> RunState:
        """Return the state; a run that says it is active without a living trainer is ``interrupted``."""
        if not self.present:
            self.check()  # the database of what is no run is left alone: SQLite makes files beside it
        state = self.db.state()
        if state.phase in ACTIVE and not self.is_alive():
            return dataclasses.replace(state, phase="interrupted", message="its trainer is gone; it can be resumed")
        return state

    def size(self) -> int:
        """Count the bytes on disk; files that vanish while counting count nothing, and links only themselves."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118  (names may be no text)
                except OSError:
                    continue
        return total

    def _membership(self) -> tuple[str, str]:
        """Read the plan and the place in it, as written; both empty where the plan is no other run's id."""
        try:
            text = read_regular(self.path / "part_of", MEMBER_BYTES).decode()
        except (OSError, ValueError):
            return "", ""
        plan, _, title = text.partition("\n")
        return (plan, title) if checked.is_id(plan) and plan != self.id else ("", "")

    def _arm_count(self) -> int:
        if self._arms is None:
            self._arms = self.config.arms
        return self._arms

    def _check_arm(self, arm: object) -> int:
        index = checked.whole(arm, "arm")
        if index >= self._arm_count():
            raise ValueError(f"a number is of arm {arm}; the run has {self._arm_count()}, counted from 0")
        return index

    def _within(self, path: Path) -> None:
        """Check that this is a regular file of this folder: neither it nor the folder it lies in is a link."""
        check_regular(path)
        if path.parent != self.path and path.parent.is_symlink():
            raise ValueError(f"{path.parent.name} is a link, not a folder")

    def _read(self, path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
        try:
            self._within(path)
            return read_tensors(path)
        except (OSError, SafetensorError, ValueError) as error:
            raise RunError(f"The run {self.id} lacks {path.name}, or it is damaged ({words(error)}).") from error
