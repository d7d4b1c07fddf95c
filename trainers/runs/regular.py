"""Opening only what is a regular file: a run folder may hold pipes, links, sockets and folders where files should be.

A pipe would hold a reader up for ever, and a link could show a file of another place.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, cast

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has neither of the two
_SAFELY = _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe must not block the reader
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT
_KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class IrregularError(OSError):
    """Something that is not a regular file lies where one is needed."""


def is_there(path: Path) -> bool:
    """Return whether anything has this name, a broken link included; False where the folder may not be read."""
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True


def is_regular(path: Path) -> bool:
    """Return whether a regular file that is no link lies here; it never raises."""
    try:
        check_regular(path)
    except OSError:
        return False
    return True


def check_regular(path: Path) -> os.stat_result:
    """Return the status of a regular file.

    Raises:
        IrregularError: it is something else.
        OSError: it is missing or may not be read.
    """
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise IrregularError(f"{path.name} is {_kind(status.st_mode)}, not a file")
    return status


def read_regular(path: Path, most: int) -> bytes:
    """Read a regular file of at most ``most`` bytes.

    Raises:
        IrregularError: it is something else, or larger.
        OSError: it is missing or cannot be read.
    """
    with open_regular(path, os.O_RDONLY) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise IrregularError(f"{path.name} is larger than {most:,} bytes")
        return file.read()


def replaceable(path: Path) -> Path:
    """Return the path to write a file to that somebody named: what a link leads to.

    Raises:
        IrregularError: a folder, a pipe or a device lies there, which a new file would replace.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        pass
    else:
        if not stat.S_ISREG(status.st_mode):
            raise IrregularError(f"{path.name} is {_kind(status.st_mode)}, not a file")
    return path.resolve() if path.is_symlink() else path


def open_regular(path: Path, flags: int = _APPEND) -> BinaryIO:
    """Open a regular file unbuffered; without ``flags`` for appending, made if it is missing.

    Raises:
        IrregularError: it is something else.
        OSError: it is missing or may not be opened.
    """
    handle = open_handle(path, flags)
    return cast(BinaryIO, os.fdopen(handle, "rb" if flags == os.O_RDONLY else "ab", buffering=0))


def open_handle(path: Path, flags: int) -> int:
    """Open a file as a descriptor, which the caller closes."""
    if not _NO_LINK and is_there(path):
        check_regular(path)
    try:
        handle = os.open(path, flags | _SAFELY, 0o644)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.EMLINK):
            check_regular(path)
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode) or not (_NO_LINK or is_at(path, handle)):
        os.close(handle)
        check_regular(path)
        raise IrregularError(f"{path.name} is not a file")
    return handle


def is_at(path: Path, handle: int) -> bool:
    """Return whether an open file has this name, itself and not by a link."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except (FileNotFoundError, NotADirectoryError):
        return False


def _kind(mode: int) -> str:
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "a device")
