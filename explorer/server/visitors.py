"""The address, the login and the token behind a request, and whose a run is: of a login, or of whoever holds the token
that it was started with. Anyone can make up many tokens.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ADDRESS = "rankscope.address"
"""Where :class:`explorer.server.guard.Guard` leaves the address in a request's scope."""
LOGIN = "rankscope.login"
"""And the :class:`explorer.server.login.Login`, if the visitor has signed in."""
FORWARDED = "x-forwarded-for"
_IPV6_HOME = 64  # bits: one household or server gets as many addresses as it likes below that


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The sender of a request, as far as it is known; empty: unknown.

    Attributes:
        address: network address, of IPv6 the part that a provider gives to one customer.
        login: number of the account at the Hub, or name of the page's own login.
    """

    address: str = ""
    login: str = ""

    def identities(self) -> tuple[str, ...]:
        """Return the address and login, each as one text; callers that share one of them count as one."""
        known = (("address", self.address), ("login", self.login))
        return tuple(f"{kind} {value}" for kind, value in known if value)


NOBODY = Caller()


def caller(request: Any) -> Caller:
    """Return the sender of a request, Starlette's or Gradio's; :data:`NOBODY` for None."""
    scope = scope_of(request)
    login = getattr(scope.get(LOGIN), "id", None) or getattr(request, "username", None) or ""
    return Caller(address=scope.get(ADDRESS, ""), login=str(login))


def scope_of(request: Any) -> Mapping[str, Any]:
    """Return what the server knows of a request, Starlette's or Gradio's; nothing for None."""
    inner = getattr(request, "request", None) or request  # Gradio wraps the request of the server
    return getattr(inner, "scope", None) or {}


def owner_of(token: str, caller: Caller = NOBODY) -> str:
    """Return what the folder of a run keeps of its owner: who has signed in, or else the token's digest.

    The word before a login's digest keeps anyone from making up a token that counts as a login.
    """
    return f"login {digest(caller.login)}" if caller.login else digest(token)


def owns(owner: str, token: str, caller: Caller = NOBODY) -> bool:
    """Return whether a visitor started a run, by its ``owner``: signed in as now, or with this token.

    What was started before signing in stays with the token. A run without an owner is nobody's.
    """
    known = {owner_of("", caller), owner_of(token)} - {""}
    return any(secrets.compare_digest(owner.encode(), each.encode()) for each in known)


def digest(token: str) -> str:
    """Hash a token to 32 hexadecimal digits, all that a run folder keeps of its owner; empty for an empty token."""
    return hashlib.sha256(token.encode()).hexdigest()[:32] if token else ""


def address_of(client: str, headers: Mapping[str, str], behind_proxy: bool) -> str:
    """Return the address that limits are counted by.

    Args:
        client: address at the other end of the connection.
        headers: of the request, names in lower case.
        behind_proxy: the other end is a proxy that names the visitor, as on a Space. Elsewhere the header is ignored:
            a visitor could write anything into it.
    """
    if behind_proxy:
        # proxies add at the end, so the last address of the open network is the one that the outermost of them saw
        for part in reversed(headers.get(FORWARDED, "").split(",")):
            address = parsed(part.strip())
            if address is not None and address.is_global:
                return _home(address)
    address = parsed(client)
    return client if address is None else _home(address)


def parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read a network address; None of anything else."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _home(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _IPV6_HOME), strict=False))
    return str(address)
