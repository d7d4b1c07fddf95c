"""A run as self-contained web pages of one file each, which need no server and no network."""

from __future__ import annotations

import html
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from explorer.exports import figures
from explorer.exports.tables import stored_frames
from explorer.layout.snapshots import thin
from explorer.server import maps
from explorer.server.library import Library
from explorer.server.run import Run
from explorer.server.titles import run_title, summary
from trainers.errors import RunError
from trainers.kinds import arm_titles, kind_of
from trainers.metrics import counts, describe
from trainers.metrics.catalogue import maps as numbers
from trainers.metrics.measures import TEST, Measures, final_numbers
from trainers.metrics.names import Described
from trainers.pictures.palette import palette
from trainers.retrieval.untrained.words import TITLE, scored_on
from trainers.runs.maps import unpack
from trainers.runs.records import STAGE, Frame, Probe, Scalar
from trainers.runs.untrained import UntrainedRow

MOST_FRAMES = 30
_STYLE = """
body { margin: 0; color: #17181c; background: #fff; font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', sans-serif; }
main { max-width: 1400px; margin: 0 auto; padding: 24px; }
h1 { font-size: 22px; margin: 0; } p { max-width: 90ch; margin: 8px 0; } .quiet { color: #5a5c66; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0; }
th, td { text-align: right; padding: 4px 16px 4px 0; border-bottom: 1px solid #e2e3e8; }
th:first-child { text-align: left; }
.wide { overflow-x: auto; } .wide > div { min-width: 760px; }
"""


def write_replay(library: Library, run: Run, path: Path) -> None:
    """Write the maps of all arms side by side as they moved, at most 30 frames.

    Raises:
        RunError: the run has no maps yet.
    """
    stored = [k for k, *_ in maps.frames(run.folder)]
    frames = list(stored_frames(library, run, thin(stored, MOST_FRAMES)))
    if run.probe is None or not frames:
        raise RunError(f"The run {run.id} has no maps yet; download the replay after the first one is drawn.")
    figure = figures.replay(_series(run, run.probe, frames))
    path.write_text(_page(run, figure, _caption(run, run.probe, frames, len(stored))), encoding="utf-8")


def write_curves(run: Run, path: Path) -> None:
    """Write every number over the steps, and the final numbers where the run is finished."""
    scalars, titles = [*run.folder.scalars(), *maps.scalars(run.folder)], arm_titles(run.config)
    measures = kind_of(run.config).measures_of(run.config)
    levels = () if run.probe is None else tuple(run.probe.hierarchy.levels)
    panels = curve_panels(scalars, len(titles), measures, levels)
    record = run.folder.untrained()
    rows = () if record is None else record.rows
    body = _final_table(scalars, titles, measures, levels, rows) + _floor(scalars, measures)
    if rows and record is not None:
        body += f"<p class='quiet'>Grey: {TITLE.lower()}, on {scored_on(record)}.</p>"
    figure = figures.curves(panels, titles)
    for step, title in _stages(scalars)[1:]:
        figure.add_vline(x=step, line_dash="dot", line_width=1)
        body += f"<p class='quiet'>Dotted line: {html.escape(title)} from step {step:,}.</p>"
    path.write_text(_page(run, figure, body), encoding="utf-8")


def curve_panels(
    scalars: Sequence[Scalar], arms: int, measures: Measures, levels: tuple[str, ...] = ()
) -> dict[str, list[tuple[list[int], list[float]]]]:
    """Map headings to steps and values of each arm, in the order of the page; numbers without a curve are left out."""
    series: dict[str, list[tuple[list[int], list[float]]]] = defaultdict(lambda: [([], []) for _ in range(arms)])
    for scalar in scalars:
        if measures.describe(scalar.key).is_curve and math.isfinite(scalar.value):
            steps, values = series[scalar.key][scalar.arm]
            steps.append(scalar.step)
            values.append(scalar.value)
    return {measures.describe(key, levels).title: series[key] for key in sorted(series, key=measures.order)}


def _stages(scalars: Sequence[Scalar]) -> list[tuple[int, str]]:
    """Step and title of each stage that has begun, in order; empty for a run of one stage."""
    return sorted({(begun.step, begun.key.removeprefix(STAGE)) for begun in scalars if begun.key.startswith(STAGE)})


def _series(run: Run, probe: Probe, frames: Sequence[Frame]) -> figures.MapSeries:
    return figures.MapSeries(
        titles=arm_titles(run.config),
        steps=[frame.step for frame in frames],
        xy=np.stack([[unpack(arm.xy, frame.limit) for arm in frame.arms] for frame in frames]),
        labels=probe.labels,
        names=probe.hierarchy.names,
    )


def _caption(run: Run, probe: Probe, frames: Sequence[Frame], stored: int) -> str:
    levels = [html.escape(level) for level in probe.hierarchy.levels]
    family = levels[palette(probe.labels).level]
    kept = [
        f"{arm.quality:.0%} on the map of {html.escape(title)}"
        for title, arm in zip(arm_titles(run.config), frames[-1].arms, strict=True)
        if arm.quality is not None and math.isfinite(arm.quality)
    ]
    sampled = any(numbers.RECALL in arm.measures for arm in frames[-1].arms)
    estimated = ", estimated on a sample" if sampled else ""
    share = (
        f" Of each image's 15 nearest neighbours, {', '.join(kept)} are still near at the last step{estimated}."
        if kept
        else ""
    )
    return (
        f"<p>A two-dimensional map keeps only some of the nearest neighbours.{share}"
        " Distances between far groups mean little; the numbers "
        f"of this run come from the full space.</p>{_label_table(run, frames[-1], probe.hierarchy.levels)}"
        f"<p class='quiet'>{len(frames)} of {stored} maps are shown. Colour: one hue per {family}, lightness by "
        f"{levels[0]}.</p>"
    )


def _label_table(run: Run, frame: Frame, levels: Sequence[str]) -> str:
    """Label trustworthiness and continuity of the last maps, and what they say; nothing where they are not known."""
    titles, keys = arm_titles(run.config), (numbers.TRUSTWORTHINESS, numbers.CONTINUITY)
    rows, said = [], []
    for title, arm in zip(titles, frame.arms, strict=True):
        for level, name in enumerate(levels):
            values = [arm.measures.get(numbers.at_level(key, level)) for key in keys]
            if None not in values:
                cells = "".join(f"<td>{value:.2f}</td>" for value in values)
                rows.append(f"<tr><th>{html.escape(f'{title}, {name}')}</th>{cells}</tr>")
            said += [f"{title}: {sentence}" for sentence in maps.remarks(arm.measures, level, name)]
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(describe(key).title)}</th>" for key in keys)
    words = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in said)
    return f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>{words}"


def _final_table(
    scalars: Sequence[Scalar],
    titles: Sequence[str],
    measures: Measures,
    levels: tuple[str, ...],
    untrained: Sequence[UntrainedRow],
) -> str:
    """Write the numbers over the whole test set, a row a loss, and below them the rows without training."""
    finals = final_numbers(scalars, len(titles))
    described = {key: measures.describe(key, levels) for final in finals for key in final}
    if not described:
        return "<p class='quiet'>The run has no final test yet.</p>"
    keys = [key for key in described if described[key].measure.family != "count" or key == counts.LEFT_OUT]
    keys.sort(key=measures.order)
    head = "".join(f"<th>{html.escape(described[key].title)}</th>" for key in keys)
    rows = [
        "".join(f"<td>{_figure(described[key], final[key])}</td>" if key in final else "<td></td>" for key in keys)
        for final in finals
    ]
    body = "".join(f"<tr><th>{html.escape(t)}</th>{row}</tr>" for t, row in zip(titles, rows, strict=True))
    body += "".join(
        f"<tr class='quiet'><th>{html.escape(row.title)}</th>{_untrained_cells(row, keys, described)}</tr>"
        for row in untrained
    )
    return f"<p>At the end, {measures.scored(finals[0])}:</p><table><tr><th></th>{head}</tr>{body}</table>"


def _untrained_cells(row: UntrainedRow, keys: Sequence[str], described: Mapping[str, Described]) -> str:
    values = {key: row.numbers.get(f"{TEST}{key}") for key in keys}
    return "".join(
        "<td></td>" if value is None else f"<td>{_figure(described[key], value)}</td>" for key, value in values.items()
    )


def _figure(number: Described, value: float) -> str:
    return f"{value:,.0f}" if number.measure.unit == "count" else f"{value:.4f}"


def _floor(scalars: Sequence[Scalar], measures: Measures) -> str:
    """Write the numbers measured before any training, as sentences."""
    floor = {scalar.key: scalar.value for scalar in scalars if scalar.key.startswith("floor_")}
    return "".join(
        f"<p class='quiet'>{html.escape(measures.describe(key).title)}: {value:.3f}.</p>"
        for key, value in floor.items()
    )


def _page(run: Run, figure: go.Figure, body: str) -> str:
    """Write the whole page; plotly's own code is inside, so it opens without a network."""
    title = html.escape(run_title(run))
    plain = {"displayModeBar": False, "scrollZoom": True, "responsive": True}
    drawing = figure.to_html(include_plotlyjs=True, full_html=False, auto_play=False, config=plain)
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width, initial-scale=1'><title>{title}</title>"
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>"
        f"<p class='quiet'>{html.escape(summary(run))}. Run {run.id}.</p>"
        f"<div class='wide'><div>{drawing}</div></div>{body}</main></body></html>"
    )
