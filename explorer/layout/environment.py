"""Environment of the layout process: one thread for everything, compiled code kept between starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def environment() -> dict[str, str]:
    """Return the additions of the layout process to its environment; to be set before numpy and numba are imported.

    The trainer needs the other cores. A thread that waits must sleep, not spin.
    """
    values = {**dict.fromkeys(_THREADS, "1"), "OMP_WAIT_POLICY": "PASSIVE"}
    cache = _cache()
    if cache is not None and "NUMBA_CACHE_DIR" not in os.environ:
        values["NUMBA_CACHE_DIR"] = str(cache / "numba")
    return values


def _cache() -> Path | None:
    """Return the user's cache folder for this program; None without a home to write to.

    Not a temporary folder instead: the cache is code that is loaded again, and others may write there.
    """
    try:
        if sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "rankscope"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None
