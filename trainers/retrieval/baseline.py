"""The numbers and curves of a run less those of a baseline on the same images."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trainers.kinds import arm_titles
from trainers.metrics.names import describe_any
from trainers.retrieval.same_images import shared_images
from trainers.runs.reader import RunReader
from trainers.runs.records import Scalar

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
