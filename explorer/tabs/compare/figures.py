"""The figures of the tab: means with their intervals, metrics over what was varied, and curves over seeds."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.page.charts import colour, styled
from explorer.page.words import brief
from explorer.tabs.compare.curves import Curve
from explorer.tabs.compare.shown import LEVEL, Over, Row, Shown
from trainers.comparison.estimate import Estimate
from trainers.comparison.words import heading
from trainers.comparison.words import shown as value_words
from trainers.metrics.names import Described
from trainers.plans.report import Axis

_DECADES = 20
"""A largest value so many times the smallest asks for a logarithmic axis."""
_LETTERS = 22
"""Of a line of a name at an axis."""
_ROW, _OVER = 26, 190
"""Height of a row, and of a picture of lines, in pixels."""


def intervals(shown: Shown) -> go.Figure:
    """Draw means with their intervals, a picture per metric; small dots are the seeds."""
    rows = shown.here()
    lines = sum(max(1, len(_lines_of(row.variant.title)) * 0.7) for row in rows)
    height = round(len(shown.metrics) * (56 + _ROW * lines))
    figure = _stacked(shown, height)
    for number, place in enumerate(shown.metrics, 1):
        metric = shown.described[place]
        for at, row in enumerate(rows):
            _interval(figure, row, place, metric, at, number)
        names = ["<br>".join(_lines_of(row.variant.title)) for row in rows]
        ticks = {"tickvals": list(range(len(rows))), "ticktext": names, "automargin": True}
        figure.update_yaxes(**ticks, range=[len(rows) - 0.4, -0.6], showgrid=False, zeroline=False, row=number, col=1)
    return styled(figure, height, **_BARE)


_LEGEND = {"orientation": "h", "yref": "container", "y": 0, "x": 0}
_BARE = {"showlegend": False, "margin": {"l": 8, "r": 12, "t": 30, "b": 24}}


def _interval(figure: go.Figure, row: Row, place: int, metric: Described, at: int, number: int) -> None:
    estimate, ink = row.estimate(place), colour(row.variant.color)
    if estimate is None:
        return
    mean, low, high = _bounds(estimate, _scale(metric))
    name = html.escape(brief(row.variant.title, 60))
    values = [value * _scale(metric) for value, _ in row.seeds(metric.key).values()]
    ends = {"array": [high - mean], "arrayminus": [mean - low], "symmetric": False, "width": 0, "thickness": 3}
    dots = {"x": values, "y": [at + 0.3] * len(values), "marker": {"color": ink, "size": 4, "opacity": 0.7}}
    middle = {"x": [mean], "y": [at], "marker": {"color": ink, "size": 10}, "error_x": ends}
    for mark in (dots, middle):
        figure.add_trace(go.Scatter(mode="markers", name=name, **mark), row=number, col=1)


def over(shown: Shown, over: Over) -> go.Figure:
    """Draw metrics over what was varied, a picture per metric: a line per loss, with its intervals as a band."""
    height = 90 + _OVER * len(shown.metrics)
    figure = _stacked(shown, height)
    kind, note = _axis(over.axis)
    for number, place in enumerate(shown.metrics, 1):
        scale = _scale(shown.described[place])
        for title, rows in over.lines.items():
            known = [(row.on(over.axis), found) for row in rows if (found := row.estimate(place)) is not None]
            ink, name = colour(rows[0].variant.color), html.escape(brief(title, 60))
            if known and known[0][0] == LEVEL:
                dash = {"color": ink, "dash": "dash", "width": 1.75}
                figure.add_hline(known[0][1].mean * scale, line=dash, row=number, col=1)
                continue
            x = [value_words(value) if kind == "category" else value for value, _ in known]
            _band(figure, x, [_bounds(each, scale) for _, each in known], ink, name, number)
    figure.update_xaxes(type=kind, **({} if kind == "category" else {"tickvals": over.axis.values}))
    figure.update_xaxes(title_text=f"{html.escape(brief(over.axis.title, 60))}{note}", row=len(shown.metrics), col=1)
    return styled(figure, height, legend=_LEGEND)


def _bounds(estimate: Estimate, scale: int) -> tuple[float, float, float]:
    low, high = (estimate.low, estimate.high) if estimate.known else (estimate.mean, estimate.mean)
    return estimate.mean * scale, low * scale, high * scale


def trained(curves: Sequence[Curve], title: str) -> go.Figure:
    """Draw means over the seeds while these train, each in a band from the lowest to the highest seed."""
    figure = make_subplots(rows=1, cols=1)
    for curve in curves:
        points = list(zip(curve.mean, curve.low, curve.high, strict=True))
        _band(figure, curve.steps, points, colour(curve.color), html.escape(brief(curve.title, 60)), 1)
    figure.update_traces(marker_size=3)
    figure.update_xaxes(title_text="step")
    figure.update_yaxes(title_text=html.escape(title))
    return styled(figure, 330 + 24 * len(curves), showlegend=True, legend=_LEGEND)


def _band(
    figure: go.Figure,
    x: Sequence[object],
    points: Sequence[tuple[float, float, float]],
    ink: str,
    name: str,
    number: int,
) -> None:
    """Draw means in a band from low to high."""
    if not points:
        return
    mean, low, high = zip(*points, strict=True)
    group = {"legendgroup": name, "name": name}
    red, green, blue = (int(ink[at : at + 2], 16) for at in (1, 3, 5))
    band = {"fill": "toself", "fillcolor": f"rgba({red},{green},{blue},0.14)", "line": {"width": 0}}
    edge = {"x": [*x, *x[::-1]], "y": [*high, *low[::-1]], "mode": "lines"}
    ring = go.Scatter(**edge, **band, **group, hoverinfo="skip", showlegend=False)
    line = go.Scatter(
        x=x, y=mean, mode="lines+markers", line={"color": ink, "width": 2}, **group, showlegend=number == 1
    )
    for trace in (ring, line):
        figure.add_trace(trace, row=number, col=1)


def _stacked(shown: Shown, height: int) -> go.Figure:
    """Return a figure with a picture below the other for each metric of the table."""
    metrics = [shown.described[place] for place in shown.metrics]
    titles = [html.escape(heading(metric.short, metric.measure)) for metric in metrics]
    figure = make_subplots(rows=len(metrics), cols=1, subplot_titles=titles, vertical_spacing=50 / height)
    figure.update_annotations(font_size=13, x=0, xanchor="left")
    return figure


def _scale(metric: Described) -> int:
    return 100 if metric.measure.unit == "share" else 1


def _lines_of(name: str) -> list[str]:
    lines = textwrap.wrap(brief(name, 3 * _LETTERS), _LETTERS) or [""]
    return [html.escape(line) for line in lines]


def _axis(axis: Axis) -> tuple[str, str]:
    """Return how values are placed, and what is said of it: to scale, by their logarithms, or evenly where neither
    tells them apart, as with 0 among decades.
    """
    numbers = [value for value in axis.values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if len(numbers) < len(axis.values):
        return "category", ""
    above = [value for value in numbers if value > 0]
    if len(above) < 2 or max(above) < _DECADES * min(above):
        return "linear", ""
    return ("log", ", logarithmic axis") if len(above) == len(numbers) else ("category", ", evenly spaced")
