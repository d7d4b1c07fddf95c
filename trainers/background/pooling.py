"""Measurements of several runs together: of other seeds, and beside other runs on the same queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainers.background.queries import TITLES, WHOLE
from trainers.background.results import STAYS, BackgroundResult, interval_text, measure_title
from trainers.background.scores import METRICS
from trainers.errors import UserError
from trainers.metrics.bootstrap import Interval, bootstrap


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """One number of one arm over several runs.

    Attributes:
        interval: over the queries of all runs together; it says nothing of what another training would give.
        runs: the mean of each run, which does.
        change: how much more it is than in the other runs, query by query, and ``changes`` the same for each run;
            None and empty without others.
    """

    title: str
    form: str
    measure: str
    interval: Interval
    runs: tuple[float, ...]
    change: Interval | None = None
    changes: tuple[float, ...] = ()


def pooled(results: Sequence[BackgroundResult], others: Sequence[BackgroundResult] = ()) -> list[Pooled]:
    """Every number over several runs of the same arms, and its change from ``others``, run by run.

    Args:
        others: as many runs, each measured on the same queries as the one at its place; or none.

    Raises:
        UserError: the runs have other arms or forms, an arm could not be measured, or the queries differ.
    """
    _check(results, others)
    numbers = []
    for arm, about in enumerate(results[0].arms):
        for form in about.scores:
            for measure in (*METRICS, *(() if form == WHOLE else (STAYS,))):
                own = [result.values(arm, form, measure) for result in results]
                before = [other.values(arm, form, measure) for other in others]
                changes = [a - b for a, b in zip(own, before, strict=True)] if before else []
                numbers.append(
                    Pooled(
                        title=about.title,
                        form=form,
                        measure=measure,
                        interval=bootstrap(np.concatenate(own)),
                        runs=tuple(float(np.nanmean(values)) for values in own),
                        change=bootstrap(np.concatenate(changes)) if changes else None,
                        changes=tuple(float(np.nanmean(values)) for values in changes),
                    )
                )
    return numbers


def text(numbers: Sequence[Pooled]) -> str:
    """As lines for a terminal."""
    lines: list[str] = []
    titles: set[str] = set()
    for number in numbers:
        if number.title not in titles:
            titles.add(number.title)
            lines += ["", f"{number.title}, {len(number.runs)} runs"]
        words = f"{TITLES[number.form]}, {measure_title(number.measure)}"
        change = ""
        if number.change is not None:
            change = f"  change {interval_text(number.change)} ({_listed(number.changes)})"
        lines.append(f"  {words:<64} {interval_text(number.interval)} ({_listed(number.runs)}){change}")
    return "\n".join(lines)


def _check(results: Sequence[BackgroundResult], others: Sequence[BackgroundResult]) -> None:
    if others and len(others) != len(results):
        raise UserError(f"As many runs to compare with were needed; got {len(results)} and {len(others)}.")
    first = [(arm.title, tuple(arm.scores)) for arm in results[0].arms]
    for result in (*results, *others):
        for arm in result.arms:
            if arm.error is not None:
                raise UserError(f"{arm.title} of run {arm.run} could not be measured: {arm.error}")
        if [(arm.title, tuple(arm.scores)) for arm in result.arms] != first:
            raise UserError("These runs have other arms. Choose runs of the same losses on the same kind of images.")
    for result, other in zip(results, others, strict=False):
        if not np.array_equal(result.places, other.places) or not np.array_equal(result.labels, other.labels):
            raise UserError("The runs to compare with were measured on other queries. Choose runs on the same images.")


def _listed(values: Sequence[float]) -> str:
    return " ".join(f"{value:.3f}" for value in values)
