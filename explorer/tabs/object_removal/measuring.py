"""The score over a whole dataset: asked for, followed, stopped, and what it came to."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr
import plotly.graph_objects as go

from explorer.components.work import Work
from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.charts import colour, styled
from explorer.page.words import literal
from explorer.server.shown_files import ShownFiles
from explorer.server.visitors import Caller, caller
from explorer.tabs.object_removal.bodies import Score
from explorer.tabs.object_removal.images import encoded
from explorer.tabs.object_removal.interpretation import READINGS
from explorer.tabs.object_removal.score import ScoreJob
from explorer.tabs.object_removal.service import Objects
from explorer.tabs.object_removal.view import Json, Menus, Updates
from trainers.errors import UserError

WHAT = """Takes an object out of many images and asks each model for its nearest captions. What counts is the share of
captions that name something still there and nothing that was removed."""
MOST_MODELS = 2
_CSV = "gradio_api/rankscope/objects/score"
_SIDE = 160
_REMOVED = "⊘"
"""Stands before the words of a caption that name what was removed."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Shows an image of the dataset above.

    Attributes:
        image: returns the updates for an image by its reference, the classes to remove, and the values of the menus.
        bind: binds such a function to an event, with what it is given before the menus.
    """

    image: Callable[[str, list[str], Any], Updates]
    bind: Callable[[Any, Any, list[Any]], None]


@dataclass(frozen=True, kw_only=True)
class Results:
    """What a score came to."""

    job: gr.Textbox
    said: gr.Markdown
    figures: gr.Markdown
    chart: gr.Plot
    fold: gr.Accordion
    table: gr.Dataframe
    csv: gr.Button
    titles: list[gr.Markdown]
    failing: list[gr.Gallery]

    @property
    def filled(self) -> list[Any]:
        """What :meth:`Measuring.measured` fills."""
        first = [self.job, self.said, self.figures, self.chart, self.fold, self.table, self.csv]
        return [*first, *self.titles, *self.failing]


class Measuring:
    """Scores models on the dataset that is chosen."""

    def __init__(self, objects: Objects, files: ShownFiles) -> None:
        self._objects = objects
        self._files = files

    def start(self, asked: Json, sender: Caller) -> dict[str, str]:
        """Begin a score; returns its work."""
        score = self._objects.scorer.check(Score.of(asked))
        return {"job": self._objects.scores.add(ScoreJob(asked=score, caller=sender)).id}

    def measured(self, event: gr.EventData) -> Updates:
        """Return what a score came to, for :attr:`Results.filled`."""
        stopped = "Stopped; nothing is shown of what was measured."
        job = parts.ended(self._objects.scores.get(str(event._data.get("job"))[:80]), stopped)
        result = job.wait()
        models = result["models"]
        shown = [self._failing(model) for model in models] + [None] * (MOST_MODELS - len(models))
        return [
            job.id,
            gr.update(value=_said(result), visible=True),
            gr.update(value=_figures(result), visible=True),
            gr.update(value=figure(result), visible=True),
            gr.update(visible=True),
            table(result),
            gr.update(visible=True),
            *(gr.update(value=None if each is None else each[0], visible=each is not None) for each in shown),
            *(gr.update(value=each and each[1], visible=bool(each and each[1])) for each in shown),
        ]

    def failed(self, job_id: str, arm: int, index: int) -> tuple[str, list[str]]:
        """Return image and removed classes of a query that failed."""
        job = parts.ended(self._objects.scores.get(job_id[:80]))
        failing = [one for one in job.wait()["models"][arm]["failing"] if self._thumbnail(one["image"])]
        return failing[index]["image"], failing[index]["removed"]

    def _failing(self, model: Json) -> tuple[str, list[tuple[str, str]]]:
        title = literal(model["title"])
        if not model["failing"]:
            return f"**{title}**: no first caption names what was removed.", []
        said = f"**{title}**: first caption names what was removed ({_REMOVED}); press an image to open it above"
        images = [(self._thumbnail(one["image"]), _caption(one)) for one in model["failing"]]
        return said, [(path, text) for path, text in images if path]

    def _thumbnail(self, ref: str) -> str:
        images = self._objects.images
        try:
            image = images.get(ref)
            return self._files.path(
                f"{ref} {_SIDE}", "image", "jpg", lambda: encoded(images.shown(image, _SIDE).pixels, "jpeg")
            )
        except UserError:
            return ""


def build(measuring: Measuring, menus: Menus, opening: Opening) -> None:
    """Add the section."""
    parts.text(f"## Over a whole dataset\n\n{WHAT}")
    with gr.Row(equal_height=False, elem_classes="rs-bottoms"):
        queries = gr.Number(
            200, label="Removals at most", minimum=10, maximum=2000, precision=0, scale=0, min_width=150
        )
        every = gr.Radio([("one per image", False), ("all removals", True)], value=False, label="Removals", scale=2)
        go_ = gr.Button("Measure", variant="primary", size="md", scale=0, min_width=120)
    work = Work("objects/score")
    results = _results()
    with parts.fold("How it is counted, and what the paper leaves open"):
        parts.text("\n".join(f"- {literal(reading, 1000)}" for reading in READINGS))

    def start(queries: float, every: bool, dataset: str, model: str, other: str, fill: str, request: gr.Request) -> Any:
        asked = {"dataset": dataset, "models": [name for name in (model, other) if name], "fill": fill, "seed": 0}
        return measuring.start({**asked, "queries": int(queries or 0), "every": bool(every)}, caller(request))

    chosen = [queries, every, menus.dataset, menus.model, menus.other, menus.fill]
    go_.click(start, chosen, work, **QUIET)
    work.ended(measuring.measured, None, results.filled, **QUIET)
    for arm, gallery in enumerate(results.failing):
        opening.bind(gallery.select, _pressed(measuring, opening, arm), [results.job])


def _pressed(measuring: Measuring, opening: Opening, arm: int) -> Any:
    def pressed(job: str, event: gr.SelectData, *chosen: Any) -> Updates:
        return opening.image(*measuring.failed(job, arm, parts.place(event)[0]), chosen)

    return pressed


def _results() -> Results:
    job = gr.Textbox(visible=False)
    said = parts.sentence(visible=False, elem_id="rs-object-scope")
    figures = parts.text(visible=False, elem_id="rs-object-figures")
    chart = parts.chart(visible=False)
    with parts.fold("Numbers as a table", visible=False) as fold:
        numbers = parts.table(wrap=True, elem_id="rs-object-numbers")
    with gr.Row():
        csv = parts.small("Every query (CSV)", visible=False)
        csv.click(fn=None, inputs=job, js=f"(id) => ({parts.SAVE})(`{_CSV}/${{id}}/csv`)")
    titles, failing = [], []
    for _ in range(MOST_MODELS):
        titles.append(parts.text(visible=False))
        failing.append(
            gr.Gallery(
                columns=6, height=220, allow_preview=False, show_label=False, buttons=[], visible=False,
                object_fit="cover", elem_classes="rs-failing",
            )
        )  # fmt: skip
    return Results(
        job=job, said=said, figures=figures, chart=chart, fold=fold, table=numbers, csv=csv, titles=titles,
        failing=failing,
    )  # fmt: skip


def _caption(failing: Json) -> str:
    marked = "".join(f"{_REMOVED if one['kind'] == 'removed' else ''}{one['text']}" for one in failing["parts"])
    return f"Without the {', '.join(failing['removed'])}: {marked}"[:200]


def _said(result: Json) -> str:
    skipped = [*result["skipped"], *result["models"][0]["skipped"]]
    notes = dict.fromkeys([*result["notes"], *(note for model in result["models"] for note in model["notes"])])
    left = [f"{each['count']:,} skipped: {each['reason']}" for each in skipped]
    text = " ".join([f"{result['scope']}.", *notes, *(f"{each}." for each in left)])
    return literal(f"{text} {result['measures']['intervals']}", 2000)


def _figures(result: Json) -> str:
    """Write the large figures: a row each, a column for every model."""
    models = result["models"]
    rows = []
    for number in result["measures"]["headline"]:
        values = [model["values"].get(number["key"]) for model in models]
        if any(values):
            cells = " → ".join(f"**{_spelled(value, False)}**" for value in values)
            rows.append(f"{literal(number['title'])} {cells}")
    return " &nbsp;&nbsp; ".join(rows)


def table(result: Json) -> Json:
    """Return every number with its interval, in %."""
    models = result["models"]
    rows = [
        [number["title"], *(_spelled(model["values"].get(number["key"])) for model in models)]
        for number in result["measures"]["all"]
    ]
    return {"headers": ["mean (95 % interval), in %", *(model["title"] for model in models)], "data": rows}


def figure(result: Json) -> go.Figure:
    """Draw means with their intervals: a row a number, a mark a model."""
    models = result["models"]
    bars = [bar for bar in result["measures"]["bars"] if any(model["values"].get(bar["key"]) for model in models)]
    made = go.Figure()
    for arm, model in enumerate(models):
        lane = 0.3 * (arm - (len(models) - 1) / 2)
        values = [(row + lane, bar["title"], model["values"].get(bar["key"])) for row, bar in enumerate(bars)]
        known = [(at, title, _ends(value)) for at, title, value in values if value and value["mean"] is not None]
        made.add_scatter(
            x=[mean for _, _, (mean, _, _) in known],
            y=[at for at, _, _ in known],
            text=[title for _, title, _ in known],
            hovertemplate="%{text}: %{x:.1f}",
            name=html.escape(model["title"]),
            mode="markers",
            marker={"color": colour(arm), "size": 10},
            error_x={
                "type": "data",
                "array": [more for _, _, (_, _, more) in known],
                "arrayminus": [less for _, _, (_, less, _) in known],
                "color": colour(arm),
            },
        )
    titles = [bar["title"] for bar in bars]
    made.update_yaxes(range=[len(bars) - 0.5, -0.5], tickvals=list(range(len(bars))), ticktext=titles)
    made.update_xaxes(range=[0, 100], title="%, mean and 95 % interval")
    return styled(made, 90 + 34 * len(bars), margin={"l": 190, "r": 12, "t": 12, "b": 60})


def _ends(value: Json) -> tuple[float, float, float]:
    """Return a mean in %, and how far its interval reaches below and above it."""
    mean = value["mean"]
    low, high = (mean if value[name] is None else value[name] for name in ("low", "high"))
    return 100 * mean, 100 * (mean - low), 100 * (high - mean)


def _spelled(value: Json | None, interval: bool = True) -> str:
    if not value or value["mean"] is None:
        return "–"
    mean = f"{100 * value['mean']:.1f}"
    if not interval or value["low"] is None:
        return mean
    return f"{mean} ({100 * value['low']:.1f} to {100 * value['high']:.1f})"
