"""Rankings with controlled mistakes and what metrics say of them, as plain values for JSON."""

from __future__ import annotations

from typing import Any

from trainers.metrics import METRICS, controlled_errors


def table() -> dict[str, Any]:
    """Return every case, the metrics in the order of its values, and the ranges of its settings."""
    return {
        "words": list(controlled_errors.WORDS),
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
            for case in controlled_errors.cases()
        ],
    }
