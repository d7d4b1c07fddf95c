"""Losses, metrics, encoders, datasets and the like of one's own, in files outside the program or installed packages.

from trainers import plugins
plugins.use("my_loss.py")  # LOSSES has its losses now, and the processes that this one starts have them too

Files are those that somebody names on this start, by :func:`use`, ``--plugin`` or ``RANKSCOPE_PLUGINS``; packages are
those installed here with an entry point of the group ``rankscope``. Nothing else is ever run, and a public page, which
trains for strangers, has neither. What a run has written down of them only says what it needs, see :func:`check`.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trainers import registry
from trainers.devices.space import public
from trainers.errors import UserError
from trainers.plugins.reading import Plugin, read_file, read_package
from trainers.plugins.record import Needed, needed, recorded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

VARIABLE = "RANKSCOPE_PLUGINS"
"""Environment variable with the files of this program and of the processes that it starts, separated as in ``PATH``."""
FAILED = "RANKSCOPE_PLUGINS_FAILED"
"""Environment variable with the files that failed here, which are not handed down, and why, as JSON."""
GROUP = "rankscope"
"""The entry points of packages: a module with a ``DESCRIPTOR`` or ``DESCRIPTORS``, or a descriptor."""
PUBLIC = "A public page trains for strangers and runs no code from files; leave --plugin and RANKSCOPE_PLUGINS out."
_USED: dict[str, Plugin] = {}
_FAILED: dict[str, str] = json.loads(os.environ.get(FAILED) or "{}")
_READING: set[str] = set()

__all__ = ["Needed", "Plugin", "begin", "check", "named", "needed", "recorded", "use", "used"]


def use(path: Path | str) -> Plugin:
    """Run a Python file and add the entries that it defines to the registries, here and in processes started later.

    A file that was read already is not read again. Processes that are started later do not run one that failed, and
    refuse what needs it with the same line.

    Raises:
        UserError: it cannot be read or run, which line says why, or it adds nothing; nothing of it is used then.
    """
    file = Path(path).expanduser().absolute()
    if public():
        raise UserError(PUBLIC)
    if (known := _USED.get(str(file))) is not None:
        return known
    _hand_down(file)
    _READING.add(str(file))
    try:
        return _added(str(file), functools.partial(read_file, file))
    except UserError:
        os.environ[VARIABLE] = os.pathsep.join(other for other in named() if other != str(file))
        raise
    finally:
        os.environ[FAILED] = json.dumps(_FAILED)
        _READING.discard(str(file))


def begin() -> None:
    """Use the files that the environment names and the packages that are installed; each is read once.

    Of one that fails a sentence goes to the standard error, and the others are used.
    """
    if public():
        return
    for file in named():
        if file not in _READING:
            _told(functools.partial(use, file))
    waiting = _entry_points()
    while waiting:
        point = waiting.pop(0)
        name = f"{point.dist and point.dist.name}:{point.name}"
        _told(functools.partial(_added, name, functools.partial(read_package, point)))


def named() -> list[str]:
    """List the files that are named on this start, as whole paths."""
    files = filter(None, os.environ.get(VARIABLE, "").split(os.pathsep))
    return [str(Path(file).expanduser().absolute()) for file in files]


def used() -> Sequence[Plugin]:
    """List the files and packages that are used here."""
    return tuple(_USED.values())


def check(kept: Sequence[Needed]) -> None:
    """Check that what a run was begun with is used here, with the same content.

    Args:
        kept: as written in its folder, which never causes anything to be run.

    Raises:
        UserError: one is not, with what to do.
    """
    contents = {plugin.digest for plugin in _USED.values()}
    for one in kept:
        if one.digest in contents:
            continue
        names = " and ".join(one.names)
        if public():
            raise UserError(f"This run was begun with {names} from outside the program, which public pages do not use.")
        same = next((plugin for plugin in _USED.values() if plugin.title == one.title), None)
        if same is not None:
            raise UserError(
                f"This run was begun with {names} of {one.title}, which has changed since: its SHA-256 began with "
                f"{one.digest[:8]} and begins with {same.digest[:8]} now. Restore it, or start a new run."
            )
        if (failed := _FAILED.get(str(one.path.absolute()))) is not None:
            raise UserError(failed)
        raise UserError(f"This run was begun with {names} of {one.title}, {one.what_to_do()}")


@functools.cache
def _entry_points() -> list[EntryPoint]:
    """List what installed packages offer, by name; each is taken away when its turn comes."""
    from importlib.metadata import entry_points  # a fifth of what printing the help takes

    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def _hand_down(file: Path) -> None:
    """Have processes that are started from now on use a file too."""
    if os.pathsep in str(file):
        raise UserError(f"The path of a plugin may not hold {os.pathsep!r}; got {file}. Rename its folder.")
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*named(), str(file)]))


def _added(name: str, read: functools.partial[Plugin]) -> Plugin:
    """Read a plugin and add its entries, all or none."""
    try:
        plugin = read()
        for package, entry in plugin.entries:
            if entry.name in registry.loaded(package):
                raise UserError(f"{plugin.title}: there is a {entry.name!r} in {package} already. Rename it.")
    except UserError as error:
        _FAILED[name] = str(error)
        raise
    for package, entry in plugin.entries:
        registry.add(package, entry)
    _FAILED.pop(name, None)
    _USED[name] = plugin
    return plugin


def _told(work: functools.partial[Plugin]) -> None:
    try:
        work()
    except UserError as error:
        print(f"rankscope: {error}", file=sys.stderr)
