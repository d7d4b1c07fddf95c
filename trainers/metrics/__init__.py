"""Retrieval metrics: one pass over each query's ranked list gives every number.

from trainers.metrics import evaluate
scores = evaluate(embeddings, labels)
scores["R_at_1"], scores["HAP"]
"""

from trainers.metrics.catalogue import counts, family
from trainers.metrics.gap import decomposability_gap
from trainers.metrics.measure import Measure
from trainers.metrics.names import default_metrics, describe
from trainers.metrics.scores import evaluate
from trainers.registry import derived

METRICS: dict[str, Measure] = {}
IMAGE_TEXT_METRICS: dict[str, Measure] = {}
REPRESENTATION_METRICS: dict[str, Measure] = {}
MAP_METRICS: dict[str, Measure] = {}
PUBLISHED: dict[str, Measure] = {}
"""Every number that has a paper and a formula, by name."""


@derived("trainers.metrics.catalogue")
def _sorted() -> None:
    PUBLISHED.clear()
    of = {"ranking": METRICS, "image_text": IMAGE_TEXT_METRICS, "representation": REPRESENTATION_METRICS}
    for name, measures in (of | {"map": MAP_METRICS}).items():
        measures.clear()
        measures.update(family(name))
        PUBLISHED.update(measures)


__all__ = [
    "IMAGE_TEXT_METRICS",
    "MAP_METRICS",
    "METRICS",
    "PUBLISHED",
    "REPRESENTATION_METRICS",
    "Measure",
    "counts",
    "decomposability_gap",
    "default_metrics",
    "describe",
    "evaluate",
]
