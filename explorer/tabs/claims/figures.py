"""The differences of a claim with their intervals, and both sides of each in numbers."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.page.charts import SOFT, styled
from trainers.claims.measured import OPPOSITE, SEEN
from trainers.pictures.palette import TOKENS

_INK = {SEEN: TOKENS["--rs-same"], OPPOSITE: TOKENS["--rs-none"]}
_OTHER = TOKENS["--rs-fill"]
_ROW = 96
HEAD = ["difference", "side", "mean", "95 % interval"]


def intervals(differences: list[dict[str, Any]]) -> go.Figure:
    """Draw each difference: mean and 95 % interval, its seeds below, zero, and dotted the margin of the claim."""
    headings = [f"{one['of']}{', %' if _scale(one) > 1 else ''} · {one['title']}" for one in differences]
    count = len(differences)
    figure = make_subplots(rows=count, cols=1, subplot_titles=headings, vertical_spacing=0.5 / max(count, 1))
    for row, one in enumerate(differences, 1):
        _difference(figure, one, row)
    figure.update_yaxes(visible=False, range=[-1, 1])
    figure.update_annotations(font_size=13, x=0, xanchor="left")
    return styled(figure, 40 + _ROW * count, showlegend=False, margin={"l": 8, "r": 8, "t": 30, "b": 24})


def _difference(figure: go.Figure, one: dict[str, Any], row: int) -> None:
    scale, ink = _scale(one), _INK.get(one["verdict"], _OTHER)
    figure.add_vline(0, line={"color": SOFT, "width": 1}, row=row, col=1)
    for margin in (one["margin"], -one["margin"]) if one["margin"] else ():
        figure.add_vline(margin * scale, line={"color": SOFT, "width": 1, "dash": "dot"}, row=row, col=1)
    if one["low"] is not None:
        ends = [one["low"] * scale, one["high"] * scale]
        bar = go.Scatter(x=ends, y=[0.25, 0.25], mode="lines", line={"color": ink, "width": 4}, name="95 % interval")
        figure.add_trace(bar, row=row, col=1)
    seeds = [value * scale for value in one["each"]]
    dots = go.Scatter(x=seeds, y=[-0.4] * len(seeds), mode="markers", marker={"color": ink, "size": 5}, name="a seed")
    figure.add_trace(dots, row=row, col=1)
    if one["mean"] is not None:
        mean = go.Scatter(
            x=[one["mean"] * scale], y=[0.25], mode="markers", marker={"color": ink, "size": 11}, name="mean"
        )
        figure.add_trace(mean, row=row, col=1)

    known = [value for value in (0, one["mean"], one["low"], one["high"], *one["each"]) if value is not None]
    known += [one["margin"], -one["margin"]]
    spare = 0.04 * (max(known) - min(known)) or 0.01
    figure.update_xaxes(range=[scale * (min(known) - spare), scale * (max(known) + spare)], row=row, col=1)


def sides(differences: list[dict[str, Any]]) -> list[list[str]]:
    """Return the numbers of both sides of every difference, below :data:`HEAD`."""
    rows = []
    for one in differences:
        about = f"{one['of']}, {one['title']}"
        rows.append([about, "difference", _number(one["mean"], one), _interval(one, one)])
        rows += [[about, side["title"], _number(side["mean"], one), _interval(side, one)] for side in one["sides"]]
    return rows


def _scale(difference: dict[str, Any]) -> int:
    return 100 if difference["unit"] == "share" else 1


def _number(value: float | None, difference: dict[str, Any]) -> str:
    if value is None:
        return ""
    return f"{100 * value:.1f} %" if _scale(difference) > 1 else f"{value:.3f}"


def _interval(bounds: dict[str, Any], difference: dict[str, Any]) -> str:
    if bounds["low"] is None:
        return ""
    return f"{_number(bounds['low'], difference)} to {_number(bounds['high'], difference)}"
