"""The section "Mistakes": how bad results are, how it moved, by class, confusions, and where arms differ."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from explorer.server.library import Library
from explorer.server.run import Run
from explorer.tabs.retrieve import mistake_bodies as bodies
from explorer.tabs.retrieve.mistake_classes import class_row, listed_classes, placed, plain
from explorer.tabs.retrieve.mistake_frames import Frame, frame_at, read_frame
from trainers.cells import finite_number
from trainers.data.lru_cache import Cache
from trainers.errors import UserError
from trainers.hierarchy import severity_words
from trainers.kinds import arm_titles, kind_of
from trainers.metrics import METRICS, describe
from trainers.metrics.names import describe_any, key_of
from trainers.retrieval.baseline import BaselineDifferences, differences, disagreements, shared_images
from trainers.retrieval.mistakes import Mistakes, MistakesOverTraining, Moments
from trainers.retrieval.probe_results import METRICS as USUAL
from trainers.retrieval.probe_results import probe_of
from trainers.runs.damage import reading
from trainers.runs.records import Probe

_KEPT = 64
_RANGE = re.compile(r"[0-9]{1,7}(-[0-9]{1,7})?", re.ASCII)
MOST_POINTS = 100_000
"""Points of a selection; the maps show fewer."""
_SERIES = 32
_DIVERGED = "Its training diverged: its embeddings at step {:,} are not numbers, so it has no results."
Reply = dict[str, Any]


class MistakeAnswers:
    """Answers the section's requests; what was computed is kept by run, frame and number of results.

    Args:
        library: the runs.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._frames: Cache[Frame] = Cache(limit=library.room, cost=lambda frame: sum(ids.nbytes for ids in frame.ids))
        self._queries: Cache[Reply] = Cache(limit=_KEPT)
        self._series: Cache[MistakesOverTraining] = Cache(limit=_SERIES)

    def start(self) -> list[Reply]:
        """List the metrics by which queries can be compared; one of them is the usual one."""
        usual = bodies.USUAL_METRIC
        return [{"name": name, "title": describe(name).title, "usual": name == usual} for name in _metrics()]

    def severity(self, asked: bodies.Mistakes) -> Reply:
        """Return the shares of the results by severity and the costliest confusions of every arm.

        ``point`` of a query is its row on the maps of ``home``; None: these do not show it, but the ``part`` of the
        dataset has it at ``row``; where the runs are on other images ``apart`` says so, and a query can be searched in
        its own run alone. Arms without results at this step are among the ``diverged``.

        Raises:
            UserError: there is no such run, or it has no results at this step.
        """
        run = self._library.get(asked.run)
        with reading(run.id, passed=UserError):
            points, apart = self._points(run, asked.home)
            frame = self._frame(run, asked, points)
            first = frame.mistakes[0]
            return {
                "run": run.id,
                "frame": frame.k,
                "step": frame.step,
                "k": first.k,
                "queries": first.queries,
                "left_out": first.left_out,
                "levels": list(frame.probe.hierarchy.levels),
                "words": severity_words(frame.probe.hierarchy),
                "best": plain(first.best),
                "apart": apart,
                "arms": [
                    {
                        "arm": arm,
                        "title": title,
                        "top1": plain(results.top1),
                        "wrong1": None if results.wrong1 is None else plain(results.wrong1),
                        "topk": plain(results.topk),
                        "confusions": _confusions(frame.probe, results, points),
                    }
                    for arm, title, results in zip(frame.arms, frame.titles, frame.mistakes, strict=True)
                ],
                "diverged": [
                    {"arm": arm, "title": title, "why": _DIVERGED.format(frame.step)}
                    for arm, title in frame.diverged.items()
                ],
            }

    def training(self, asked: bodies.Mistakes) -> Reply:
        """Return the shares of every stored frame; None where the training of an arm had diverged.

        Raises:
            UserError: there is no such run.
        """
        run = self._library.get(asked.run)
        with reading(run.id, passed=UserError):
            series = self._series.get(run.id, lambda: MistakesOverTraining(run.folder)).series(asked.k)
            return {
                "run": run.id,
                "k": asked.k,
                "words": severity_words(probe_of(run.folder).hierarchy),
                "steps": [step for _, step, _ in series],
                "arms": [
                    {"title": title, **_over_training([moments[arm] for _, _, moments in series])}
                    for arm, title in enumerate(arm_titles(run.folder.config))
                ],
            }

    def classes(self, asked: bodies.Classes) -> Reply:
        """Return how often results are of their query's class: classes named so, or all, those first that lack most.

        Raises:
            UserError: there is no such run, level, or no results at this step.
        """
        run = self._library.get(asked.run)
        with reading(run.id, passed=UserError):
            points, _ = self._points(run, asked.home)
            frame = self._frame(run, asked, points)
            chosen = listed_classes(frame, asked.level, asked.text)
            listed = chosen[: asked.count]
            return {
                "run": run.id,
                "total": len(chosen),
                "step": frame.step,
                "k": frame.mistakes[0].k,
                "arms": frame.titles,
                "classes": [class_row(frame, points, level, at) for level, at in listed],
            }

    def queries(self, asked: bodies.Queries) -> Reply:
        """Return the queries on which the arms of a run, and those of a baseline, differ most by a metric.

        Raises:
            UserError: there is no such run or metric, the runs are on other images, or embeddings are not kept.
        """
        run = self._library.get(asked.run)
        baseline = self._library.get(asked.baseline) if asked.baseline else None
        with reading(run.id, passed=UserError):
            other = None if baseline is None else frame_at(baseline, asked.step)
            key = (key_of(asked.metric), asked.count, asked.among, frame_at(run, asked.step), other)
            return self._queries.get(key, lambda: self._differing(run, baseline, asked))

    def baseline(self, asked: bodies.Baseline) -> Reply:
        """Return the numbers of a run less those of a baseline, the last ones or those at a step.

        Raises:
            UserError: there is no such run, or they are on other images.
        """
        run, other = self._library.get(asked.run), self._library.get(asked.baseline)
        with reading(run.id, passed=UserError):
            compared = differences(run.folder, other.folder)
            measures = kind_of(run.config).measures_of(run.config)
            titles, others = arm_titles(run.folder.config), arm_titles(other.folder.config)
            keys = [*measures.numbers, *(f"test/{key}" for key in measures.whole)]
            keys = [key for key in keys if any((arm, key) in compared.numbers for arm in range(len(titles)))]
            return {
                "whole": compared.whole,
                "measures": [{"key": key, "title": describe_any(key).title} for key in keys],
                "arms": [
                    {"title": title, "less": others[compared.pairs[arm]]}
                    | {"numbers": [_difference(compared, arm, key, asked.step) for key in keys]}
                    for arm, title in enumerate(titles)
                ],
            }

    def _frame(self, run: Run, asked: bodies.Mistakes, points: dict[int, int | None]) -> Frame:
        at = frame_at(run, asked.step)
        if not asked.among:
            return self._frames.get((*at, asked.k), lambda: read_frame(run.folder, at[1], asked.k))
        chosen = points_of(asked.among)
        rows = np.array([row for row, point in points.items() if point in chosen], dtype=np.int64)
        key = (*at, asked.k, asked.home, asked.among)
        frame = self._frames.get(key, lambda: read_frame(run.folder, at[1], asked.k, rows))
        if not frame.mistakes[0].queries:
            raise UserError("None of the selected images has another image of its class to find. Select others.")
        return frame

    def _points(self, run: Run, home: str) -> tuple[dict[int, int | None], str | None]:
        """Return for each image on a run's maps its point on those of ``home``, or None; and why there are none."""
        count = len(probe_of(run.folder).rows)
        if not home or home == run.id:
            return dict(enumerate(range(count))), None
        try:
            shared = shared_images(self._library.get(home).folder, run.folder)
        except UserError as error:
            return dict.fromkeys(range(count)), str(error)
        points: dict[int, int | None] = dict.fromkeys(range(count))
        points.update(zip(shared.second.tolist(), shared.first.tolist(), strict=True))
        return points, None

    def _differing(self, run: Run, baseline: Run | None, asked: bodies.Queries) -> Reply:
        probe, metric = probe_of(run.folder), key_of(asked.metric)
        answer = disagreements(
            run.folder,
            frame_at(run, asked.step)[1],
            metric,
            baseline=None if baseline is None else baseline.folder,
            baseline_k=None if baseline is None else frame_at(baseline, asked.step)[1],
            most=asked.count,
            among=points_of(asked.among) if asked.among else None,
        )
        return {
            "run": run.id,
            "metric": metric,
            "title": describe(metric, probe.hierarchy.levels).title,
            "queries": answer.queries,
            "arms": [{"run": arm.run, "arm": arm.arm, "title": arm.title} for arm in answer.arms],
            "diverged": answer.diverged,
            "found": [
                {
                    "point": query.points[0],
                    "row": query.row,
                    "part": probe.part,
                    "classes": _names(probe, query.points[0]),
                    "values": list(query.values),
                    "spread": query.spread,
                }
                for query in answer.differing
            ],
        }


def points_of(ranges: str) -> set[int]:
    """Read points such as ``3-7,12``.

    Raises:
        UserError: it is no such text.
    """
    points: set[int] = set()
    for part in ranges.split(","):
        if not _RANGE.fullmatch(part):
            raise UserError(f"A selection is written as points and ranges such as 3-7,12; got {part!r:.40}.")
        first, _, last = part.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        if len(numbers) + len(points) > MOST_POINTS:
            raise UserError(f"A selection has at most {MOST_POINTS:,} points; got more at {part!r:.40}.")
        points.update(numbers)
    return points


def _difference(compared: BaselineDifferences, arm: int, key: str, step: int | None) -> float | None:
    return finite_number(compared.numbers.get((arm, key)) if step is None else compared.at(arm, key, step))


def _metrics() -> list[str]:
    """List the metrics of one query, the usual ones first; those that need a number are left out."""
    return [*USUAL, *(name for name in METRICS if name not in USUAL and not name.endswith(("_k", "_l")))]


def _over_training(moments: Moments) -> Reply:
    return {
        "top1": [None if moment is None else plain(moment.top1) for moment in moments],
        "topk": [None if moment is None else plain(moment.topk) for moment in moments],
    }


def _confusions(probe: Probe, of_arm: Mistakes, points: dict[int, int | None]) -> list[Reply]:
    names = probe.hierarchy.names[0]
    return [
        {
            "query_class": names[confusion.query_class],
            "result_class": names[confusion.result_class],
            "count": confusion.count,
            "shared": confusion.shared,
            "missing": confusion.missing,
            "cost": confusion.cost,
            "rank": confusion.rank,
            "query": confusion.query,
            "result": confusion.result,
            **placed(probe, confusion.query, points),
        }
        for confusion in of_arm.confusions
    ]


def _names(probe: Probe, point: int) -> list[str]:
    return [names[label] for names, label in zip(probe.hierarchy.names, probe.labels[point].tolist(), strict=True)]
