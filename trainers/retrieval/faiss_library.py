"""The one place that imports faiss."""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache
from types import ModuleType


@lru_cache(maxsize=1)
def faiss_library() -> ModuleType | None:
    """Return faiss, or None where it is not installed: exact search works without it."""
    import torch  # noqa: F401  (on macOS torch and faiss each bring an OpenMP: torch's must load first)

    try:
        with warnings.catch_warnings():
            # before 1.15: as an error, which a filter of the caller may make of it, it ends the process
            warnings.filterwarnings("ignore", message="builtin type .* has no __module__", category=DeprecationWarning)
            import faiss
    except ImportError:
        return None
    if sys.platform == "darwin":
        faiss.omp_set_num_threads(1)  # and faiss's must stay single
    return faiss
