"""Under which names a page that is not public answers, and which other sites' requests it refuses."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from explorer.server.visitors import parsed
from explorer.settings import Settings


def is_own(host: str, settings: Settings) -> bool:
    """Return whether the page answers under this ``Host``: a name that another site could point here is refused."""
    name = (host[1:].partition("]") if host.startswith("[") else host.partition(":"))[0].lower()
    if name in {"localhost", "127.0.0.1", "::1", *(each.lower() for each in (settings.host, *settings.hosts))}:
        return True
    if _is_loopback(settings.host):
        return False
    machine = socket.gethostname().lower()
    return name in {machine, f"{machine}.local"} or parsed(name) is not None


def from_another_site(headers: Mapping[str, str]) -> bool:
    """Return whether a page of another origin sent this; programs send no origin."""
    site = headers.get("sec-fetch-site", "").lower()  # browsers write it themselves, by the address that they show
    if site in ("cross-site", "same-site", "same-origin"):
        return site != "same-origin"
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    except ValueError:  # no address at all, say an open bracket
        return True


def _is_loopback(host: str) -> bool:
    address = parsed(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)
