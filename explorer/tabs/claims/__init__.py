"""The Claims tab: a card per claim of a paper with what came of it here, drawn by ``assets/claims``.

``GET claims`` lists them with the results that ship and the runs of them that are here; ``GET claims/NAME`` is one with
the numbers of the runs here; ``POST claims/NAME`` queues its runs as an ordinary sweep.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page.scripted import scripted
from explorer.page.tab import Tab
from explorer.server.http import attachment, json_reply
from explorer.server.routes import TOKEN_HEADER, posts, reads
from explorer.server.visitors import caller
from explorer.tabs.claims.board import Board


def build(_board: Board) -> None:
    """Add the board to the tab."""
    scripted("claims/claims.js", "rs-claims", "The claims", loading="Reading the claims …", elem_id="claims-view")


def routes(board: Board) -> list[Route]:
    """Return the addresses of the board."""

    def listed(_request: Request) -> Response:
        return json_reply(board.every())

    def shown(request: Request) -> Response:
        return json_reply(board.here(request.path_params["name"]))

    def start(request: Request, _body: bytes) -> Response:
        token = request.headers.get(TOKEN_HEADER, "")
        return json_reply(board.start(request.path_params["name"], token, caller(request)))

    files = {
        "/claims.csv": lambda _request: attachment(board.csv(), "rankscope-claims.csv"),
        "/claims.tex": lambda _request: attachment(board.latex(), "rankscope-claims.tex"),
    }
    return [*reads({"/claims": listed, **files, "/claims/{name}": shown}), *posts({"/claims/{name}": start})]


DESCRIPTOR = Tab(
    name="claims",
    title="Claims",
    order=7,
    service=Board,
    build=build,
    routes=routes,
    aside="Claims have settings of their own: nothing is chosen here. Their runs are sweeps, as in the tab Compare.",
)
