"""What a measurement gives: numbers with intervals, and the queries behind them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.background.objects import ObjectImages
from trainers.background.queries import TITLES, WHOLE, WITHOUT, Queries
from trainers.background.scores import METRICS, NEAREST, Scores, chance
from trainers.cells import plain_cells
from trainers.metrics import describe
from trainers.metrics.bootstrap import Interval, bootstrap

STAYS = "stays"
COLUMNS = ("run", "arm", "title", "form", "measure", "mean", "low", "high", "queries", "lost", "lost_low", "lost_high")


@dataclass(frozen=True, kw_only=True)
class Number:
    """One number of one arm.

    Attributes:
        form: of the queries, one of :data:`trainers.background.queries.TITLES`.
        measure: a metric, or :data:`STAYS`.
        interval: the mean over the queries.
        lost: how much more the whole images have, query by query; None for these and for :data:`STAYS`.
    """

    form: str
    measure: str
    interval: Interval
    lost: Interval | None


@dataclass(frozen=True, kw_only=True)
class ArmBackground:
    """One arm.

    Attributes:
        run, arm, title: which one.
        step: of its checkpoint.
        scores: by form; empty where ``error`` says why it has none.
    """

    run: str
    arm: int
    title: str
    step: int = 0
    scores: Mapping[str, Scores]
    error: str | None = None

    def numbers(self) -> list[Number]:
        """Every number with its interval: 95 %, by resampling the queries."""
        numbers = []
        for form, scores in self.scores.items():
            for name in METRICS:
                values = scores.metrics[name]
                lost = None if form == WHOLE else bootstrap(self.scores[WHOLE].metrics[name] - values)
                numbers.append(Number(form=form, measure=name, interval=bootstrap(values), lost=lost))
            if form != WHOLE:
                numbers.append(Number(form=form, measure=STAYS, interval=bootstrap(scores.stays), lost=None))
        return numbers

    def unnoticing(self) -> np.ndarray:
        """All queries, int64 ``[Q]``, those first that notice the absence of their object least: most neighbours stay,
        then the largest similarity with the whole image."""
        scores = self.scores[WITHOUT]
        return np.lexsort((-scores.similarity, -scores.stays))


@dataclass(frozen=True, kw_only=True)
class BackgroundResult:
    """A measurement of the arms of a run on the same queries.

    Attributes:
        title: of the images; ``own``: they are the run's test set.
        arms: in order.
        places: int64 ``[Q]``, of the queries in the gallery.
        rows: int64 ``[N]``, row of each image of the gallery in the test set, or its place in the dataset.
        ids: a name for each image of the gallery; empty: they have none.
        labels: int64 ``[N, L]``; names: of the classes, level by level; levels: of the levels, finest first.
        covered: float32 ``[Q]``, share of each query that its object covers.
        fill: what was put in the place of the object.
        chance: R@1 of a random order.
        notes: sentences about what was left out.
    """

    title: str
    own: bool
    arms: tuple[ArmBackground, ...]
    places: np.ndarray
    rows: np.ndarray
    ids: tuple[str, ...]
    labels: np.ndarray
    names: tuple[tuple[str, ...], ...]
    levels: tuple[str, ...]
    covered: np.ndarray
    fill: str
    chance: float
    notes: tuple[str, ...]

    @classmethod
    def of(cls, objects: ObjectImages, queries: Queries, arms: Iterable[ArmBackground]) -> BackgroundResult:
        """The measurement of ``arms`` with these queries against these images."""
        return cls(
            title=objects.title,
            own=objects.own,
            arms=tuple(arms),
            places=queries.places,
            rows=objects.rows,
            ids=objects.ids,
            labels=objects.labels,
            names=objects.hierarchy.names,
            levels=objects.hierarchy.levels,
            covered=queries.covered,
            fill=queries.fill,
            chance=chance(objects.labels, queries.places),
            notes=(*objects.notes, *queries.notes),
        )

    def difference(self, first: int, second: int, form: str, measure: str) -> Interval:
        """How much more arm ``first`` has than arm ``second``, query by query, with its interval.

        Args:
            measure: a metric, or :data:`STAYS`.
        """
        return bootstrap(self.values(first, form, measure) - self.values(second, form, measure))

    def values(self, arm: int, form: str, measure: str) -> np.ndarray:
        """A metric, or :data:`STAYS`, of every query, float64 ``[Q]``."""
        scores = self.arms[arm].scores[form]
        return scores.stays if measure == STAYS else scores.metrics[measure]

    def unnoticing(self, arm: int, most: int | None = None) -> list[dict[str, Any]]:
        """The queries of an arm, those first that do not notice the absence of their object, with their neighbours.

        Each has ``query`` (its number), ``place`` in the gallery, ``row``, ``id``, ``classes`` finest first, ``stays``,
        ``similarity``, ``covered``, and by form the places of its ``nearest`` and whether its class comes ``first``.
        """
        one = self.arms[arm]
        if not one.scores:
            return []
        listed = []
        for query in one.unnoticing()[:most].tolist():
            place = int(self.places[query])
            listed.append(
                {
                    "query": query,
                    "place": place,
                    "row": int(self.rows[place]),
                    "id": self.ids[place] if self.ids else "",
                    "classes": self.classes(place),
                    "stays": float(one.scores[WITHOUT].stays[query]),
                    "similarity": round(float(one.scores[WITHOUT].similarity[query]), 4),
                    "covered": round(float(self.covered[query]), 4),
                    "nearest": {form: scores.nearest[query].tolist() for form, scores in one.scores.items()},
                    "first": {form: bool(scores.metrics["R_at_1"][query]) for form, scores in one.scores.items()},
                }
            )
        return listed

    def classes(self, place: int) -> list[str]:
        """The classes of an image of the gallery, finest first."""
        return [names[int(label)] for names, label in zip(self.names, self.labels[place], strict=True)]

    def table(self) -> list[dict[str, Any]]:
        """A row per number, by the names of :data:`COLUMNS`."""
        rows = []
        for arm in self.arms:
            for number in arm.numbers():
                own, lost = number.interval, number.lost
                rows.append(
                    {
                        "run": arm.run,
                        "arm": arm.arm,
                        "title": arm.title,
                        "form": number.form,
                        "measure": number.measure,
                        "mean": own.mean,
                        "low": own.low,
                        "high": own.high,
                        "queries": own.queries,
                        "lost": None if lost is None else lost.mean,
                        "lost_low": None if lost is None else lost.low,
                        "lost_high": None if lost is None else lost.high,
                    }
                )
        return rows

    def csv(self) -> str:
        """:meth:`table` as CSV with a head."""
        text = io.StringIO()
        write_csv(text, self.table())
        return text.getvalue()

    def json(self, most: int = 50) -> dict[str, Any]:
        """Everything for the page as plain values; of each arm the first ``most`` of :meth:`unnoticing`."""
        return {
            "title": self.title,
            "own": self.own,
            "fill": self.fill,
            "queries": len(self.places),
            "gallery": len(self.rows),
            "chance": self.chance,
            "notes": list(self.notes),
            "levels": list(self.levels),
            "forms": {form: title for form, title in TITLES.items() if any(form in arm.scores for arm in self.arms)},
            "measures": {name: measure_title(name) for name in (*METRICS, STAYS)},
            "arms": [
                {"run": arm.run, "arm": arm.arm, "title": arm.title, "step": arm.step, "error": arm.error}
                | {"unnoticing": self.unnoticing(place, most)}
                for place, arm in enumerate(self.arms)
            ],
            "numbers": self.table(),
        }

    def text(self) -> str:
        """The numbers as lines for a terminal."""
        head = f"{len(self.places):,} queries against {len(self.rows):,} images of {self.title}; fill: {self.fill}"
        lines = [head, f"R@1 of a random order: {self.chance:.3f}", *self.notes]
        for arm in self.arms:
            lines += ["", f"{arm.title} (arm {arm.arm} at step {arm.step})"]
            if arm.error:
                lines.append(f"  {arm.error}")
            for number in arm.numbers():
                words = f"{TITLES[number.form]}, {measure_title(number.measure)}"
                lost = "" if number.lost is None else f"  lost {interval_text(number.lost)}"
                lines.append(f"  {words:<64} {interval_text(number.interval)}{lost}")
        return "\n".join(lines)


def write_csv(file: Any, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of :meth:`BackgroundResult.table` to an open file, with a head; no cell is read as a formula."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(plain_cells(row[name] for name in COLUMNS) for row in rows)


def measure_title(name: str) -> str:
    """A metric, or :data:`STAYS`, in words."""
    return f"neighbours that stay, of {NEAREST}" if name == STAYS else describe(name).title


def interval_text(interval: Interval) -> str:
    """The mean and the ends of the interval, three decimals each."""
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
