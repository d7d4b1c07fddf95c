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

METRICS = family("ranking")
IMAGE_TEXT_METRICS = family("image_text")
REPRESENTATION_METRICS = family("representation")
MAP_METRICS = family("map")
PUBLISHED = {**METRICS, **IMAGE_TEXT_METRICS, **REPRESENTATION_METRICS, **MAP_METRICS}
"""Every number that has a paper and a formula, by name."""

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
