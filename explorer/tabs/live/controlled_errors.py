"""Rankings with controlled mistakes and what metrics say of them, as plain values for JSON."""

from __future__ import annotations

from typing import Any

from explorer.server.run import Run
from trainers.errors import RunError
from trainers.metrics import METRICS, controlled_errors


def table(run: Run) -> dict[str, Any]:
    """Return every case in the words of a run's own levels, the metrics in the order of its values, and the ranges of
    its settings.
    """
    levels = _levels(run)
    return {
        "words": controlled_errors.words_of(levels),
        "metrics": [
            {"key": name, "title": METRICS[name].title, "sentence": METRICS[name].sentence}
            for name in controlled_errors.METRICS
        ],
        "most_mistakes": controlled_errors.MISTAKES,
        "ranks": controlled_errors.RANKS,
        "cases": [
            {
                "shared": case.shared,
                "mistakes": case.mistakes,
                "rank": case.rank,
                "ranking": list(case.ranking),
                "values": list(case.values),
            }
            for case in controlled_errors.cases(len(levels))
        ],
    }


def _levels(run: Run) -> tuple[str, ...]:
    try:
        probe = run.folder.probe()
    except RunError:
        probe = None
    known = () if probe is None else probe.hierarchy.levels
    return known if 0 < len(known) <= controlled_errors.MOST_LEVELS else controlled_errors.LEVELS
