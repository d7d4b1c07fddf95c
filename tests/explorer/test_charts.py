"""The colours of figures on the page: each is one of the page's own, and has its rule for light and dark."""

from __future__ import annotations

import re

import plotly.graph_objects as go

from explorer.page.charts import colour, sheet, styled
from trainers.pictures.palette import ARM_COLOURS, TOKENS


def test_every_colour_of_a_figure_follows_the_theme() -> None:
    figure = styled(go.Figure(go.Scatter(y=[0, 1], line={"color": colour(7)})), 200)
    drawn = set(re.findall(r"#[0-9a-f]{6}", figure.update_layout(template=None).to_json()))
    rules = dict(re.findall(r'stroke: rgb\((.*?)\)"\] \{ stroke: var\((.*?)\) !important', sheet()))
    assert drawn and {TOKENS[rules[", ".join(map(str, bytes.fromhex(each[1:])))]] for each in drawn} == drawn
    assert [TOKENS[f"--rs-arm-{number}"] for number in range(6)] == list(ARM_COLOURS)
