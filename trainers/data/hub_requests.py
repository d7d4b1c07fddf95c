"""Requests of ``huggingface_hub`` and ``datasets``: silent, bounded in time, and given up when nobody waits for them.

A request that the Hub throttles fails at once with the seconds to wait: the library itself would wait them out, five
times, up to 25 minutes. One that stands still for :data:`STILL_SECONDS` fails too: ``HF_HUB_DOWNLOAD_TIMEOUT`` bounds
downloads alone, and questions to the Hub's API have no limit.
"""

from __future__ import annotations

import contextvars
import functools
import logging
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from trainers.errors import DataError
from trainers.progress import Progress, silent

_Result = TypeVar("_Result")
_given_up: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("given_up", default=None)


class _GivenUpError(Exception):
    """Raised in a step that nobody waits for any more."""


class BackgroundStep(Generic[_Result]):
    """Calls ``work`` in a thread, from now on.

    Args:
        name: of the thread.
    """

    def __init__(self, work: Callable[[], _Result], name: str = "hub-step") -> None:
        self._work = work
        self._results: list[_Result] = []
        self._error: BaseException | None = None
        self._stop = threading.Event()
        context = contextvars.copy_context()
        context.run(_given_up.set, self._stop)
        self._thread = threading.Thread(target=context.run, args=(self._run,), daemon=True, name=name)
        self._thread.start()

    def ended(self, seconds: float) -> bool:
        """Wait for its end, so many seconds at most."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def give_up(self) -> None:
        """Let it ask and read no more."""
        self._stop.set()

    @property
    def succeeded(self) -> bool:
        """Whether there is a result."""
        return bool(self._results)

    def result(self) -> _Result:
        """Return what ``work`` returned, or raise what it raised; for a step that has ended."""
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:  # raised where it is waited for
            self._error = error


def check_wanted(_what: object) -> None:
    """End a step that was given up; called in its own thread before each request and with each part of a file."""
    stop = _given_up.get()
    if stop is not None and stop.is_set():
        raise _GivenUpError


_CONNECT_SECONDS = 5.0
STILL_SECONDS = 20.0
"""How long a request may wait for the next bytes."""
LOOK_SECONDS = 15.0
"""How long one step of a look may take."""
_MOST_WAITING = 8  # steps that were left behind and still wait in their threads
_LOOK = "hub-look"  # name of their threads
_TICK_SECONDS = 0.2
_CHUNK = 1 << 16  # bytes that are written at a time; with the 10 MB of the library no download seems to move
_Answer = TypeVar("_Answer")


class ThrottledError(DataError):
    """The Hub was asked too often; ``seconds`` until it may be asked again, None if it does not say."""

    seconds: int | None = None


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
    for name in ("datasets", "huggingface_hub", "transformers", "timm", "open_clip"):
        logger = logging.getLogger(name)
        after.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL + 1)
    root, nowhere = logging.getLogger(), logging.NullHandler()
    root.addFilter(_is_ours)  # open_clip logs to the root itself
    after.callback(root.removeFilter, _is_ours)
    root.addHandler(nowhere)  # without one, a line that is dropped would give the root a handler for good
    after.callback(root.removeHandler, nowhere)


def _is_ours(record: logging.LogRecord) -> bool:
    """Return whether a line comes from no library that logs to the root."""
    return "open_clip" not in Path(record.pathname).parts


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
    from huggingface_hub import constants, set_client_factory
    from huggingface_hub.utils._http import default_client_factory

    def factory() -> Any:
        client = default_client_factory()
        hooks = client.event_hooks
        client.event_hooks = {
            "request": [check_wanted, *hooks.get("request", [])],
            "response": [*hooks.get("response", []), _refuse_to_wait],
        }
        client.timeout = STILL_SECONDS
        return client

    set_client_factory(factory)
    constants.DOWNLOAD_CHUNK_SIZE = _CHUNK


def throttled(headers: Any) -> ThrottledError:
    """Say how long the Hub wants to be left alone, from the headers of its answer 429."""
    from huggingface_hub.utils import parse_ratelimit_headers

    known = parse_ratelimit_headers(headers)
    seconds = known.reset_in_seconds if known else headers.get("retry-after", "")
    when = f"in {seconds} s" if str(seconds).isdigit() else "in some minutes"
    error = ThrottledError(
        f"The Hugging Face Hub was asked too often from here. Try again {when}; with a "
        "token of your own (HF_TOKEN) more is allowed."
    )
    error.seconds = int(seconds) if str(seconds).isdigit() else None
    return error


def too_slow(what: str) -> DataError:
    """Say that an answer about ``what`` takes too long."""
    return DataError(
        f"The Hugging Face Hub has not answered about {what!r} in time. Try again; if it stays slow, download the "
        "dataset once and give its folder."
    )


def _refuse_to_wait(response: Any) -> None:
    if response.status_code == 429:
        raise throttled(response.headers)


def within(seconds: float, what: str, work: Callable[[], _Answer], progress: Progress = silent) -> _Answer:
    """Call ``work`` in a thread of its own and give it up if it takes longer.

    Args:
        what: it is about, for the message.
        progress: called while it is waited for; what it raises gives it up.

    Raises:
        DataError: it takes longer, or too many that took longer are still waiting.
        Exception: what ``work`` raised.
    """
    waiting = sum(thread.name == _LOOK for thread in threading.enumerate())
    if waiting >= _MOST_WAITING:
        raise DataError(f"The Hugging Face Hub answers slowly, and {waiting} looks wait for it. Try again in a minute.")
    step, end = BackgroundStep(work, _LOOK), time.monotonic() + seconds
    try:
        while not step.ended(min(_TICK_SECONDS, seconds)):
            if time.monotonic() > end:
                raise too_slow(what)
            progress(f"Asking the Hub about {what}", 0.0)
    finally:
        step.give_up()
    return step.result()
