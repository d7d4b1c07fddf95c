"""The Catalogue tab: every loss, metric, model and method with its paper, made from the descriptors."""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.tab import Shared, Tab, opened_tab
from explorer.tabs.catalogue import figures, glossary
from explorer.tabs.catalogue.entries import Entry, entries, families, found, named
from explorer.tabs.catalogue.responses import response

INTRO = "Each loss is written from its paper's formula. Encoder, sampler, optimiser and batches are the same for all."
ALL = "All families"
NOTHING = "none"
_HEAD = ["Title", "What it is"]
_LATEX: list[dict[str, str | bool]] = [
    {"left": "$$", "right": "$$", "display": True},
    {"left": "$", "right": "$", "display": False},
]
_TRAIN = f"""(shown, beside) => {{
  window.rankscopeTrain([shown, beside].filter((name) => name !== "{NOTHING}"));
  return [];
}}"""


def build(_shared: Shared) -> None:
    """Lay out the list, with a search, and beside it the entry that is chosen."""
    first = entries()[0]
    parts.sentence(INTRO)
    with gr.Row(elem_id="rs-catalogue", equal_height=False):
        with gr.Column(scale=5, min_width=320):
            with gr.Row(equal_height=False):
                words = gr.Textbox(label="Search", placeholder="Loss, metric or model", max_lines=1, max_length=200)
                family = gr.Dropdown([ALL, *families()], value=ALL, label="Family", filterable=False)
            listed = parts.listing(headers=_HEAD, shares=[32, 68], elem_id="rs-entries")
        with gr.Column(scale=6, min_width=320):
            text = gr.Markdown(first.markdown, latex_delimiters=_LATEX, elem_id="rs-entry")
            loss, pressed, shown = (gr.Textbox(value, visible=False) for value in (first.name, "0", ""))
            with gr.Row(equal_height=False, elem_classes="rs-bottoms") as losses:
                beside = gr.Dropdown(_choices(), value=NOTHING, label="Beside it", scale=3)
                train = gr.Button("Train it", scale=1, size="md", elem_id="rs-train-these")
            figure = parts.chart(visible=False)
            made = parts.sentence(visible=False)
            with parts.fold("The numbers", visible=False) as numbers:
                table = parts.table(elem_id="rs-numbers")
            with parts.fold("Glossary"):
                parts.text(glossary.markdown())
    # the list and the entry have one event each, so that no answer comes after that about what was asked for later
    last: dict[str, Any] = {"trigger_mode": "always_last", **QUIET}
    gr.on([opened_tab().select, words.change, family.change], _found, [words, family], listed, **last)
    drawn = [figure, made, numbers, table]
    listed.select(_pressed, None, pressed, **QUIET).then(fn=None, js=parts.reaching("rs-entry"))
    entry = [text, loss, losses, train, *drawn, shown]
    gr.on([opened_tab().select, pressed.change], _show, [pressed, shown, beside], entry, **last)
    beside.change(_beside, [loss, beside], [train, *drawn], **QUIET)
    train.click(fn=None, inputs=[loss, beside], js=_TRAIN)


def _rows(listed: list[Entry]) -> list[list[str]]:
    return [[entry.title, entry.sentence] for entry in listed]


def _choices() -> list[tuple[str, str]]:
    return [("No other loss", NOTHING), *((entry.title, entry.name) for entry in entries() if entry.loss)]


def _found(words: str, family: str) -> list[list[str]]:
    """Return the rows of the entries that are searched for."""
    return _rows(found(words, "" if family == ALL else family))


def _pressed(chosen: gr.SelectData) -> str:
    """Return the place of the entry that is pressed among all."""
    return str(entries().index(named(*parts.row(chosen)[:2])))


def _show(pressed: str, shown: str, beside: str) -> list[Any]:
    """Show the entry at a place; nothing is drawn before somebody looks, and nothing twice."""
    if pressed == shown or not (pressed.isdecimal() and int(pressed) < len(entries())):
        return [gr.skip()] * 9
    entry = entries()[int(pressed)]
    drawn = _drawn(entry.name, beside) if entry.loss else _of_metric(entry.name)
    loss = entry.name if entry.loss else ""
    return [entry.markdown, loss, gr.update(visible=entry.loss), _label(beside), *drawn, pressed]


def _beside(loss: str, beside: str) -> list[Any]:
    """Draw another loss beside the one that is shown."""
    return [_label(beside), *_drawn(loss, beside)]


def _label(beside: str) -> Any:
    return gr.update(value="Train it" if beside == NOTHING else "Train these two")


def _drawn(loss: str, beside: str) -> list[Any]:
    names = [loss] if beside in (NOTHING, loss) else [loss, beside]
    made = f"{figures.PUSH} {response(loss).made}"
    return [
        gr.update(value=figures.moving(names), visible=True),
        gr.update(value=made, visible=True),
        *_told(figures.moving_table(names)),
    ]


def _of_metric(name: str) -> list[Any]:
    figure = figures.mistakes(name)
    if figure is None:
        return [gr.update(visible=False) for _ in range(3)] + [gr.update()]
    return [gr.update(value=figure, visible=True), gr.update(visible=False), *_told(figures.mistakes_table(name))]


def _told(table: figures.Table) -> list[Any]:
    head, rows = table
    return [gr.update(visible=True), gr.update(value={"headers": head, "data": rows})]


DESCRIPTOR = Tab(
    name="catalogue",
    title="Catalogue",
    order=90,
    build=build,
    aside="Nothing is started here. The settings of a comparison stand in this place while Live or Runs is open.",
)
