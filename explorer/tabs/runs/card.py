"""One run of the list: what it is, what can be done with it, and its name, tags and note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.components.downloads import Downloads, offer
from explorer.page import parts
from explorer.page.words import brief, literal, number, size
from explorer.server.states import Json
from explorer.tabs.runs.rows import started, state, steps
from trainers.comparison.markup import markdown_text
from trainers.metrics.measures import TEST
from trainers.plans.config import MOST_SEEDS
from trainers.runs.label import NAME, NOTE

ACTS = ("pause", "resume", "stop")
_TAGS = 400


@dataclass(frozen=True, kw_only=True)
class Card:
    """The components of a run that is shown."""

    whole: gr.Column
    run: gr.Textbox
    text: gr.Markdown
    numbers: gr.Dataframe
    open: gr.Button
    acts: dict[str, gr.Button]
    choose: gr.Button
    delete: parts.Question
    downloads: Downloads
    seeds: gr.Row
    count: gr.Number
    add: gr.Button
    label: gr.Accordion
    name: gr.Textbox
    tags: gr.Textbox
    note: gr.Textbox
    save: gr.Button

    def moving(self) -> list[Any]:
        """Return what changes while a run goes on: what :func:`moved` fills."""
        shown = [self.whole, self.run, self.text, self.numbers, self.open, *self.acts.values(), self.choose]
        return [*shown, *self.delete.outputs, self.downloads, self.seeds, self.count, self.label]

    def label_fields(self) -> list[Any]:
        """Return what its owner writes: what :func:`labelled` fills."""
        return [self.name, self.tags, self.note]


def card() -> Card:
    """Add the place of a run."""
    with gr.Column(visible=False, elem_id="rs-run-card") as whole:
        run = gr.Textbox(visible=False)
        text = parts.text(elem_id="rs-run")
        numbers = parts.table(wrap=True, buttons=[], elem_id="rs-run-numbers")
        with gr.Row(elem_classes="rs-flow"):
            open_run = parts.small("Open", variant="primary")
            acts = {act: parts.small(act.capitalize()) for act in ACTS}
            choose = parts.small("Add to the chosen")
            delete = parts.question("Delete", about=run)
            downloads = Downloads(elem_id="rs-run-downloads")
        with gr.Row(elem_classes=["rs-flow", "rs-bottoms"], visible=False) as seeds:
            count = gr.Number(
                3, label="More seeds", precision=0, minimum=1, maximum=MOST_SEEDS - 1, min_width=110, scale=0
            )
            add = parts.small("Add seeds")
        with parts.fold("Name, tags and note", visible=False) as label:
            name = gr.Textbox(label="Name", max_lines=1, max_length=NAME)
            tags = gr.Textbox(label="Tags", max_lines=1, max_length=_TAGS, placeholder="comma between tags")
            note = gr.Textbox(label="Note", lines=2, max_length=NOTE)
            save = parts.small("Save")
    return Card(
        whole=whole,
        run=run,
        text=text,
        numbers=numbers,
        open=open_run,
        acts=acts,
        choose=choose,
        delete=delete,
        downloads=downloads,
        seeds=seeds,
        count=count,
        add=add,
        label=label,
        name=name,
        tags=tags,
        note=note,
        save=save,
    )


def moved(run: Json | None) -> list[Any]:
    """Return what :meth:`Card.moving` shows of a run: only what its state and its owner allow is offered.

    Args:
        run: None where it is gone.
    """
    if run is None:
        hidden = gr.update(visible=False)
        kept = [gr.update()] * (3 + len(ACTS) + 1 + parts.Question.SHOWN)
        return [hidden, "", *kept, "", gr.update(), gr.update(), gr.update()]
    mine = run["mine"]
    acts = [act for act in ACTS if mine and act in run["acts"]]
    many = "run" if run["members"] == 1 else "runs"
    whole = f"Delete it and its {run['members']} {many} for good" if run["members"] else "Delete for good"
    return [
        gr.update(visible=True),
        run["id"],
        about(run),
        gr.update(visible=bool(run["numbers"]), value=_numbers(run)),
        gr.update(visible=not run["damaged"]),
        *(gr.update(visible=act in acts) for act in ACTS),
        gr.update(visible=True),
        *parts.Question.offered(mine and not run["moving"], whole),
        offer(run) if run["downloads"] and (run["step"] or run["plans"]) else "",
        gr.update(visible=mine and not run["moving"] and run["seeds_left"] > 0),
        gr.update(),
        gr.update(visible=mine and not run["damaged"]),
    ]


def labelled(run: Json | None) -> list[Any]:
    """Return name, tags and note of a run."""
    return ["", "", ""] if run is None else [run["name"], ", ".join(run["tags"]), run["note"]]


def about(run: Json) -> str:
    """Write what a run is, in Markdown."""
    title = brief(run["name"] or run["title"], 160)
    place = "recorded" if run["recorded"] else f"started {started(run)}"
    if run["read_only"] and not run["recorded"]:
        place += ", in a read-only place"
    told = [" · ".join(filter(None, [state(run).replace("\n", ", "), _how_far(run), place, size(run["bytes"])]))]
    told += [brief(run["title"], 300)] if run["name"] else []
    told += [brief(run["summary"] or run["data"], 300), run["by_stage"], brief(run["note"], 2000)]
    told += [" ".join(f"#{brief(tag, 40)}" for tag in run["tags"])]
    told += [found["sentence"] for found in run.get("untrained", {}).get("findings", ())]
    error = f"**{literal(run['error'], 500)}**" if run["error"] else ""
    return "\n\n".join(filter(None, [f"### {markdown_text(title)}", *map(markdown_text, told), error]))


def _how_far(run: Json) -> str:
    if run["plans"]:
        return steps(run)
    planned = f" of {run['planned_steps']:,}" if run["moving"] and run["planned_steps"] else ""
    return f"{run['step']:,}{planned} steps" if run["step"] else ""


def _numbers(run: Json) -> dict[str, Any]:
    keys = run["numbers"]
    rows = [
        [brief(line["title"], 80), *(number(line["values"].get(key), line["spread"].get(key)) for key in keys)]
        for line in run["lines"]
    ]
    grey = [
        [f"without training: {brief(row['title'], 80)}", *(number(_of_row(row["numbers"], key)) for key in keys)]
        for row in run.get("untrained", {}).get("rows", ())
    ]
    styling = [*([""] * len(row) for row in rows), *(["color: var(--rs-soft)"] * len(row) for row in grey)]
    metadata = {"display_value": None, "styling": styling}
    return {
        "headers": ["Loss", *(told["title"] for told in keys.values())],
        "data": [*rows, *grey],
        "metadata": metadata,
    }


def _of_row(numbers: dict[str, float], key: str) -> float | None:
    """Return a number of a row without training: of the images of the maps, else of the test set."""
    return numbers.get(key, numbers.get(f"{TEST}{key}"))
