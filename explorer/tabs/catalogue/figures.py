"""The figures of entries, and their numbers: what a loss does while an image moves, what metrics say of mistakes."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explorer.page.charts import SOFT, colour, styled
from explorer.tabs.catalogue.responses import Response, response
from trainers.losses import LOSSES
from trainers.metrics import METRICS, controlled_errors

ACROSS = "cosine with the query"
PUSH = "Push: above 0 the moving image is pushed away from the query, below 0 it is pulled."
PANELS = {"loss": "loss", "push": "push"}
_READ = (0.0, 0.25, 0.5, 0.75, 0.99)
"""Cosines of the table."""

_RANKS = range(1, controlled_errors.RANKS + 1)

Table = tuple[list[str], list[list[str | float]]]
"""Headings and rows."""


def moving(names: Sequence[str]) -> go.Figure:
    """Draw loss and push of one or two losses while an image comes nearer to the query; two share their axes."""
    answers = [response(name) for name in names]
    titles = [LOSSES[name].title for name in names]
    cells = [(which, at) for which in range(len(PANELS)) for at in range(len(names))]
    headings = [f"{titles[at]}: {list(PANELS.values())[which]}" for which, at in cells]
    figure = make_subplots(
        rows=len(PANELS),
        cols=len(names),
        subplot_titles=headings,
        shared_yaxes="rows",
        horizontal_spacing=0.09,
        vertical_spacing=0.2,
    )
    for which, at in cells:
        _lines(figure, answers[at], list(PANELS)[which], {"row": which + 1, "col": at + 1}, legend=at == which == 0)
    figure.update_xaxes(title_text=ACROSS, title_font_size=11, row=len(PANELS))
    figure.update_annotations(font_size=13)
    return styled(figure, 560, legend_y=-0.16)


def _lines(figure: go.Figure, answer: Response, panel: str, place: dict[str, int], legend: bool) -> None:
    for number, move in enumerate(answer.moves):
        line = go.Scatter(
            x=answer.cosines,
            y=getattr(move, panel),
            name=move.title,
            legendgroup=move.title,
            showlegend=legend,
            line={"color": colour(number), "width": 2},
        )
        figure.add_trace(line, **place)
    for mark in answer.marks:
        figure.add_vline(mark, line={"color": SOFT, "width": 1, "dash": "dot"}, **place)


def moving_table(names: Sequence[str]) -> Table:
    """Return the numbers behind :func:`moving` at five cosines."""
    rows: list[list[str | float]] = []
    for name in names:
        answer = response(name)
        at = [min(range(len(answer.cosines)), key=lambda i: abs(answer.cosines[i] - read)) for read in _READ]
        for move in answer.moves:
            for panel, words in PANELS.items():
                rows.append([LOSSES[name].title, move.title, words, *(getattr(move, panel)[i] for i in at)])
    return ["loss of", "moving image", "number", *(f"at {read:g}" for read in _READ)], rows


def mistakes(name: str) -> go.Figure | None:
    """Draw what a metric says of a ranking with one mistake, by its rank and severity; None for other metrics."""
    if name not in controlled_errors.METRICS:
        return None
    figure = go.Figure()
    for number, (words, values) in enumerate(_of_one_mistake(name).items()):
        figure.add_scatter(
            x=list(_RANKS),
            y=values,
            name=f"mistake: {words}",
            mode="lines+markers",
            line={"color": colour(number), "width": 2},
        )
    figure.update_xaxes(title_text="rank of the one mistake in a perfect ranking", title_font_size=11)
    figure.update_yaxes(title_text=METRICS[name].title)
    return styled(figure, 300, title={"text": "Controlled errors", "font_size": 14})


def mistakes_table(name: str) -> Table:
    """Return the numbers behind :func:`mistakes`."""
    rows: list[list[str | float]] = [
        [words, *(round(value, 4) for value in values)] for words, values in _of_one_mistake(name).items()
    ]
    return ["mistake", *(f"rank {rank}" for rank in _RANKS)], rows


def _of_one_mistake(name: str) -> dict[str, list[float]]:
    """Return the values of a metric at every rank of one mistake, by the words of its severity."""
    levels, column = controlled_errors.LEVELS, controlled_errors.METRICS.index(name)
    words = controlled_errors.words_of(levels)
    values: dict[str, list[float]] = {words[shared]: [] for shared in range(len(levels))}
    for case in controlled_errors.cases(len(levels)):  # by rank within each severity
        if case.mistakes == 1:
            values[words[case.shared]].append(case.values[column])
    return values
