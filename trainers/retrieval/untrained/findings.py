"""What the rows without training say of a run that has ended, in sentences for its top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trainers.comparison import Cell, compare
from trainers.comparison.words import list_names
from trainers.kinds import arm_titles
from trainers.metrics import describe
from trainers.metrics.measures import TEST
from trainers.runs.reader import RunReader
from trainers.runs.records import QueryScores
from trainers.runs.untrained import JUDGED, Untrained, UntrainedRow

MEMORISED = 0.2
"""How far R@1 of training images lies above that of test images where training classes are called memorised."""
TRAIN = "train_R_at_1"


@dataclass(frozen=True, kw_only=True)
class UntrainedFinding:
    """One finding.

    Attributes:
        kind: ``below`` a row without training, ``worse`` than at step 0, or ``memorised``.
        arms: that it is about, from 0.
        sentence: with the numbers, and what to do.
    """

    kind: str
    arms: tuple[int, ...]
    sentence: str

    def json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"kind": self.kind, "arms": list(self.arms), "sentence": self.sentence}


def findings(folder: RunReader) -> list[UntrainedFinding]:
    """Return the findings on a run; none before its end, or where it keeps no rows.

    Raises:
        RunError: it is damaged.
    """
    record = folder.untrained()
    if record is None or not len(record.arms):
        return []
    titles = arm_titles(folder.config)
    newest = folder.newest(TRAIN, f"{TEST}R_at_1")
    probe = folder.probe()
    found = [*_below(record, titles, folder.config)]
    if probe is not None and len(record.before):
        found += _worse(record, titles, probe.labels[:, 0])
    return [*found, *_memorised(record, titles, newest)]


def _below(record: Untrained, titles: Sequence[str], config: Any) -> list[UntrainedFinding]:
    """Say which arms end below a row: one finding a row, and an arm below several counts at the best of them."""
    by_row: dict[str, dict[int, str]] = {}
    for arm in range(len(titles)):
        for metric in JUDGED:
            known = _beyond_chance(record, arm, metric)
            if known and not any(arm in arms for arms in by_row.values()):
                best = max(known, key=lambda row: _mean(row.values, metric))
                by_row.setdefault(best.name, {})[arm] = metric
    found = []
    for name, arms in by_row.items():
        row = record.row(name)
        assert row is not None
        for metric in dict.fromkeys(arms.values()):
            below = [arm for arm, judged in arms.items() if judged == metric]
            values = list_names([f"{titles[arm]} {_percent(_mean(record.arms[arm], metric))}" for arm in below])
            queries = int((~np.isnan(_of(row.values, metric))).sum())
            sentence = (
                f"{row.title} without any training: {describe(metric).short} {_percent(_mean(row.values, metric))}, "
                f"above {values} over the same {queries:,} queries by more than chance. {_remedy(row, config)}"
            )
            found.append(UntrainedFinding(kind="below", arms=tuple(below), sentence=sentence))
    return found


def _beyond_chance(record: Untrained, arm: int, metric: str) -> list[UntrainedRow]:
    """Return the rows that are above an arm by more than chance, after Holm's correction for these rows."""
    values = {"arm": record.arms[arm], **{f"row {row.name}": row.values for row in record.rows}}
    cells = _cells(values, record.labels, metric)
    (group,) = compare(cells, metric).groups
    above = {pair.second for pair in group.pairs if pair.first == "arm" and pair.verdict == "below"}
    return [row for row in record.rows if f"row {row.name}" in above]


def _cells(values: Mapping[str, np.ndarray], labels: np.ndarray, metric: str) -> list[Cell]:
    """Return results ``[M, n]`` of the same images as variants to compare."""
    place = JUDGED.index(metric)
    return [
        Cell(
            variant=variant,
            condition={},
            seed=0,
            metrics={metric: _mean(results, metric)},
            queries=QueryScores(
                metrics=(metric,),
                values=results[None, place : place + 1],
                labels=labels,
                rows=np.arange(len(labels)),
                images=len(labels),
                fingerprint="",
            ),
        )
        for variant, results in values.items()
    ]


def _worse(record: Untrained, titles: Sequence[str], labels: np.ndarray) -> list[UntrainedFinding]:
    """Say which arms end below what their encoder had at step 0, on the images of the maps."""
    found: dict[str, list[int]] = {}
    for arm in range(len(titles)):
        for metric in JUDGED:
            cells = _cells({"before": record.before[arm], "after": record.after[arm]}, labels, metric)
            (pair,) = compare(cells, metric).groups[0].pairs
            if pair.verdict == "above" and not any(arm in arms for arms in found.values()):
                found.setdefault(metric, []).append(arm)
    made = []
    for metric, arms in found.items():
        ends = list_names([f"{titles[arm]} {_percent(_mean(record.after[arm], metric))}" for arm in arms])
        begun = _percent(_mean(record.before[arms[0]], metric))
        sentence = (
            f"Training made the encoder worse: {describe(metric).short} {begun} at step 0, at the end {ends}, on the "
            "images of the maps by more than chance. A lower learning rate, a residual head or fewer steps keep what "
            "it knew."
        )
        made.append(UntrainedFinding(kind="worse", arms=tuple(arms), sentence=sentence))
    return made


def _memorised(
    record: Untrained, titles: Sequence[str], newest: Mapping[tuple[int, str], float | None]
) -> list[UntrainedFinding]:
    """Say which arms know the training classes far better than the test classes."""
    known = []
    for arm, title in enumerate(titles):
        train, test = newest.get((arm, TRAIN)), newest.get((arm, f"{TEST}R_at_1"))
        if train is not None and test is not None and train - test >= MEMORISED:
            known.append((arm, f"{title} {_percent(train)} and {_percent(test)}"))
    if not known:
        return []
    which = list_names([each for _, each in known])
    sentence = (
        f"Memorised: R@1 of training images is far above that of test images ({which}). "
        f"It learned its {record.classes:,} training classes rather than what makes images alike; more classes, "
        "published weights or stronger augmentation help."
    )
    return [UntrainedFinding(kind="memorised", arms=tuple(arm for arm, _ in known), sentence=sentence)]


def _remedy(row: UntrainedRow, config: Any) -> str:
    """Say what to do, given the encoder of the run."""
    from trainers.encoders import ENCODERS, shipped

    encoder = getattr(config, "encoder", None)
    if encoder is None or encoder.name not in ENCODERS:
        return "Its embeddings tell less than that; train longer or from another encoder."
    if ENCODERS[encoder.name].pretrained(encoder.parameters):
        return "Training lost what the weights knew: take a lower learning rate, a residual head or fewer steps."
    return f"Start from {shipped.TITLE}, whose weights come with the program: encoder timm_frozen."


def _of(values: np.ndarray, metric: str) -> np.ndarray:
    of_metric: np.ndarray = values[JUDGED.index(metric)]
    return of_metric


def _mean(values: np.ndarray, metric: str) -> float:
    known = _of(values, metric)
    known = known[~np.isnan(known)].astype(np.float64)
    return float(known.mean()) if len(known) else float("nan")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
