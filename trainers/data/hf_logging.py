"""Keeps ``datasets`` and ``huggingface_hub`` silent, and from waiting for a network that is not there."""

from __future__ import annotations

import logging
import os
import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

_LOCK = threading.RLock()
_CONNECT_SECONDS = 5.0


@contextmanager
def quiet() -> Iterator[None]:
    """Silence progress bars, log lines and warnings of the two libraries; their settings come back after."""
    import datasets
    import huggingface_hub.utils as hub

    with _LOCK, warnings.catch_warnings(), ExitStack() as after:
        warnings.simplefilter("ignore")
        for library in (datasets, hub):
            if not library.are_progress_bars_disabled():
                library.disable_progress_bars()
                after.callback(library.enable_progress_bars)
        for name in ("datasets", "huggingface_hub"):
            logger = logging.getLogger(name)
            after.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        yield


def online() -> bool:
    """Return whether the Hub can be reached: HF_HUB_OFFLINE does not forbid it, and its server accepts a connection.

    The library itself tries for half a minute before it says no.
    """
    import huggingface_hub.constants as constants

    if constants.HF_HUB_OFFLINE:
        return False
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True  # behind a proxy, only the request itself can tell
    server = urlsplit(constants.ENDPOINT)
    port = server.port or (443 if server.scheme == "https" else 80)
    try:
        socket.create_connection((server.hostname or "", port), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


@contextmanager
def offline() -> Iterator[None]:
    """Make the libraries inside use their caches and raise at once where those do not help."""
    import datasets.config
    import huggingface_hub.constants

    with _LOCK, ExitStack() as after:
        modules: tuple[Any, ...] = (datasets.config, huggingface_hub.constants)
        for module in modules:
            after.callback(setattr, module, "HF_HUB_OFFLINE", module.HF_HUB_OFFLINE)
            module.HF_HUB_OFFLINE = True
        yield
