"""The Runs tab: every run with its state and its newest numbers; below the list one run, or several together."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from explorer.components.menu import Menu
from explorer.components.watch import Watch
from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.tab import Tab, opened_tab
from explorer.page.words import brief
from explorer.server.http import attachment, json_reply
from explorer.server.routes import reads
from explorer.server.visitors import caller
from explorer.tabs.runs import rows
from explorer.tabs.runs.card import Card, card, labelled, moved
from explorer.tabs.runs.overlaid import metric_of, overlaid
from explorer.tabs.runs.service import RunList
from trainers.comparison.markup import markdown_text
from trainers.errors import UserError
from trainers.runs.label import Label

_CSV = "gradio_api/rankscope/runs.csv"
_OVERLAID = "gradio_api/rankscope/runs/overlaid.csv"
_EMPTY = "No run yet. Choose images and losses in the sidebar, then press Train: the run appears here"
_PRESS = "Press one to open it, to name it or to take it home, its box to choose it."
_LOOK = "() => 'runs/revision'"
_OPEN = "(id) => { window.rankscope?.show(id); return []; }"
_SEE = """() => {
  setTimeout(() => document.getElementById("rs-overlaid").scrollIntoView({ behavior: "smooth" }), 100);
  return [];
}"""
_NOW = "() => String(performance.now())"
_REACH = f"""(id) => {{
  const before = window.rankscopeReached;
  window.rankscopeReached = id;
  return id && id !== before ? ({parts.reaching("rs-run-card")})() : [];
}}"""
"""JavaScript that shows the card of another run than before, where it stands below the list."""
_MOST_CHOSEN = 200
_LONGEST = 200
"""Letters that are searched for."""


def build(runs: RunList) -> None:
    """Lay out the list, below it the run that is pressed, and what is done with several of them."""
    token, wanted, looked = (gr.Textbox(visible=False) for _ in range(3))
    watch = Watch(_LOOK)
    counted = parts.sentence("Reading the runs …")
    asked, listed, ids = _list()
    said = parts.sentence(elem_id="rs-runs-said")
    picked, compare = _several(runs, token, said, ids)
    shown = card()
    _over_each_other(runs, picked, compare)

    def read(words: str, order: str, members: bool, picked: list[str] | None) -> list[Any]:
        return _listing(runs, words, order, members, picked)

    def label(run_id: str, token: str, request: gr.Request) -> list[Any]:
        """Fill in what is written on the run that is shown, so that both are always of the same one."""
        return labelled(runs.card(run_id, token, caller(request)) if run_id else None)

    def look(run_id: str, token: str, request: gr.Request) -> list[Any]:
        """Show the run that was pressed last, as it is now; what is being written stays."""
        if not run_id:
            return [gr.skip()] * len(shown.moving())
        return moved(runs.card(run_id, token, caller(request)))

    for moved_on in (opened_tab().select, watch.moved):
        moved_on(fn=None, js=_NOW, outputs=looked)
    # list and card have one event each, so that no answer comes after that about what was asked for later
    last: dict[str, Any] = {"trigger_mode": "always_last", **QUIET}
    asking = [*asked, picked]
    gr.on([looked.change, *(one.change for one in asking)], read, asking, [counted, listed, ids, picked], **last)
    listed.select(_pressed, [ids, picked], [wanted, picked], **QUIET)
    told = gr.on([wanted.change, looked.change], look, [wanted, token], shown.moving(), js=parts.AS_ME, **last)
    told.then(fn=None, inputs=wanted, js=_REACH)
    shown.run.change(label, [shown.run, token], shown.label_fields(), js=parts.AS_ME, **QUIET)
    _acts(runs, shown, token, said, picked)


def _list() -> tuple[list[Any], Any, Any]:
    """Add the search and the list; returns what is asked for, the list, and the ids of its rows."""
    with gr.Row(equal_height=False, elem_classes="rs-bottoms"):
        words = gr.Textbox(
            label="Search",
            placeholder="Name, tag, loss or images",
            max_lines=1,
            max_length=_LONGEST,
            scale=3,
            min_width=200,
        )
        order = gr.Dropdown(rows.orders(), value=rows.NEWEST, label="Order", filterable=False, scale=2, min_width=150)
        members = gr.Checkbox(label="Runs of sweeps too", container=False, scale=2, min_width=160)
        parts.saving("CSV", _CSV)
    listed = gr.Dataframe(
        interactive=False,
        wrap=True,
        show_label=False,
        max_height=520,
        buttons=[],
        pinned_columns=2,
        elem_classes=["rs-data", "rs-lines"],
        elem_id="rs-runs-list",
    )
    return [words, order, members], listed, gr.Textbox(visible=False)


def _listing(runs: RunList, words: str, order: str, members: bool, picked: list[str] | None) -> list[Any]:
    """Return the sentence over the list, the list, its ids, and the runs that can be chosen."""
    words = words[:_LONGEST]
    cards = runs.cards()
    found = rows.found(cards, words, order, members)
    kept = set(picked or ())
    table, widths = rows.table(found, kept)
    offered = [
        (brief(one["name"] or one["title"], 100), one["id"]) for one in cards if one in found or one["id"] in kept
    ]
    known = {run_id for _, run_id in offered}
    left: dict[str, Any] = (
        {} if kept <= known else {"value": [one for one in picked or () if one in known]}
    )  # a value is an event
    lost = runs.shared.runs.lost
    some = f"{len(found)} of {len(cards)} runs." if words else f"{len(cards)} runs." if len(cards) > 1 else "1 run."
    if not cards:
        some = f"{_EMPTY}{'.' if lost else ' and stays until you delete it.'}"
    told = " ".join(filter(None, [lost, some, _PRESS if found else ""]))
    return [
        markdown_text(told),
        gr.update(value=table, column_widths=widths, visible=bool(cards)),
        json.dumps([one["id"] for one in found]),
        gr.update(choices=offered, **left),
    ]


def _pressed(ids: str, picked: list[str] | None, event: gr.SelectData) -> tuple[Any, Any]:
    """Return the run that is pressed, or the chosen runs with it or without it where its box is."""
    run_id = parts.at(ids, event)
    if not run_id or parts.place(event)[1] > 0:
        return run_id, gr.skip()
    kept = [one for one in picked or () if one != run_id]
    return gr.skip(), kept if len(kept) < len(picked or ()) else [*kept, run_id][-_MOST_CHOSEN:]


def _acts(runs: RunList, shown: Card, token: gr.Textbox, said: gr.Markdown, picked: Menu) -> None:
    """Let the buttons of a run do what they say."""

    def act(name: str, run_id: str, token: str, request: gr.Request) -> str:
        return markdown_text(runs.shared.runs.acts(caller(request))[name](run_id, token))

    def seeding(count: float | None, run_id: str, token: str, request: gr.Request) -> str:
        return markdown_text(runs.shared.runs.add_seeds(run_id, token, int(count or 0), caller(request)))

    def save(name: str, tags: str, note: str, run_id: str, token: str, request: gr.Request) -> list[Any]:
        label = Label(name=name, note=note, tags=tuple(_tags(tags)))
        kept = runs.label(run_id, token, label, caller(request))
        return ["Saved.", kept.name, ", ".join(kept.tags), kept.note]

    asked: dict[str, Any] = {"js": parts.AS_ME, **QUIET}
    shown.open.click(fn=None, inputs=shown.run, js=_OPEN)
    doing = [button.click(_named(act, name), [shown.run, token], said, **asked) for name, button in shown.acts.items()]
    doing.append(shown.delete.sure.click(_named(act, "delete"), [shown.run, token], said, **asked))
    doing.append(shown.add.click(seeding, [shown.count, shown.run, token], said, **asked))
    fields = shown.label_fields()
    doing.append(shown.save.click(save, [*fields, shown.run, token], [said, *fields], **asked))
    for done in doing:
        done.success(fn=None, js=parts.CHANGED)
    shown.choose.click(
        lambda run, picked: list(dict.fromkeys([*(picked or []), run])), [shown.run, picked], picked, **QUIET
    )


def _named(act: Any, name: str) -> Any:
    def named(run_id: str, token: str, request: gr.Request) -> str:
        return str(act(name, run_id, token, request))

    return named


def _tags(text: str) -> list[str]:
    return [tag.strip() for tag in text.split(",") if tag.strip()]


def _several(runs: RunList, token: gr.Textbox, said: gr.Markdown, ids: gr.Textbox) -> tuple[Menu, gr.Button]:
    """Add what is done with several runs; returns the menu of those that are chosen, and Compare."""
    with gr.Column(elem_id="rs-chosen-runs"), gr.Row(equal_height=False, elem_classes="rs-bottoms"):
        picked = Menu([], value=[], multiselect=True, label="Chosen runs", scale=4, min_width=240)
        every = parts.small("All that are listed")
        compare = parts.small("Compare")
        tags = gr.Textbox(label="Tags", placeholder="comma between", max_lines=1, max_length=200, min_width=130)
        tag = parts.small("Tag")
        delete = parts.question("Delete", about=picked)
    every.click(lambda ids: parts.listed(ids)[:_MOST_CHOSEN], ids, picked, **QUIET)

    def tagging(picked: list[str] | None, tags: str, token: str, request: gr.Request) -> str:
        return markdown_text(runs.tag(_ids(picked), _tags(tags), token, caller(request)))

    def deleting(picked: list[str] | None, token: str, request: gr.Request) -> str:
        return markdown_text(runs.delete(_ids(picked), token, caller(request)))

    def offer(picked: list[str] | None) -> list[Any]:
        count = len(picked or ())
        return parts.Question.offered(count > 0, f"Delete {'1 run' if count == 1 else f'{count} runs'} for good")

    picked.change(offer, picked, delete.outputs, **QUIET)
    asked: dict[str, Any] = {"js": parts.AS_ME, **QUIET}
    tag.click(tagging, [picked, tags, token], said, **asked).success(fn=None, js=parts.CHANGED)
    delete.sure.click(deleting, [picked, token], said, **asked).success(fn=None, js=parts.CHANGED)
    return picked, compare


def _ids(picked: list[str] | None) -> list[str]:
    if len(picked or ()) > _MOST_CHOSEN:
        raise UserError(f"At most {_MOST_CHOSEN} runs at once.")
    return [str(run_id)[:40] for run_id in picked or ()]


def _over_each_other(runs: RunList, picked: Menu, compare: gr.Button) -> None:
    """Add the curves of the chosen runs over each other, and the settings in which they differ."""
    with gr.Column(visible=False, elem_id="rs-overlaid") as whole:
        about = parts.sentence()
        with gr.Row(equal_height=False, elem_classes="rs-bottoms"):
            metric = Menu([], label="Metric", filterable=False, min_width=200)
            picture = parts.small("Picture (PNG)")
            curves = parts.saving("Curves (CSV)")
        figure = parts.chart(elem_id="rs-overlaid-curves")
        with parts.fold("The last numbers"):
            last = parts.table(["Run", "Loss", "Step", "Value"], wrap=True)
        parts.text("**Settings in which they differ**")
        settings = parts.table(wrap=True, elem_id="rs-differing")
        address = gr.Textbox(visible=False)

    def show(picked: list[str] | None, key: str | None) -> list[Any]:
        several = overlaid(runs.shared.library, _ids(picked), runs.shared.runs.public)
        key = metric_of(several, key or "")
        head, differing = several.differing()
        return [
            gr.update(visible=True),
            markdown_text(several.left_out),
            gr.update(choices=[(title, name) for name, title in several.metrics.items()], value=key),
            several.figure(key),
            several.last(key),
            gr.update(value={"headers": head, "data": differing}),
            f"{_OVERLAID}?metric={key}&runs={','.join(_ids(picked))}",
        ]

    outputs = [whole, about, metric, figure, last, settings, address]
    compare.click(show, [picked, metric], outputs, **QUIET).success(fn=None, js=_SEE)
    metric.input(show, [picked, metric], outputs, **QUIET)
    picture.click(fn=None, js=parts.picture_of("rs-overlaid-curves"))
    curves.click(fn=None, inputs=address, js=parts.SAVE)


def routes(runs: RunList) -> list[Route]:
    """Return the addresses of what is polled and of the tables."""

    def revision(_request: Request) -> Response:
        return json_reply({"revision": runs.revision()})

    def table(_request: Request) -> Response:
        return attachment(runs.csv(), "rankscope-runs.csv")

    def curves(request: Request) -> Response:
        asked = [run_id for run_id in request.query_params.get("runs", "").split(",") if run_id]
        several = overlaid(runs.shared.library, asked, runs.shared.runs.public)
        return attachment(
            several.csv(metric_of(several, request.query_params.get("metric", ""))), "rankscope-curves.csv"
        )

    return reads({"/runs/revision": revision, "/runs.csv": table, "/runs/overlaid.csv": curves})


DESCRIPTOR = Tab(name="runs", title="Runs", order=80, service=RunList, build=build, routes=routes, trains=True)
