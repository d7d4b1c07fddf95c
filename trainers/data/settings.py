"""The limits of the machine: where the disk cache is, how much memory and disk it may take.

Everything here comes from the environment, because it belongs to the machine and not to a run.

    RANKSCOPE_CACHE         folder of the disk cache, or ``off``; default ``~/.cache/rankscope``
    RANKSCOPE_CACHE_GB      its bound, default 20
    RANKSCOPE_MEMORY_GB     decoded images held in memory, default min(4, half of what is free); above it: memory map
    RANKSCOPE_DOWNLOAD_GB   most that is downloaded of a dataset, and most that it may unpack to, default 20
    RANKSCOPE_RUN_GB        estimated memory of a run that strangers start, default 4; one's own runs are not limited
"""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from trainers.data import access
from trainers.errors import DataError

GB = 1_000_000_000


def cache_folder() -> Path | None:
    """Return the folder of the disk cache, not necessarily made yet; None: keep nothing on disk."""
    value = os.environ.get("RANKSCOPE_CACHE", "").strip()
    if value.lower() in access.OFF:
        return None
    return Path(value).expanduser() if value else Path.home() / ".cache" / "rankscope"


def cache_bytes() -> int:
    """Return the upper bound of the cache in bytes."""
    return int(_number("RANKSCOPE_CACHE_GB", 20.0) * GB)


def download_bytes() -> int:
    """Return the largest download in bytes."""
    return int(_number("RANKSCOPE_DOWNLOAD_GB", 20.0) * GB)


def run_bytes() -> int | None:
    """Return the bytes of memory that a run may be estimated at; None: no limit."""
    return int(_number("RANKSCOPE_RUN_GB", 4.0) * GB) if access.public() else None


def memory_bytes() -> int:
    """Return the bytes of decoded images that may stay in memory."""
    return int(_number("RANKSCOPE_MEMORY_GB", min(4.0, free_memory() / 2 / GB)) * GB)


def free_memory() -> int:
    """Return the bytes of memory that can be had now, as far as the system says; a container's own limit counts."""
    free, limit = psutil.virtual_memory().available, Path("/sys/fs/cgroup/memory.max")
    words = limit.read_text("ascii").strip() if limit.exists() else ""
    return min(free, int(words)) if words.isdigit() else free


def _number(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise DataError(f"{name} needs a number of gigabytes; got {text!r}. Change or unset it.")
    return value
