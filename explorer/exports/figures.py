"""Plotly figures from numbers; nothing here reads a file or renders a page."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from trainers.pictures.palette import ARM_COLOURS, Palette, palette

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


@dataclass(frozen=True, kw_only=True)
class MapSeries:
    """The maps of all arms over time.

    Attributes:
        titles: one per arm.
        steps: training step of each frame, F of them.
        xy: float32 ``[F, A, P, 2]``.
        labels: integers ``[P, L]``, finest first.
        names: for each level the class names.
    """

    titles: Sequence[str]
    steps: Sequence[int]
    xy: np.ndarray
    labels: np.ndarray
    names: Sequence[Sequence[str]]


def replay(series: MapSeries) -> go.Figure:
    """Draw the maps of all arms side by side, with a slider over the steps; coloured by the hierarchy.

    Names come from data: they are escaped here, because plotly reads a few HTML tags in texts.
    """
    figure = make_subplots(
        rows=1, cols=len(series.titles), subplot_titles=[html.escape(t) for t in series.titles], horizontal_spacing=0.03
    )
    colours = palette(series.labels)
    groups = _groups(series, colours)
    for arm in range(len(series.titles)):
        for name, rows in groups:
            figure.add_trace(_points(series, arm, rows, name, colours.colours), row=1, col=arm + 1)
    figure.frames = [_frame(series, f, groups) for f in range(len(series.steps))]
    # one box for all arms and frames, so that sizes compare
    half = max(float(np.abs(series.xy).max()) * 1.06, 1e-6)
    box = [-half, half]
    figure.update_xaxes(range=box, visible=False, constrain="domain")
    figure.update_yaxes(range=box, visible=False, constrain="domain")
    for arm in range(len(series.titles)):
        figure.update_yaxes(scaleanchor=f"x{arm + 1 if arm else ''}", row=1, col=arm + 1)
    figure.update_layout(
        font_family=FONT, template="plotly_white", height=680, margin={"t": 40, "b": 90, "l": 10, "r": 10},
        legend={"itemsizing": "constant"}, dragmode="pan",
        updatemenus=[_buttons()], sliders=[_slider(series.steps)],
    )  # fmt: skip
    return figure


def curves(panels: Mapping[str, Sequence[tuple[Sequence[float], Sequence[float]]]], titles: Sequence[str]) -> go.Figure:
    """Draw one panel per measure, one line per arm.

    Args:
        panels: heading to, for each arm, steps and values (empty where the arm has none).
        titles: one per arm.
    """
    columns = min(3, max(len(panels), 1))
    rows = max(-(-len(panels) // columns), 1)
    figure = make_subplots(
        rows=rows, cols=columns, subplot_titles=[html.escape(h) for h in panels], vertical_spacing=0.35 / rows
    )
    shown: set[int] = set()
    for index, arms in enumerate(panels.values()):
        for arm, (steps, values) in enumerate(arms):
            if not len(steps):
                continue
            line = {"color": ARM_COLOURS[arm], "width": 2}
            mode = "lines" if len(steps) > 1 else "markers"
            name, group = html.escape(titles[arm]), str(arm)
            trace = go.Scatter(x=list(steps), y=list(values), mode=mode, line=line, name=name, legendgroup=group)
            trace.showlegend = arm not in shown
            shown.add(arm)
            figure.add_trace(trace, row=index // columns + 1, col=index % columns + 1)
    figure.update_xaxes(title_text="step", title_font_size=11)
    figure.update_layout(
        font_family=FONT, template="plotly_white", height=90 + 260 * rows, margin={"t": 60, "b": 50, "l": 50, "r": 20},
        legend={"orientation": "h", "y": 1.0, "yref": "container", "yanchor": "top"},
    )  # fmt: skip
    return figure


def _groups(series: MapSeries, colours: Palette) -> list[tuple[str, np.ndarray]]:
    """Return rows of each coloured family, the ones with most points first; the rest share one entry."""
    family = series.labels[:, colours.level]
    names = series.names[colours.level]
    groups = [(names[c], np.flatnonzero(family == c)) for c in colours.families]
    others = np.flatnonzero(~np.isin(family, colours.families))
    if len(others):
        groups.append((f"{len(np.unique(family[others]))} others", others))
    return groups


def _points(series: MapSeries, arm: int, rows: np.ndarray, name: str, colours: Mapping[int, str]) -> go.Scattergl:
    texts = [
        html.escape(" / ".join(names[label] for names, label in zip(series.names, series.labels[row], strict=True)))
        for row in rows.tolist()
    ]
    last = series.xy[-1, arm, rows]
    return go.Scattergl(
        x=last[:, 0], y=last[:, 1], mode="markers", name=html.escape(name), legendgroup=name, showlegend=arm == 0,
        text=texts, customdata=rows, hovertemplate="%{text}<br>image %{customdata}<extra></extra>",
        marker={"size": 5, "opacity": 0.8, "color": [colours[label] for label in series.labels[rows, 0].tolist()]},
    )  # fmt: skip


def _frame(series: MapSeries, f: int, groups: list[tuple[str, np.ndarray]]) -> go.Frame:
    data = [
        go.Scattergl(x=series.xy[f, arm, rows, 0], y=series.xy[f, arm, rows, 1])
        for arm in range(len(series.titles))
        for _, rows in groups
    ]
    return go.Frame(data=data, name=str(f), traces=list(range(len(data))))


def _buttons() -> dict[str, object]:
    play = {"frame": {"duration": 500, "redraw": True}, "transition": {"duration": 0}, "fromcurrent": False}
    stop = {"frame": {"duration": 0, "redraw": False}, "mode": "immediate"}
    buttons = [
        {"label": "Play", "method": "animate", "args": [None, play]},
        {"label": "Stop", "method": "animate", "args": [[None], stop]},
    ]
    return {"type": "buttons", "direction": "left", "buttons": buttons, "x": 0, "y": -0.02, "yanchor": "top",
            "xanchor": "left", "showactive": False}  # fmt: skip


def _slider(steps: Sequence[int]) -> dict[str, object]:
    at_once = {"frame": {"duration": 0, "redraw": True}, "mode": "immediate", "transition": {"duration": 0}}
    marks = [{"label": str(step), "method": "animate", "args": [[str(f)], at_once]} for f, step in enumerate(steps)]
    return {"steps": marks, "active": len(marks) - 1, "currentvalue": {"prefix": "step "}, "x": 0.18, "len": 0.82,
            "y": -0.02, "yanchor": "top"}  # fmt: skip
