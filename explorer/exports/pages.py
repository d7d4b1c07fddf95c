"""A run as web pages of one file each: no server, no network, everything inside."""

from __future__ import annotations

import html
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from explorer.exports import figures
from explorer.exports.palette import palette
from explorer.exports.tables import decoded, stored_frames
from explorer.layout.plan import thin
from explorer.server.library import Library, Run
from explorer.titles import arm_titles, run_title, summary
from trainers.errors import RunError
from trainers.kinds.metric_learning.evaluation import LEFT_OUT
from trainers.metrics.counts import is_count, whole_test
from trainers.runs.records import Frame, Probe, Scalar

MOST_FRAMES = 30
_HEADINGS = {
    "loss": "Loss",
    "R_at_1": "Recall@1",
    "AP_at_R": "mAP@R",
    "HAP": "H-AP",
    "NDCG": "NDCG",
    "ASI": "ASI",
    "train_R_at_1": "Recall@1 on training images",
    "images_per_s": "Images per second",
    "clipped_share": "Share of steps clipped",
    "ODmAP_at_1": "ODmAP@1",
    "rerendered_ODmAP_at_1": "ODmAP@1, drawn again",
    "hallucination_at_1": "Names what is gone @1",
    "i2t_R_at_1": "Photo to sentence R@1",
    "i2t_R_at_5": "Photo to sentence R@5",
    "t2i_R_at_1": "Sentence to photo R@1",
    "distinct_top1": "Different first answers",
}
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
    """The maps of all arms side by side as they moved, at most 30 frames.

    Raises:
        RunError: the run has no maps yet.
    """
    stored = run.folder.frames()
    frames = list(stored_frames(library, run, thin(stored, MOST_FRAMES)))
    if run.probe is None or not frames:
        raise RunError(f"The run {run.id} has no maps yet; download the replay after the first one is drawn.")
    figure = figures.replay(_series(run, run.probe, frames))
    path.write_text(_page(run, figure, _caption(run, run.probe, frames, len(stored))), encoding="utf-8")


def write_curves(run: Run, path: Path) -> None:
    """Every measure over the steps, and the final numbers where the run is finished."""
    scalars = run.folder.scalars()
    panels = curve_panels(scalars, run.config.arms, run.probe)
    titles = arm_titles(run.config)
    body = _final_table(scalars, titles) + _floor(scalars)
    path.write_text(_page(run, figures.curves(panels, titles), body), encoding="utf-8")


def curve_panels(
    scalars: Sequence[Scalar], arms: int, probe: Probe | None
) -> dict[str, list[tuple[list[int], list[float]]]]:
    """Heading to steps and values of each arm; the usual measures first, single numbers left out."""
    series: dict[str, list[tuple[list[int], list[float]]]] = defaultdict(lambda: [([], []) for _ in range(arms)])
    for scalar in scalars:
        curve = not is_count(scalar.key) and not scalar.key.startswith(("test/", "floor_"))
        if curve and math.isfinite(scalar.value):
            steps, values = series[scalar.key][scalar.arm]
            steps.append(scalar.step)
            values.append(scalar.value)
    usual = list(_HEADINGS)
    keys = sorted(series, key=lambda key: (usual.index(key) if key in usual else len(usual), key))
    return {heading(key, probe): series[key] for key in keys}


def heading(key: str, probe: Probe | None) -> str:
    """A measure's key in words."""
    if key in _HEADINGS:
        return _HEADINGS[key]
    kind, _, rest = key.partition("/")
    if kind == "term":
        return f"Loss part: {rest}"
    level = key.removeprefix("AP_level")
    if level != key and level.isdecimal() and probe is not None and int(level) < probe.hierarchy.depth:
        return f"AP, {probe.hierarchy.levels[int(level)]}"
    return key


def _series(run: Run, probe: Probe, frames: Sequence[Frame]) -> figures.MapSeries:
    arms = range(len(frames[0].arms))
    return figures.MapSeries(
        titles=arm_titles(run.config),
        steps=[frame.step for frame in frames],
        xy=np.stack([np.stack([decoded(frame, arm) for arm in arms]) for frame in frames]),
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
    share = (
        f" Of each image's 15 nearest neighbours, {', '.join(kept)} are still near at the last step." if kept else ""
    )
    return (
        f"<p>A two-dimensional map loses most neighbours.{share} Distances between far groups mean little; the numbers "
        f"of this run come from the full space.</p>"
        f"<p class='quiet'>{len(frames)} of {stored} maps are shown. Colour: one hue per {family}, lightness by "
        f"{levels[0]}.</p>"
    )


def _final_table(scalars: Sequence[Scalar], titles: Sequence[str]) -> str:
    final = {(s.arm, s.key.removeprefix("test/")): s.value for s in scalars if s.key.startswith("test/")}
    if not final:
        return "<p class='quiet'>The run has no final test yet.</p>"
    keys = sorted({key for _, key in final if not is_count(key)} | ({LEFT_OUT} & {key for _, key in final}))
    head = "".join(f"<th>{html.escape(heading(key, None))}</th>" for key in keys)
    rows = [
        "".join(f"<td>{_figure(key, final[arm, key])}</td>" if (arm, key) in final else "<td></td>" for key in keys)
        for arm in range(len(titles))
    ]
    body = "".join(f"<tr><th>{html.escape(t)}</th>{row}</tr>" for t, row in zip(titles, rows, strict=True))
    scored = whole_test({key: value for (arm, key), value in final.items() if arm == 0})
    return f"<p>At the end, {scored}:</p><table><tr><th></th>{head}</tr>{body}</table>"


def _figure(key: str, value: float) -> str:
    return f"{value:,.0f}" if is_count(key) else f"{value:.4f}"


def _floor(scalars: Sequence[Scalar]) -> str:
    floor = next((scalar.value for scalar in scalars if scalar.key == "floor_R_at_1"), None)
    return (
        "" if floor is None else f"<p class='quiet'>Recall@1 of the bare pixels, without any training: {floor:.3f}.</p>"
    )


def _page(run: Run, figure: go.Figure, body: str) -> str:
    """The whole page; plotly's own code is inside, so it opens without a network."""
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
