"""Keeps the environment's proxies out of what this program asks itself; they are for other machines, say the Hub.

Gradio makes clients when it is imported, and asks the page's own address when it starts. Both take ``HTTP_PROXY``,
``ALL_PROXY`` and their like from the environment, and fail where a proxy does not know this machine, or is of a kind
that needs a further package.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from explorer.server.visitors import parsed

_NAMES = ("http_proxy", "https_proxy", "all_proxy")
_SOCKS = "socks://"


def read_socks() -> None:
    """Write ``socks://`` of the environment's proxies, as desktops set it, in the form that Python's clients know."""
    for name in _set():
        if os.environ[name].lower().startswith(_SOCKS):
            os.environ[name] = f"socks5://{os.environ[name][len(_SOCKS) :]}"


@contextmanager
def without_proxies() -> Iterator[None]:
    """Hide the environment's proxies while a library is imported; nothing else may run or start meanwhile."""
    hidden = {name: os.environ.pop(name) for name in _set()}
    try:
        yield
    finally:
        os.environ.update(hidden)


@contextmanager
def asking_itself(host: str) -> Iterator[None]:
    """Have httpx ask this machine without proxies while Gradio starts; what goes to other machines goes as before.

    Args:
        host: the name or address that the page listens at.
    """
    import httpx

    def directly(ask: Callable[..., Any]) -> Callable[..., Any]:
        def call(url: Any, **options: Any) -> Any:
            name = httpx.URL(url).host
            own = name in ("localhost", host) or parsed(name) is not None
            return ask(url, **({"trust_env": False} if own else {}), **options)

        return call

    before = httpx.get, httpx.head
    httpx.get, httpx.head = map(directly, before)
    try:
        yield
    finally:
        httpx.get, httpx.head = before


def _set() -> list[str]:
    return [name for name in os.environ if name.lower() in _NAMES]
