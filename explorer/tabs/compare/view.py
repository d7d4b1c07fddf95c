"""The components of the tab, and what each of its parts shows of a report."""

from __future__ import annotations

import json
import math
from typing import Any

import gradio as gr

from explorer.components.downloads import Downloads, offer
from explorer.components.menu import Menu
from explorer.page import parts
from explorer.page.words import brief, literal, moment
from explorer.server.states import Json
from explorer.tabs.compare import figures
from explorer.tabs.compare.curves import Curve
from explorer.tabs.compare.shown import DIFFERENT, LEVEL, Row, Shown, named
from trainers.comparison import Estimate, UntrainedLine, words
from trainers.comparison.markup import markdown_text
from trainers.metrics.names import Described
from trainers.plans.config import MOST_SEEDS
from trainers.plans.planned import Child
from trainers.runs.records import PHASES

Updates = dict[Any, Any]
"""Components with what they show."""
_PENDING = "The results fill in as the runs finish."
_PRESS = "Press a number for its interval and its seeds."
_BANDS = "Lines join means over seeds; the band is the 95 % interval of the mean."
_DASHED = "Dashed: without the parameter that is varied."
_MARKS = {"above": "▲", "below": "▲", "could be chance": "?", "unknown": "–"}


class Head:
    """Which comparison, how far it is, and what can be done with it."""

    def __init__(self, plan: gr.Textbox) -> None:
        with gr.Row(equal_height=False):
            with gr.Column(scale=2, min_width=320):
                self.text = parts.text(elem_id="rs-plan")
            self.menu = Menu(label="Comparison", filterable=False, min_width=280, elem_id="rs-plans")
        with gr.Row(elem_classes="rs-flow"):
            number: dict[str, Any] = {"precision": 0, "minimum": 1, "maximum": MOST_SEEDS - 1}
            self.count = gr.Number(3, label="More seeds", show_label=False, scale=0, min_width=64, **number)
            self.add = parts.small("Add seeds")
            self.again = parts.small("Use its settings")
            self.delete = parts.question("Delete", about=plan)
            self.downloads = Downloads(elem_id="rs-plan-downloads")

    def fill(self, about: Json, plans: list[Json], public: bool) -> Updates:
        """Show what a plan is; only what its state and its owner allow is offered."""
        state = about["state"]
        mine = not about["read_only"] and (not public or about["mine"] is True)
        rests = mine and not state["moving"]
        count = "run" if about["runs"] == 1 else f"{about['runs']} runs"
        delete = f"Delete it and its {count} for good" if about["runs"] else "Delete for good"
        more = rests and about["seeds_left"] > 0
        known = plans if any(plan["id"] == about["id"] for plan in plans) else [*plans, about]  # of the Hub
        listed = [(f"{brief(plan['title'], 100)}, {_origin(plan)}", plan["id"]) for plan in known]
        return {
            self.text: _about(about),
            self.menu: gr.update(choices=listed, value=about["id"], visible=len(listed) > 1),
            self.count: gr.update(visible=more),
            self.add: gr.update(visible=more),
            self.downloads: offer(about | {"losses": []}) if state["step"] else "",
            self.again: gr.update(visible=about["offered"]),
            **dict(zip(self.delete.outputs, parts.Question.offered(rests, delete), strict=True)),
        }


def _about(about: Json) -> str:
    hub, _, commit = about["hub"].partition("@")
    place = f"from the Hub: {hub} at {commit[:8]}" if hub else "recorded" if about["recorded"] else ""
    told = [" · ".join(filter(None, [place, brief(about["summary"], 300)])), about["state"]["words"]]
    error = f"**{literal(about['state']['error'], 500)}**" if about["state"]["error"] else ""
    title = f"### {literal(about['title'], 160)}"
    return "\n\n".join(filter(None, [title, "  \n".join(map(markdown_text, told)), error]))


def _origin(plan: Json) -> str:
    if plan.get("hub"):
        return "from the Hub"
    return "recorded" if plan["recorded"] else moment(plan["created"])


class Verdicts:
    """What the runs say in words, and the menus of what is said."""

    def __init__(self) -> None:
        self.note = parts.sentence()
        self.part = Menu(label="Part", filterable=False, visible=False)
        self.conclusion = parts.text(elem_id="rs-conclusion")
        with gr.Row(equal_height=False):
            self.metric = Menu(label="Metric", filterable=False, min_width=200)
            self.under = Menu(label="Under", filterable=False, min_width=200)
        with parts.fold("All pairs in numbers") as self.fold:
            self.pairs = parts.text(elem_id="rs-pairs")

    def fill(self, shown: Shown, moving: bool) -> Updates:
        """Show the verdicts in the metric under the condition."""
        pairs = shown.verdicts(shown.metric) if shown.described else []
        conclusion = shown.conclusion()
        where = f"{shown.under[:1].upper()}{shown.under[1:]}: " if conclusion and len(shown.conditions) > 1 else ""
        said = [f"- {_MARKS[pair.verdict]} {_strong(words, pair.verdict in DIFFERENT)}" for pair, words in pairs]
        method = "" if shown.table is None else words.METHOD
        metrics = [(metric.title, metric.key) for metric in shown.described]
        chosen = shown.described[shown.metric].key if metrics else None
        count = "The pair" if len(pairs) == 1 else f"All {len(pairs)} pairs"
        return {
            self.note: gr.update(value=_PENDING, visible=moving),
            self.part: _choices([(part.title, part.name) for part in shown.report.parts], shown.part.name),
            self.conclusion: gr.update(value=markdown_text(f"{where}{conclusion}"), visible=bool(conclusion)),
            self.metric: _choices(metrics, chosen),
            self.under: _choices([(one, one) for one in shown.conditions], shown.under),
            self.fold: gr.update(label=f"{count} in numbers", visible=bool(pairs)),
            self.pairs: "\n\n".join(["\n".join(said), *map(markdown_text, [_overall(shown), method])]),
        }


def _strong(text: str, seen: bool) -> str:
    sentence = markdown_text(f"{text[:1].upper()}{text[1:]}.")
    return f"**{sentence}**" if seen else sentence


def _overall(shown: Shown) -> str:
    """Say in which of several metrics any pair differs."""
    judged = {metric.title: shown.verdicts(place) for place, metric in enumerate(shown.described)}
    judged = {title: pairs for title, pairs in judged.items() if pairs}
    seen = {title: sum(pair.verdict in DIFFERENT for pair, _ in pairs) for title, pairs in judged.items()}
    differing = [f"{title} ({count} of {len(judged[title])} pairs)" for title, count in seen.items() if count]
    if len(judged) < 2:
        return ""
    if not differing:
        return f"In all {len(judged)} metrics every difference could be chance."
    left = len(judged) - len(differing)
    other = "the other metric" if left == 1 else f"the other {left} metrics"
    rest = f" In {other} every difference could be chance." if left else ""
    return f"More than chance explains in {'; '.join(differing)}.{rest}"


def _choices(choices: list[tuple[str, str]], value: str | None) -> Any:
    """Return what a menu offers; one with nothing to choose from is hidden."""
    return gr.update(choices=choices, value=value if choices else None, visible=len(choices) > 1)


class Table:
    """A row per loss under each condition, a column per chosen metric; a number that is pressed shows its runs."""

    def __init__(self) -> None:
        self.rows = parts.table(wrap=True, buttons=[], pinned_columns=1, elem_id="rs-results")
        with gr.Column(visible=False, elem_id="rs-number") as self.cell:
            self.number = parts.text()
            self.seeds = parts.table(["Seed", "Value", "Run"], wrap=True, buttons=[], elem_id="rs-number-runs")
            self.close = parts.small("Close")
        self.ids = gr.Textbox(visible=False)
        with gr.Row(equal_height=False, elem_classes="rs-bottoms"):
            self.metrics = Menu([], value=[], multiselect=True, label="Metrics of the table", min_width=280)
            self.latex = parts.small("LaTeX of this table")
        self.notes = parts.sentence()

    def fill(self, shown: Shown) -> Updates:
        """Show the results."""
        metrics = [shown.described[place] for place in shown.metrics]
        conditions = [] if shown.table is None else list(shown.table.conditions)
        heads = [words.heading(metric.short, metric.measure) for metric in metrics]
        table = {
            "headers": ["Loss", *conditions, *heads, "Seeds"],
            "data": [
                *([brief(row.variant.title, 120), *_cells(row, shown, conditions)] for row in shown.rows),
                *(_untrained_cells(row, shown, conditions) for row in shown.untrained),
            ],
            "metadata": {
                "display_value": None,
                "styling": [
                    *(_styles(row, shown, conditions) for row in shown.rows),
                    *([_GREY] * (len(conditions) + len(heads) + 2) for _ in shown.untrained),
                ],
            },
        }
        widths = [140, *[110] * len(conditions), *[126] * len(heads), 76]
        notes: list[str] = []
        if shown.table is not None:
            notes = [f"{words.NARROW} {_PRESS}", *shown.table.only([metric.key for metric in metrics]).notes()]
        several = len(shown.described) > 1
        return {
            self.rows: gr.update(value=table, column_widths=[f"{width}px" for width in widths], visible=bool(metrics)),
            self.metrics: gr.update(
                choices=[(metric.title, metric.key) for metric in shown.described],
                value=[metric.key for metric in metrics],
                visible=several,
            ),
            self.latex: gr.update(visible=bool(metrics)),
            self.notes: "\n\n".join(map(markdown_text, notes)),
        }

    def press(self, shown: Shown, row: int, column: int) -> Updates:
        """Show the runs behind a number; of a name those of the first one."""
        before = 1 + (0 if shown.table is None else len(shown.table.conditions))
        if not (0 <= row < len(shown.rows) and shown.metrics):
            return {self.cell: gr.update(visible=False)}
        place = shown.metrics[column - before if before <= column < before + len(shown.metrics) else 0]
        metric, chosen = shown.described[place], shown.rows[row]
        values = chosen.seeds(metric.key)
        lacking = [] if chosen.line is None else [seed for seed in chosen.line.missing if seed not in values]
        rows = [
            [str(seed), words.number(value, metric.measure), run.planned.title] for seed, (value, run) in values.items()
        ]
        estimate = chosen.estimate(place)
        title = ", ".join(filter(None, [brief(chosen.variant.title, 120), named(chosen.condition)]))
        told = [f"**{markdown_text(f'{metric.title}: {title}')}**", markdown_text(_in_full(metric, estimate))]
        told += [markdown_text(estimate.covers)] if estimate is not None else []
        return {
            self.cell: gr.update(visible=True),
            self.number: "\n\n".join(told),
            self.seeds: {
                "headers": ["Seed", "Value", "Run"],
                "data": [*rows, *([str(seed), "no result", ""] for seed in lacking)],
            },
            self.ids: json.dumps([run.id for _, run in values.values()]),
        }


def _in_full(metric: Described, estimate: Estimate | None) -> str:
    if estimate is None:
        return "No result."
    return f"{_short(metric, estimate)} {words.interval(estimate, metric.measure)}"


def _short(metric: Described, estimate: Estimate) -> str:
    spread = "" if len(estimate.seeds) < 2 else f" ± {words.number(estimate.spread, metric.measure)}"
    return f"{words.number(estimate.mean, metric.measure)}{spread}"


def _cells(row: Row, shown: Shown, conditions: list[str]) -> list[str]:
    known = {place: row.estimate(place) for place in shown.metrics}
    numbers = [
        _pending(row) if found is None else _short(shown.described[place], found) for place, found in known.items()
    ]
    counts = sorted({0 if row.line is None else len(found.seeds) for found in (row.line.estimates if row.line else ())})
    seeds = "–".join(map(str, dict.fromkeys([counts[0], counts[-1]]))) if counts else "0"
    planned = len({child.planned.seed for child, _ in row.runs})
    return [*(words.shown(row.condition.get(name, "")) for name in conditions), *numbers, f"{seeds} of {planned}"]


_GREY = "color: var(--rs-soft)"


def _untrained_cells(row: UntrainedLine, shown: Shown, conditions: list[str]) -> list[str]:
    metrics = [shown.described[place] for place in shown.metrics]
    numbers = [words.number(row.numbers.get(metric.key, math.nan), metric.measure) for metric in metrics]
    return [brief(row.name, 120), *(words.shown(row.condition.get(name, "")) for name in conditions), *numbers, "–"]


def _pending(row: Row) -> str:
    """Say why there is no number."""
    if any(child.active for child, _ in row.runs):
        return "trains"
    return "–" if all(child.outcome is not None for child, _ in row.runs) else "waits"


def _styles(row: Row, shown: Shown, conditions: list[str]) -> list[str]:
    best = [row.line is not None and row.line.best[place] for place in shown.metrics]
    mark = f"box-shadow: inset 5px 0 var(--rs-arm-{row.variant.color % 6})"
    return [mark, *[""] * len(conditions), *("font-weight: 700" if one else "" for one in best), ""]


class Pictures:
    """Means with their intervals, metrics over what was varied, and the curves of the training."""

    def __init__(self) -> None:
        with gr.Row(equal_height=False):
            with gr.Column(min_width=320, visible=False) as self.means:
                parts.text("#### Means and 95 % intervals")
                self.intervals = _figure("rs-intervals")
            with gr.Column(min_width=320, visible=False) as self.varied:
                self.over_title = parts.text()
                self.axis = Menu(label="Over", filterable=False)
                self.at = Menu(label="At", filterable=False)
                self.over = _figure("rs-over")
                self.over_note = parts.sentence()
            with gr.Column(min_width=320, visible=False) as self.training:
                parts.text("#### While they train")
                self.curve = Menu(label="Number", filterable=False)
                self.curves = _figure("rs-trained")
                self.csv = parts.small("Curves (CSV)")
                parts.sentence(
                    "Lines are means over the seeds, bands reach from the lowest to the highest. Scores in training "
                    "are of the images on the maps; the table has those of all test images, where they were taken."
                )
                with parts.fold("The newest numbers"):
                    self.newest = parts.table(
                        ["Loss", "Step", "Mean", "Lowest", "Highest", "Seeds"], elem_id="rs-newest"
                    )

    def fill(self, shown: Shown, told: dict[str, str], key: str, curves: list[Curve]) -> Updates:
        """Draw; ``told``: titles of the numbers of the curves, by key."""
        drawn, over = bool(shown.metrics), shown.over
        varied: Updates = {self.varied: gr.update(visible=drawn and over is not None)}
        if drawn and over is not None:
            name = over.axis.title
            level = any(rows[0].on(over.axis) == LEVEL for rows in over.lines.values())
            varied |= {
                self.over_title: f"#### Over {markdown_text(f'{name[:1].lower()}{name[1:]}')}",
                self.axis: _choices([(one.title, one.title) for one in over.axes], name),
                self.at: _choices([(one, one) for one in over.places], over.at),
                self.over: figures.over(shown, over),
                self.over_note: f"{_BANDS} {_DASHED}" if level else _BANDS,
            }
        return {
            self.means: gr.update(visible=drawn),
            self.intervals: figures.intervals(shown) if drawn else None,
            **varied,
            self.training: gr.update(visible=bool(curves)),
            self.curve: gr.update(choices=[(title, name) for name, title in told.items()], value=key or None),
            self.curves: figures.trained(curves, told[key]) if curves else None,
            self.newest: [
                [
                    one.title,
                    f"{one.steps[-1]:,}",
                    *(f"{part[-1]:.3f}" for part in (one.mean, one.low, one.high)),
                    one.seeds[-1],
                ]
                for one in curves
            ],
        }


def _figure(elem_id: str) -> gr.Plot:
    """Add a figure with a button that saves it."""
    figure = parts.chart(elem_id=elem_id)
    parts.small("Picture (PNG)").click(fn=None, js=parts.picture_of(elem_id))
    return figure


class Members:
    """What a kind of plan found out beyond its tables, and the runs: those without a result with the reason."""

    def __init__(self) -> None:
        self.findings = parts.text(elem_id="rs-findings")
        self.lost = parts.text(elem_id="rs-lost")
        with parts.fold("Runs") as self.fold:
            self.runs = parts.table(["Run", "State"], wrap=True, buttons=[], elem_id="rs-plan-runs")
        self.ids = gr.Textbox(visible=False)

    def fill(self, shown: Shown) -> Updates:
        """Show the runs of the part."""
        said = [
            "\n".join([f"#### {markdown_text(found.title)}\n", *(f"- {markdown_text(one)}" for one in found.sentences)])
            for found in shown.report.findings
        ]
        lost = [child for child in shown.children if child.outcome is not None and not child.outcome.finished]
        why = [f"- **{markdown_text(f'{one.planned.title} {_state(one)}')}** {_error(one)}" for one in lost]
        count = len(shown.children)
        return {
            self.findings: "\n\n".join(said),
            self.lost: "\n".join(["#### Runs without a result\n", *why]) if why else "",
            self.fold: gr.update(label="1 run" if count == 1 else f"{count} runs", visible=bool(count)),
            self.runs: [[child.planned.title, _state(child)] for child in shown.children],
            self.ids: json.dumps([child.id if child.phase != "planned" else "" for child in shown.children]),
        }


def _state(child: Child) -> str:
    return PHASES[child.phase].label if child.phase in PHASES else child.phase


def _error(child: Child) -> str:
    return literal(child.outcome.error) if child.outcome is not None else ""
