"""Who has signed in with an account of the Hub, on a Space that offers it (``hf_oauth: true`` in its README).

Gradio keeps what the Hub says of a visitor in a signed cookie of their browser, with a token that expires; neither is
stored here. The cookie comes with requests of other sites' pages too (the Hub shows a Space in a frame), so that those
count as nobody's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from explorer.server.hosts import from_another_site
from explorer.server.http import Endpoint, json_reply
from explorer.server.routes import reads
from explorer.server.visitors import LOGIN, scope_of
from explorer.settings import Settings
from trainers.devices.space import space_address

ADDRESSES = "/login/"
"""How Gradio's addresses begin, where a visitor signs in."""
FAILED = "login=failed"


@dataclass(frozen=True, kw_only=True)
class Login:
    """A visitor who has signed in.

    Attributes:
        id: the account's number at the Hub, which a change of its name leaves.
        name: of the account.
        token: for requests to the Hub in the visitor's name; never written anywhere.
    """

    id: str
    name: str
    token: str = field(default="", repr=False)


def signed_in(scope: MutableMapping[str, Any], headers: Mapping[str, str]) -> Login | None:
    """Return who sent a request, for the guard, which leaves it in the request's scope; None: nobody signed in."""
    info = (scope.get("session") or {}).get("oauth_info")
    if not isinstance(info, dict) or from_another_site(headers):
        return None
    about, until = info.get("userinfo") or {}, info.get("expires_at")
    if not about.get("sub") or (until is not None and until < time.time()):
        return None
    name = str(about.get("preferred_username") or about.get("name") or "")
    return Login(id=str(about["sub"]), name=name, token=str(info.get("access_token") or ""))


def hub_token(request: Any) -> str:
    """Return the Hub's token of the visitor who sent a request, Starlette's or Gradio's; empty: not signed in.

    It acts in the visitor's name: use it for what they asked for in this request, and write it nowhere.
    """
    login = scope_of(request).get(LOGIN)
    return login.token if isinstance(login, Login) else ""


def not_signed_in(request: Request) -> Response:
    """Return to the page from a sign-in that was declined, or that the Hub did not answer; the page says so."""
    query = urlsplit(request.query_params.get("_target_url", "")).query
    return RedirectResponse(f"/?{query}{'&' if query else ''}{FAILED}")


def login_routes(settings: Settings) -> list[Route]:
    """Return the address at which the page asks whether one can sign in here, and who has."""

    def about(request: Request) -> Response:
        login = scope_of(request).get(LOGIN)
        name = login.name if isinstance(login, Login) else None
        return json_reply(
            {"offered": settings.login, "name": name, "address": space_address() if settings.login else ""}
        )

    table: dict[str, Endpoint] = {"/login": about}
    return reads(table)
