"""The numbers that the benchmark over a dataset shows, their words, and what their intervals cover."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trainers.metrics.names import describe_any

HEADLINE = ("ODmAP_at_1", "ODmAP_at_5", "hallucination_at_1", "i2t_R_at_1")
BARS = (
    *("ODmAP_at_1", "ODmAP_at_5", "ODmAP_at_10", "hallucination_at_1", "original_names_at_1", "present_at_1"),
    *("i2t_R_at_1", "i2t_R_at_5", "i2t_R_at_10", "t2i_R_at_1"),
)
INTERVALS = (
    "Intervals: 95 % over the queries of the model as it is, by resampling them; other trainings of it are not covered."
)


def measures_json(keys: Iterable[str]) -> dict[str, Any]:
    """Return the large figures, the bars, the title of every key of a result, and what the intervals cover."""
    return {
        "headline": [_json(key) for key in HEADLINE],
        "bars": [_json(key) for key in BARS],
        "all": [_json(key) for key in keys],
        "intervals": INTERVALS,
    }


def _json(key: str) -> dict[str, str]:
    number = describe_any(key)
    return {"key": key, "title": number.title, "sentence": number.sentence, "unit": number.measure.unit}
