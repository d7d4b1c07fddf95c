"""A run beside a baseline on the same images: differences of numbers and curves; queries on which arms differ most."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.config import Config, DataChoice, SceneChoice
from trainers.errors import UserError
from trainers.kinds import arm_titles
from trainers.metrics.names import describe_any
from trainers.retrieval.probe_results import ArmMetrics, newest_embeddings, probe_of, query_metrics, roles_of
from trainers.runs.reader import RunReader
from trainers.runs.records import PARTS, Probe, Scalar

_NO_ROWS = ("image_size", "image_column", "label_columns")
"""Settings of a dataset that do not decide which image is in which row of a part of it."""


@dataclass(frozen=True, kw_only=True)
class SharedImages:
    """The images that two probes share.

    Attributes:
        rows: int64 ``[n]``, their rows in the part of the dataset that the maps show, ascending.
        first, second: int64 ``[n]``, their points in each probe.
        whole: both probes are these images and no other.
    """

    rows: np.ndarray
    first: np.ndarray
    second: np.ndarray
    whole: bool


def shared_images(first: RunReader, second: RunReader) -> SharedImages:
    """Return the images that the probes of two runs share, by their rows in the dataset.

    Runs are on the same images if the fingerprints of their datasets are equal. Where one is not stored, or the images
    were read at another size, the settings that decide which image is in which row must be equal, and the class names
    and labels too.

    Raises:
        UserError: they are not on the same images; the sentence says why.
        RunError: a run is damaged, or has no probe with labels.
    """
    probe, other = probe_of(first), probe_of(second)
    rows, a, b = np.intersect1d(probe.rows, other.rows, return_indices=True)
    reason = _difference(first, second, probe, other)
    if not reason and not len(rows):
        reason = "their maps show no image in common"
    if not reason and (probe.labels[a] != other.labels[b]).any():
        reason = "the same rows have other labels"
    if reason:
        raise UserError(f"The runs {first.id} and {second.id} are not on the same images: {reason}.")
    return SharedImages(rows=rows, first=a, second=b, whole=len(rows) == len(probe.rows) == len(other.rows))


def _difference(first: RunReader, second: RunReader, probe: Probe, other: Probe) -> str:
    """Say why the datasets are not the same; empty if they are."""
    if probe.part != other.part:
        return f"the maps of one show {PARTS[probe.part]}, and those of the other {PARTS[other.part]}"
    if probe.fingerprint and probe.fingerprint == other.fingerprint:
        return ""
    if probe.hierarchy != other.hierarchy:
        return f"their classes differ ({probe.data_title} and {other.data_title})"
    data, beside = _choice(first.config, probe.part), _choice(second.config, probe.part)
    if data.keys() != beside.keys():
        return "they read them in different ways"
    for name in sorted(data.keys() - set(_NO_ROWS)):
        if data[name] != beside[name]:
            return f"the setting {name} is {data[name]} in one and {beside[name]} in the other"
    if probe.fingerprint and other.fingerprint and data.get("image_size") == beside.get("image_size"):
        return "their dataset has changed between them"
    return ""


def _choice(config: Config, part: str) -> dict[str, Any]:
    """Return the settings that name the images of a part of a run's dataset, whatever its kind calls them."""
    chosen = [value for value in vars(config).values() if isinstance(value, (DataChoice, SceneChoice))]
    settings = {name: value for choice in chosen for name, value in vars(choice).items()}
    conditions = settings.pop("conditions", None)
    return settings | ({} if conditions is None else dataclasses.asdict(conditions.that_choose(part)))


Points = list[tuple[int, float]]
"""Step and value, by step."""


@dataclass(frozen=True, kw_only=True)
class BaselineDifferences:
    """The result of :func:`differences`.

    Attributes:
        pairs: for each arm the arm of the baseline that it is compared with.
        whole: the maps of both runs show the same images; else their numbers are of different ones, in part.
        curves: by arm and key, the differences at the steps of the run that lie within those of the baseline.
        numbers: by arm and key, the last value of the run less the last one of the baseline.
    """

    pairs: tuple[int, ...]
    whole: bool
    curves: Mapping[tuple[int, str], Points]
    numbers: Mapping[tuple[int, str], float]

    def at(self, arm: int, key: str, step: int) -> float | None:
        """Return the newest difference at or before a step; None: there is none."""
        before = [value for at, value in self.curves.get((arm, key), ()) if at <= step]
        return before[-1] if before else None


def differences(folder: RunReader, baseline: RunReader) -> BaselineDifferences:
    """Compare every number that both runs have.

    Raises:
        UserError: they are not on the same images.
        RunError: one is damaged.
    """
    shared = shared_images(folder, baseline)
    pairs = paired(arm_titles(folder.config), arm_titles(baseline.config))
    mine, others = _points(folder.scalars()), _points(baseline.scalars())
    both = [(curve, (pairs[curve[0]], curve[1])) for curve in mine if (pairs[curve[0]], curve[1]) in others]
    curves = {curve: subtracted(mine[curve], others[other]) for curve, other in both}
    return BaselineDifferences(
        pairs=pairs,
        whole=shared.whole,
        curves={(arm, key): points for (arm, key), points in curves.items() if points and describe_any(key).is_curve},
        numbers={curve: mine[curve][-1][1] - others[other][-1][1] for curve, other in both},
    )


def paired(titles: Sequence[str], others: Sequence[str]) -> tuple[int, ...]:
    """Return for each arm of a run an arm of the baseline: that of its title, else of its number, else the first."""
    numbers = {title: number for number, title in enumerate(others)}
    return tuple(numbers.get(title, number if number < len(others) else 0) for number, title in enumerate(titles))


def subtracted(points: Points, others: Points) -> Points:
    """Subtract another curve from a curve, at its own steps; between two steps of the other one on the line between
    them.

    Steps before the first and after the last of the other curve are left out.
    """
    steps, values = (np.array(column) for column in zip(*others, strict=True))
    inside = [(step, value) for step, value in points if steps[0] <= step <= steps[-1]]
    return [(step, value - float(np.interp(step, steps, values))) for step, value in inside]


def _points(scalars: Sequence[Scalar]) -> dict[tuple[int, str], Points]:
    curves: dict[tuple[int, str], Points] = defaultdict(list)
    for scalar in scalars:
        curves[scalar.arm, scalar.key].append((scalar.step, scalar.value))
    return {key: sorted(points) for key, points in curves.items()}


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """One query.

    Attributes:
        row: in the dataset; ``points``: in the probe of each run, the open one first.
        values: of the metric, one per arm; None where it is not defined.
        spread: the largest less the smallest.
    """

    row: int
    points: tuple[int, ...]
    values: tuple[float | None, ...]
    spread: float


@dataclass(frozen=True, kw_only=True)
class Disagreements:
    """Queries in the order of their spread, the widest first, then by row.

    Attributes:
        metric: name.
        arms: titles and runs of the arms that are compared, those of the baseline last.
        diverged: how many arms are left out, as their embeddings are not finite.
        queries: how many images are queries of every arm.
        differing: the queries whose spread is above 0.
    """

    metric: str
    arms: tuple[ArmMetrics, ...]
    diverged: int
    queries: int
    differing: tuple[Disagreement, ...]


def disagreements(
    folder: RunReader,
    k: int,
    metric: str = "AP",
    *,
    baseline: RunReader | None = None,
    baseline_k: int | None = None,
    arms: Sequence[int] | None = None,
    most: int | None = 100,
    among: Collection[int] | None = None,
) -> Disagreements:
    """Compare the arms of a run, and those of a baseline, query by query, on the images that both runs show.

    Args:
        k: frame.
        metric: any of :data:`trainers.metrics.METRICS`, numbers filled in.
        baseline: a run on the same images; ``baseline_k``: its frame, its newest one if not given.
        arms: places among the arms of the run and then of the baseline, without those that diverged; None: all.
        most: how many queries; None: all.
        among: points of the first run that are compared; None: all.

    Raises:
        UserError: the runs are not on the same images, a frame keeps no embeddings, or the metric is unknown.
    """
    probe = probe_of(folder)
    if baseline is None:
        rows, points = np.asarray(probe.rows), np.arange(len(probe.rows))[:, None]
        compared = query_metrics(folder, k, [metric])
    else:
        shared = shared_images(folder, baseline)
        rows, points = shared.rows, np.stack([shared.first, shared.second], axis=1)
        newest = newest_embeddings(baseline) if baseline_k is None else baseline_k
        compared = query_metrics(folder, k, [metric], shared.first)
        compared += query_metrics(baseline, newest, [metric], shared.second)
    trained = folder.config.arms + (0 if baseline is None else baseline.config.arms)
    diverged = trained - len(compared)
    compared = [compared[arm] for arm in (range(len(compared)) if arms is None else arms)]
    values = np.stack([arm_metrics.values[metric] for arm_metrics in compared], axis=1)
    roles = roles_of(probe)
    kept = np.ones(len(rows), bool) if roles is None else roles.query[points[:, 0]]
    if among is not None:
        kept &= np.isin(points[:, 0], list(among))
    values, rows, points = values[kept], rows[kept], points[kept]
    return Disagreements(
        metric=metric,
        arms=tuple(compared),
        diverged=diverged,
        queries=len(rows),
        differing=ordered(values, rows, points)[:most],
    )


def ordered(values: np.ndarray, rows: np.ndarray, points: np.ndarray) -> tuple[Disagreement, ...]:
    """Order the queries with a spread above 0, the widest first, equal ones by row.

    Args:
        values: float64 ``[Q, A]``, NaN where a query has nothing to find under any arm.
        rows: integers ``[Q]``, in the dataset; points: integers ``[Q, R]``, in the probes.
    """
    spread = values.max(axis=1) - values.min(axis=1)  # NaN of one arm is NaN of all: labels decide
    order = np.lexsort((rows, -spread))
    return tuple(
        Disagreement(
            row=int(rows[query]),
            points=tuple(points[query].tolist()),
            values=tuple(None if np.isnan(value) else float(value) for value in values[query]),
            spread=float(spread[query]),
        )
        for query in order
        if spread[query] > 0
    )
