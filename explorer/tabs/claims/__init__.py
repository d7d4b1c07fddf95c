"""The Claims tab: the claims of the four works, what came of each here, and their runs, which are ordinary sweeps."""

from __future__ import annotations

from typing import Any

import gradio as gr
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.tab import Tab, opened_tab
from explorer.server.http import attachment
from explorer.server.routes import reads
from explorer.server.states import Json
from explorer.server.visitors import caller
from explorer.tabs.claims import figures
from explorer.tabs.claims.board import Board, about, origin, protocol, state
from trainers.claims.base import WORKS
from trainers.claims.catalogue import CLAIMS
from trainers.claims.measured import VERDICTS

INTRO = """Claims of four works, tested here in runs of minutes. A rule that was fixed before the runs turns the numbers
into a verdict. It says nothing about results on the papers' own data. One run in Live, or a sweep in Compare, may say
otherwise: a claim is judged over its own seeds, where it says so at settings that were searched for each side."""
_FILES = "gradio_api/rankscope/claims"
_OPEN = "(id) => { window.rankscopeToPlan(id); return []; }"


def build(board: Board) -> None:
    """Lay out the list of the claims, narrowed by work and verdict, and beside it the one that is chosen."""
    parts.sentence(INTRO)
    counted = parts.sentence("Reading the claims …")
    with gr.Row(elem_id="rs-claims", equal_height=False):
        with gr.Column(scale=5, min_width=320):
            menus, listed = _list()
        with gr.Column(scale=6, min_width=320):
            card, own = _chosen()
            status = _runs(board, card[0], own)

    def show(name: str) -> list[Any]:
        claim = board.of(name)
        return [*_card(claim), *_status(claim, board.stands(name))]

    def first(name: str, text: str) -> list[Any]:
        """Show the first claim, where none is shown yet."""
        return [gr.skip()] * (len(card) + len(status)) if text else show(name)

    def chosen(event: gr.SelectData) -> list[Any]:
        return show(board.named(*parts.row(event)[:1]))

    for menu in menus:
        menu.change(board.listing, menus, [counted, listed], **QUIET)
    listed.select(chosen, None, [*card, *status], **QUIET).then(fn=None, js=parts.reaching("rs-claim"))
    looked = opened_tab().select(board.listing, menus, [counted, listed], **QUIET)
    looked.then(first, card[:2], [*card, *status], **QUIET)


def _list() -> tuple[list[Any], Any]:
    """Add the menus and the list, and links to its tables."""
    with gr.Row(equal_height=False):
        works = [("All works", ""), *((title, name) for name, title in WORKS.items())]
        work = gr.Dropdown(works, value="", label="Work", filterable=False)
        verdicts = [("All verdicts", ""), *((verdict, verdict) for verdict in VERDICTS)]
        verdict = gr.Dropdown(verdicts, value="", label="Verdict", filterable=False)
    listed = parts.listing(headers=["Claim", "Verdict"], shares=[68, 32], elem_id="rs-claim-list")
    with gr.Row(elem_classes="rs-flow"):
        parts.saving("CSV", f"{_FILES}.csv")
        parts.saving("LaTeX", f"{_FILES}.tex")
    return [work, verdict], listed


def _chosen() -> tuple[list[Any], list[Any]]:
    """Add the places of a claim, which :func:`_card` fills, and those of the numbers of its runs here."""
    name = gr.Textbox(next(iter(CLAIMS)), visible=False)
    text = parts.text(elem_id="rs-claim")
    figure = parts.chart(visible=False)
    with parts.fold("Both sides in numbers", visible=False) as numbers:
        sides = parts.table(figures.HEAD, wrap=True)
    with parts.fold("What is run here, and at full size"):
        run_here = parts.text()
    own = [parts.text(visible=False, elem_id="rs-claim-own"), parts.chart(visible=False)]
    return [name, text, figure, numbers, sides, run_here, *own], own


def _runs(board: Board, name: Any, own: list[Any]) -> list[Any]:
    """Add what is said of the runs of a claim here, and what can be done; returns what :func:`_status` fills."""
    plan, token = gr.Textbox(visible=False), gr.Textbox(visible=False)
    said = parts.sentence(elem_id="rs-claim-said")
    with gr.Row(elem_classes="rs-flow"):
        run = parts.small("Run it here", visible=False)
        open_runs = parts.small("Open its runs", visible=False)
        here = parts.small("Numbers of the runs here", visible=False)
    status = [plan, said, run, open_runs, here]

    def start(name: str, token: str, request: gr.Request) -> list[Any]:
        words = board.start(name, token, caller(request))["said"]
        plan, _, *buttons = _status(board.of(name), board.stands(name))
        return [plan, words, *buttons]

    run.click(start, [name, token], status, js=parts.AS_ME, **QUIET).success(fn=None, js=parts.CHANGED)
    open_runs.click(fn=None, inputs=plan, js=_OPEN)
    here.click(lambda name: _own(board, name), name, own, **QUIET)
    return status


def _card(claim: Json) -> list[Any]:
    """Return what is said of a claim, with the result that ships."""
    differences = claim["result"]["differences"] if claim["result"] else []
    return [
        claim["name"],
        about(claim),
        gr.update(visible=bool(differences), value=figures.intervals(differences) if differences else None),
        gr.update(visible=bool(differences)),
        figures.sides(differences),
        protocol(claim),
        gr.update(visible=False),
        gr.update(visible=False),
    ]


def _status(claim: Json, here: Json | None) -> list[Any]:
    """Return where the runs of a claim stand here, and what can be done."""
    moving, done = bool(here and here["moving"]), bool(here and here["finished"])
    return [
        here["id"] if here else "",
        state(claim, here),
        gr.update(
            value="Go on here" if here else "Run it here",
            visible=claim["runs"] and not moving and not (done and not (here and here["lacking"])),
        ),
        gr.update(visible=bool(here)),
        gr.update(visible=done),
    ]


def _own(board: Board, name: str) -> list[Any]:
    """Return the numbers of the runs that are here."""
    claim = board.here(name)
    result = claim["result"]
    text = f"The runs here: {claim['words']}\n\n{origin(result)}"
    return [
        gr.update(value=text, visible=True),
        gr.update(value=figures.intervals(result["differences"]), visible=True),
    ]


def routes(board: Board) -> list[Route]:
    """Return the addresses of the tables."""

    def csv(_request: Request) -> Response:
        return attachment(board.csv(), "rankscope-claims.csv")

    def latex(_request: Request) -> Response:
        return attachment(board.latex(), "rankscope-claims.tex")

    return reads({"/claims.csv": csv, "/claims.tex": latex})


DESCRIPTOR = Tab(
    name="claims",
    title="Claims",
    order=7,
    service=Board,
    build=build,
    routes=routes,
    aside="Claims have settings of their own: nothing is chosen here. Their runs are sweeps, as in the tab Compare.",
)
