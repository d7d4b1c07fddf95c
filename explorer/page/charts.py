"""What all figures of the page share. Colours are those of the light page: a style turns them in dark mode."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from explorer.exports.figures import FONT
from trainers.pictures.palette import ARM_COLOURS

INK, SOFT, LINE = "#16181f", "#565b6b", "#e2e4ec"
"""Of text, of what is less important, and of grids."""


def colour(number: int) -> str:
    """Return the colour of an arm or a line."""
    return ARM_COLOURS[number % len(ARM_COLOURS)]


def styled(figure: go.Figure, height: int, **layout: Any) -> go.Figure:
    """Give a figure the type and the lines of the page; its background is that of the page."""
    figure.update_layout(
        template="plotly_white",
        height=height,
        font={"family": FONT, "size": 12, "color": INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 48, "r": 8, "t": 44, "b": 40},
        legend={"orientation": "h", "y": -0.28, "x": 0},
        hoverlabel={"bgcolor": "#ffffff", "font": {"color": INK}},
        dragmode=False,
    )
    figure.update_layout(**layout)
    figure.update_xaxes(gridcolor=LINE, zerolinecolor=LINE, linecolor=LINE, title_font_color=SOFT)
    figure.update_yaxes(gridcolor=LINE, zerolinecolor=LINE, linecolor=LINE, title_font_color=SOFT)
    return figure
