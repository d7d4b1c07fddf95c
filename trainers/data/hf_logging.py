"""Keeps ``datasets`` and ``huggingface_hub`` silent, and from waiting long for a network; nothing is held meanwhile.

A request that the Hub throttles fails at once with the seconds to wait: the library itself would wait them out, five
times, up to 25 minutes. One that stands still for :data:`STILL_SECONDS` fails too.
"""

from __future__ import annotations

import functools
import logging
import os
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from trainers.errors import DataError

_CONNECT_SECONDS = 5.0
STILL_SECONDS = 20.0
"""How long a request may wait for the next bytes."""
LOOK_SECONDS = 15.0
"""How long one step of a look may take."""
_MOST_WAITING = 8  # steps that were left behind and still wait in their threads
_Answer = TypeVar("_Answer")


class _Shared:
    """A change of settings of the whole process that is there as long as anybody is inside.

    The lock is held while the number of those inside changes, never while they are.
    """

    def __init__(self, change: Callable[[ExitStack], None]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._inside = 0
        self._after = ExitStack()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._change(self._after)
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._after.close()


def _silence(after: ExitStack) -> None:
    import datasets
    import huggingface_hub.utils as hub

    bound_requests()
    after.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    for library in (datasets, hub):
        if not library.are_progress_bars_disabled():
            library.disable_progress_bars()
            after.callback(library.enable_progress_bars)
    for name in ("datasets", "huggingface_hub"):
        logger = logging.getLogger(name)
        after.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL + 1)


def _cut_off(after: ExitStack) -> None:
    import datasets.config
    import huggingface_hub.constants

    modules: tuple[Any, ...] = (datasets.config, huggingface_hub.constants)
    for module in modules:
        after.callback(setattr, module, "HF_HUB_OFFLINE", module.HF_HUB_OFFLINE)
        module.HF_HUB_OFFLINE = True


quiet = _Shared(_silence)
"""Silence progress bars, log lines and warnings of the two libraries, until nobody is inside any more."""
offline = _Shared(_cut_off)
"""Make the libraries use their caches and raise at once where those do not help."""


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


@functools.cache
def bound_requests() -> None:
    """Have every request of ``huggingface_hub`` in this process end when it is throttled or stands still."""
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils._http import default_client_factory

    def factory() -> Any:
        client = default_client_factory()
        hooks = client.event_hooks
        client.event_hooks = {**hooks, "response": [*hooks.get("response", []), _refuse_to_wait]}
        client.timeout = STILL_SECONDS
        return client

    set_client_factory(factory)


def throttled(headers: Any) -> DataError:
    """Say how long the Hub wants to be left alone, from the headers of its answer 429."""
    from huggingface_hub.utils import parse_ratelimit_headers

    known = parse_ratelimit_headers(headers)
    seconds = known.reset_in_seconds if known else headers.get("retry-after", "")
    when = f"in {seconds} s" if str(seconds).isdigit() else "in some minutes"
    return DataError(
        f"The Hugging Face Hub was asked too often from here and wants to be left alone. Try again {when}; with a "
        "token of your own (HF_TOKEN) more is allowed."
    )


def too_slow(what: str) -> DataError:
    """Say that an answer about ``what`` takes too long."""
    return DataError(
        f"The Hugging Face Hub has not answered about {what!r} in time. Try again; if it stays slow, download the "
        "dataset once and give its folder."
    )


def _refuse_to_wait(response: Any) -> None:
    if response.status_code == 429:
        raise throttled(response.headers)


def within(seconds: float, what: str, work: Callable[[], _Answer]) -> _Answer:
    """Call ``work`` in a thread of its own and leave it behind if it takes longer.

    Args:
        what: it is about, for the message.

    Raises:
        DataError: it takes longer, or too many that took longer are still waiting.
        Exception: what ``work`` raised.
    """
    waiting = sum(thread.name == "hub-look" for thread in threading.enumerate())
    if waiting >= _MOST_WAITING:
        raise DataError(f"The Hugging Face Hub answers slowly, and {waiting} looks wait for it. Try again in a minute.")
    answers: list[_Answer] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True, name="hub-look")
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not answers:
        raise too_slow(what)
    return answers[0]
