"""Compiles UMAP when the process starts, which takes seconds; until then maps are PCA."""

from __future__ import annotations

import logging
import threading
import time

from explorer.layout.umap_step import warm_up

_log = logging.getLogger(__name__)


class Warmth:
    """Compiles UMAP in a background thread."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._failed = False

    def start(self) -> None:
        """Begin; returns at once."""
        threading.Thread(target=self._run, name="warm", daemon=True).start()

    @property
    def warming(self) -> bool:
        """Whether the compilation is still under way."""
        return not self._done.is_set()

    @property
    def method(self) -> str:
        """``umap`` once it is compiled; ``pca`` before, and always where UMAP does not work."""
        return "umap" if self._done.is_set() and not self._failed else "pca"

    def wait(self, seconds: float) -> bool:
        """Wait until it is decided; False if the time ran out."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        begun = time.monotonic()
        try:
            warm_up()
            _log.info("UMAP is ready after %.1f s", time.monotonic() - begun)
        except Exception:
            # a missing or broken numba must cost the better map only, not every map
            self._failed = True
            _log.exception("UMAP cannot be used; maps stay PCA")
        finally:
            self._done.set()
