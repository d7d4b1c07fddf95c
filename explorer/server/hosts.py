"""Under which names a page that is not public answers, and which other sites' requests it refuses.

Gradio lets pages of any site send any header to a page that does not stand on localhost, so a header that a proxy adds
says nothing by itself: it counts for names that were given at the start.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from explorer.server.visitors import parsed
from explorer.settings import Settings
from trainers.errors import UserError

ANOTHER_SITE = "Another site's page sent this. Use the page itself."
_DEFAULT_PORTS = {"http": 80, "https": 443}
_ADDRESS = re.compile(r"[a-z0-9._-]{1,253}(?::\d{1,5})?|\[[0-9a-f:.]{2,45}\](?::\d{1,5})?")


def given_host(text: str) -> str:
    """Read a name under which the page is to answer, with or without a port, also out of a whole address.

    Raises:
        UserError: it is no name.
    """
    address = text.strip()
    if parsed(address) is not None and ":" in address:
        address = f"[{address}]"
    try:
        address = (urlsplit(address if "://" in address else f"//{address}").netloc).lower()
        address = address if address.isascii() else address.encode("idna").decode()  # as browsers send it
    except ValueError:
        address = ""
    if not _ADDRESS.fullmatch(address):
        raise UserError(
            "--allow-host needs a name as the browser shows it, say demo.example.org or demo.example.org:8443; "
            f"got {text!r}."
        )
    return address


def is_own(host: str, settings: Settings) -> bool:
    """Return whether the page answers under this ``Host``: a name that another site could point here is refused."""
    name = _name(host)
    if name in {"localhost", "127.0.0.1", "::1", *map(_name, (settings.host, *settings.hosts))} - {""}:
        return True
    if _is_loopback(settings.host):
        return False
    machine = socket.gethostname().lower()
    return name in {machine, f"{machine}.local"} or parsed(name) is not None


def not_own(host: str) -> str:
    """Write why the page does not answer under this ``Host``, and what makes it answer."""
    said = "This page is served to this machine alone. Open it by the address that was printed at its start"
    name = host.strip().lower()
    return f"{said}, or start it with --allow-host {name}." if _ADDRESS.fullmatch(name) else f"{said}."


def from_another_site(headers: Mapping[str, str], settings: Settings | None = None) -> bool:
    """Return whether a page of another origin sent this; programs send no origin.

    Args:
        settings: of a page that a proxy may serve under the names of ``--allow-host``; None: of no names.
    """
    site = headers.get("sec-fetch-site", "").lower()  # browsers write it themselves, by the address that they show
    if site in ("cross-site", "same-site", "same-origin"):
        return site != "same-origin"
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        shown = urlsplit(origin)
        address = _address(shown.netloc, shown)
        own = {_address(headers.get("host", ""), shown), *(_declared(headers, settings, shown) if settings else ())}
    except ValueError:  # no address at all, say an open bracket
        return True
    return not address or address not in own


def refused_site(headers: Mapping[str, str]) -> str:
    """Write why a request was refused as another site's, and which header is missing if it was the page's own."""
    try:
        shown = urlsplit(headers.get("origin", "")).netloc.lower()
    except ValueError:
        shown = ""
    if "sec-fetch-site" in headers or not _ADDRESS.fullmatch(shown):
        return ANOTHER_SITE
    return (
        f"{ANOTHER_SITE} If {shown} is its address, a proxy changed the header Host: let the proxy pass it as it came "
        f"(nginx: proxy_set_header Host $http_host), and start the page with --allow-host {shown}."
    )


def _declared(headers: Mapping[str, str], settings: Settings, shown: SplitResult) -> set[str]:
    """Return the addresses of ``--allow-host`` that count whatever the header ``Host`` says.

    One with a port says by itself what the browser shows. One without is the name of whatever listens at the default
    ports, so it takes a proxy's ``X-Forwarded-Host`` too, and a page that only programs of its machine can reach: on
    any other, the sender could have written the header.
    """
    forwarded = headers.get("x-forwarded-host", "").partition(",")[0].strip()
    passed = _address(forwarded, shown) if _is_loopback(settings.host) else ""
    names = {host: _address(host, shown) for host in map(str.lower, settings.hosts)}
    return {address for host, address in names.items() if re.search(r":\d+$", host) or address == passed}


def _address(netloc: str, shown: SplitResult) -> str:
    """Return name and port as the browser writes them at an address like ``shown``: without the scheme's own port."""
    port = _DEFAULT_PORTS.get(shown.scheme.lower())
    return netloc.lower().removesuffix(f":{port}")


def _name(host: str) -> str:
    """Return a name in one form, without its port."""
    address = parsed(host)
    if address is None:
        name = (host[1:].partition("]") if host.startswith("[") else host.partition(":"))[0].lower().rstrip(".")
        address = parsed(name)
    return name if address is None else str(address)


def _is_loopback(host: str) -> bool:
    address = parsed(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)
