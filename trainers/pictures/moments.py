"""The maps of a run over its steps, with what is written beside them, read for drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainers.errors import RunError
from trainers.kinds import arm_titles, kind_of
from trainers.metrics.measures import Measures
from trainers.pictures.map_drawing import MapDrawing, Moment
from trainers.retrieval.probe_results import newest_embeddings, probe_embeddings, probe_of
from trainers.runs.maps import unpack
from trainers.runs.reader import RunReader
from trainers.runs.records import Scalar

MOST = 400
"""Maps of a film; of more, as many are read, evenly apart."""


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Maps over time: F of them, of A losses and P images.

    Attributes:
        xy: float32 ``[F, A, P, 2]``, within -1 .. 1.
        steps: of each.
        numbers: for each moment a line a loss.
        labels: integers ``[P, L]``, finest first.
    """

    titles: Sequence[str]
    heading: str
    xy: np.ndarray
    steps: Sequence[int]
    numbers: Sequence[Sequence[str]]
    labels: np.ndarray

    def drawing(self, width: int, height: int) -> MapDrawing:
        """Return what draws them at a size in pixels."""
        return MapDrawing(self.titles, self.heading, self.labels, width, height)

    def drawn(self, width: int, height: int) -> np.ndarray:
        """Draw the last one: uint8 RGB ``[height, width, 3]``."""
        words = f"step {self.steps[-1]:,} · {len(self.labels):,} images"
        return self.drawing(width, height).draw(Moment(xy=self.xy[-1], words=words, numbers=self.numbers[-1]))


def moments_of(folder: RunReader, most: int = MOST, *, components: bool = False) -> Moments:
    """Read the maps of a run, the last ``most`` of them being spread over all.

    Args:
        components: of a run without maps, the first two principal components of its last embeddings are drawn.

    Raises:
        UserError: it is a plan of several runs.
        RunError: it has no maps yet.
    """
    probe, ks = probe_of(folder), folder.frames()
    config = folder.config
    measures = kind_of(config).measures_of(config)
    if ks:
        chosen = sorted({ks[at] for at in np.linspace(len(ks) - 1, 0, min(most, len(ks))).round().astype(int)})
        frames = [folder.frame(k) for k in chosen]
        xy = [[unpack(arm.xy, frame.limit) for arm in frame.arms] for frame in frames]
        steps, how = [frame.step for frame in frames], frames[-1].arms[0].method.upper()
    elif components:
        k = newest_embeddings(folder)
        xy = [[_components(arm, len(probe.labels)) for arm in probe_embeddings(folder, k)]]
        steps, how = [step for at, step, _ in folder.snapshots() if at == k], "first two principal components"
    else:
        raise RunError(f"The run {folder.id} has no maps yet; the page draws them while it is open.")
    return Moments(
        titles=arm_titles(config),
        heading=f"{probe.data_title} · {how}",
        xy=_fitted(np.asarray(xy, np.float32)),
        steps=steps,
        numbers=_lines(folder.scalars(), steps, config.arms, measures),
        labels=np.asarray(probe.labels),
    )


def _components(embeddings: np.ndarray | None, images: int) -> np.ndarray:
    """Project on the first two principal components; of a loss that diverged, no point is anywhere."""
    if embeddings is None:
        return np.full((images, 2), np.nan, np.float32)
    centred = embeddings - embeddings.mean(0)
    found: np.ndarray = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    return found


def _fitted(xy: np.ndarray) -> np.ndarray:
    """Move every loss's maps to the middle of the box -1 .. 1, and scale all by the same."""
    low, high = np.nanmin(xy, axis=(0, 2), keepdims=True), np.nanmax(xy, axis=(0, 2), keepdims=True)
    half = float(np.nanmax(high - low)) / 2
    fitted: np.ndarray = (xy - (low + high) / 2) / (half * 1.05 or 1.0)
    return fitted


def _lines(scalars: Sequence[Scalar], steps: Sequence[int], arms: int, measures: Measures) -> list[list[str]]:
    """Write the newest headline numbers of every loss at each of some steps, which ascend."""
    rows = sorted((scalar for scalar in scalars if scalar.key in measures.headline), key=lambda scalar: scalar.step)
    titles = {key: measures.describe(key).short for key in measures.headline}
    newest: dict[tuple[int, str], float] = {}
    lines, at = [], 0
    for step in steps:
        while at < len(rows) and rows[at].step <= step:
            newest[rows[at].arm, rows[at].key] = rows[at].value
            at += 1
        known = [[(title, newest.get((arm, key))) for key, title in titles.items()] for arm in range(arms)]
        lines.append(["   ".join(f"{title} {value:.3f}" for title, value in arm if value is not None) for arm in known])
    return lines
