"""Gradio's components as the page uses them: a list to choose from, a table of numbers, a fold, a figure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import gradio as gr

from explorer.components.photograph import Photograph
from explorer.page.blocks import QUIET
from explorer.server.http import RequestError
from explorer.server.jobs import Job

J = TypeVar("J", bound=Job)


def listing(value: Any = None, *, headers: list[str], shares: list[int], **options: Any) -> gr.Dataframe:
    """Add a list of which a row is chosen.

    Args:
        shares: of its width that each column gets, in per cent.
    """
    return gr.Dataframe(
        value,
        headers=headers,
        column_widths=[f"{share}%" for share in shares],
        interactive=False,
        wrap=True,
        show_label=False,
        max_height=640,
        buttons=[],
        latex_delimiters=[],
        elem_classes="rs-data",
        **options,
    )


def table(headers: list[str] | None = None, **options: Any) -> gr.Dataframe:
    """Add a table of numbers."""
    options = {"buttons": ["copy", "fullscreen"], "latex_delimiters": [], **options}
    return gr.Dataframe(headers=headers, interactive=False, show_label=False, elem_classes="rs-data", **options)


def text(value: str = "", **options: Any) -> gr.Markdown:
    """Add a text of Markdown without formulas."""
    return gr.Markdown(value or None, latex_delimiters=[], **options)


def sentence(value: str = "", **options: Any) -> gr.Markdown:
    """Add a remark in small letters."""
    return text(value, elem_classes="rs-sentence", **options)


def fold(title: str, **options: Any) -> gr.Accordion:
    """Add a part that is closed at first."""
    return gr.Accordion(title, open=False, elem_classes="rs-fold", **options)


def small(title: str, **options: Any) -> gr.Button:
    """Add a button as wide as its title."""
    return gr.Button(title, size="sm", scale=0, min_width=70, elem_classes="rs-small", **options)


CHANGED = "() => { window.dispatchEvent(new CustomEvent('rankscope:changed')); return []; }"
"""JavaScript that tells the whole page that a run is another than before."""
AS_ME = "(...given) => rankscopeAsMe(given)"
"""JavaScript for an event whose last input is the visitor's token."""
SAVE = """(address) => {
  Object.assign(document.createElement("a"), { href: address, download: "" }).click();
  return [];
}"""
"""JavaScript that saves what an address answers. A link would do too, but where an event is under way the page takes
the end of its stream for the end of the server, and is loaded anew."""


def saving(title: str, address: str = "") -> gr.Button:
    """Add a button that saves what an address answers; without one, :data:`SAVE` takes it from a component."""
    button = small(title)
    if address:
        button.click(fn=None, js=f"() => ({SAVE})({json.dumps(address)})")
    return button


def chart(**options: Any) -> gr.Plot:
    """Add a place for a figure, see :mod:`explorer.page.charts`."""
    return gr.Plot(show_label=False, elem_classes="rs-chart", **options)


def photograph(label: str, **options: Any) -> gr.Image:
    """Add a place for a photograph of the visitor's own; events get a path, which ``shared.photographs`` opens."""
    return Photograph(label=label, buttons=[], **options)


def at(ids: str, event: gr.SelectData) -> str:
    """Return the id of the row that is pressed; empty: there is none.

    Args:
        ids: of all rows, as JSON; from a browser.
    """
    known, row = listed(ids), place(event)[0]
    return known[row] if 0 <= row < len(known) else ""


def listed(text: str) -> list[str]:
    """Read a list of ids as JSON, from a browser; what is none is empty."""
    try:
        found = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return []
    return [str(one) for one in found] if isinstance(found, list) else []


def row(event: gr.SelectData) -> list[str]:
    """Return what stands in the row that is pressed.

    Raises:
        RequestError: fewer than two values were sent.
    """
    values = [str(value) for value in event.row_value or ()]
    if len(values) < 2:
        raise RequestError("A row of the table was needed. Reload the page and press one.")
    return values


def place(event: gr.SelectData) -> tuple[int, int]:
    """Return row and column of what is pressed in a table; of a gallery, number of the image and 0."""
    row, column = event.index if isinstance(event.index, list) else (event.index, 0)
    return row, column


def reaching(elem_id: str) -> str:
    """Return JavaScript that shows what was chosen where it stands below the list, as on a phone."""
    return f"""() => {{
      if (window.innerWidth < 769) document.getElementById("{elem_id}").scrollIntoView({{ behavior: "smooth" }});
      return [];
    }}"""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A button that asks before something is done for good: yes, or keep it."""

    SHOWN: ClassVar[int] = 2
    place: gr.Row
    sure: gr.Button

    @property
    def outputs(self) -> list[Any]:
        """What :meth:`offered` fills."""
        return [self.place, self.sure]

    @staticmethod
    def offered(possible: bool, sure: str) -> list[Any]:
        """Offer it or not; what was asked stays asked. ``sure``: the words that do it."""
        return [gr.update(visible=possible), gr.update(value=sure)]


def question(title: str, about: gr.Textbox | gr.Dropdown) -> Question:
    """Add a button whose press asks; the question is taken back when the value of ``about`` is another."""
    with gr.Row(visible=False, elem_classes="rs-flow") as place:
        begin = small(title)
        sure = small(f"{title} for good", variant="stop", visible=False)
        keep = small("Keep", visible=False)
    shown = [begin, sure, keep]
    begin.click(lambda: _asked(True), None, shown, **QUIET)
    for settled in (keep.click, sure.click, about.change):
        settled(lambda: _asked(False), None, shown, **QUIET)
    return Question(place=place, sure=sure)


def _asked(asking: bool) -> list[Any]:
    return [gr.update(visible=not asking), gr.update(visible=asking), gr.update(visible=asking)]


def picture_of(elem_id: str) -> str:
    """Return JavaScript that saves the figure in an element as PNG."""
    return f"""() => {{
      document.querySelector("#{elem_id} .modebar-btn")?.click();
      return [];
    }}"""


def ended(job: J, stopped: str = "") -> J:
    """Return a job that has ended: an event never waits for one.

    Args:
        stopped: what is said where it was stopped; empty: nothing.

    Raises:
        RequestError: it has not.
        gr.Error: it was stopped.
    """
    if stopped and job.phase == "stopped":
        raise gr.Error(stopped, print_exception=False)
    if not job.done.is_set():
        raise RequestError("It is not done yet.")
    return job
