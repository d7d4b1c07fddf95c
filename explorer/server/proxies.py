"""Keeps the environment's proxies out of what this program asks itself; they are for other machines, say the Hub.

Gradio makes clients when it is imported, and asks the page's own address when it starts. Both take ``HTTP_PROXY``,
``ALL_PROXY`` and their like from the environment, and fail where a proxy does not know this machine, or is of a kind
that httpx does not know.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import getproxies

_NAMES = ("http_proxy", "https_proxy", "all_proxy")
_SOCKS = "socks://"
_OWN = ("localhost", "127.0.0.1", "::1")


def read_socks() -> None:
    """Write ``socks://`` of the environment's proxies, as desktops set it, in the form that Python's clients know."""
    for name in _set():
        if os.environ[name].lower().startswith(_SOCKS):
            os.environ[name] = f"socks5://{os.environ[name][len(_SOCKS) :]}"


def ask_itself_directly(host: str) -> None:
    """Name this machine in ``no_proxy``, for this process and those that it starts.

    With that variable Python reads the proxies of the environment alone; those of the system's settings, which macOS
    and Windows have, are written there.

    Args:
        host: the name or address that the page listens at.
    """
    proxies = getproxies()
    if not proxies:
        return
    for kind, address in proxies.items():
        if f"{kind}_proxy" in _NAMES:
            os.environ.setdefault(f"{kind}_proxy", address)
    os.environ["no_proxy"] = ",".join(filter(None, (proxies.get("no"), *dict.fromkeys((*_OWN, host)))))


@contextmanager
def without_proxies() -> Iterator[None]:
    """Hide those of the environment's proxies that httpx cannot use, while Gradio is imported and starts."""
    import httpx

    hidden: dict[str, str] = {}
    for name in _set():
        address = os.environ[name]
        try:
            httpx.Proxy(address if "://" in address else f"http://{address}")
        except (ValueError, httpx.InvalidURL):
            hidden[name] = os.environ.pop(name)
    try:
        yield
    finally:
        os.environ.update(hidden)


def _set() -> list[str]:
    return [name for name in os.environ if name.lower() in _NAMES]
