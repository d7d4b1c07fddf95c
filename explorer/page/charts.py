"""What all figures of the page share. They are drawn in colours of the light page, which a sheet of styles replaces by
the tokens that have them, so that they follow light and dark.
"""

from __future__ import annotations

import functools
from typing import Any

import plotly.graph_objects as go

from explorer.exports.figures import FONT
from trainers.pictures.palette import ARM_COLOURS, TOKENS

INK, SOFT, LINE, UNDER = (TOKENS[f"--rs-{name}"] for name in ("text", "soft", "line", "surface"))
"""Of text, of what is less important, of grids, and below what is pointed at."""


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
        hoverlabel={"bgcolor": UNDER, "font": {"color": INK}},
        dragmode=False,
    )
    figure.update_layout(**layout)
    figure.update_xaxes(gridcolor=LINE, zerolinecolor=LINE, linecolor=LINE, title_font_color=SOFT)
    figure.update_yaxes(gridcolor=LINE, zerolinecolor=LINE, linecolor=LINE, title_font_color=SOFT)
    return figure


@functools.cache
def sheet() -> str:
    """Return the styles by which figures follow light and dark: Plotly itself takes no tokens."""
    rules = []
    for light, name in {light: name for name, light in reversed(TOKENS.items())}.items():  # the first that has it
        drawn = f"rgb({', '.join(str(part) for part in bytes.fromhex(light[1:]))})"
        rules += [
            f'.rs-chart [style*="{what}: {drawn}"] {{ {what}: var({name}) !important; }}' for what in ("fill", "stroke")
        ]
    return "\n".join(rules)
