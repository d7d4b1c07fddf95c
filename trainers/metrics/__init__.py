"""Retrieval metrics: one pass over each query's ranked list gives every number.

from trainers.metrics import evaluate
scores = evaluate(embeddings, labels)
scores["R_at_1"], scores["HAP"]
"""

from trainers.metrics.gap import decomposability_gap
from trainers.metrics.image_text_registry import CROSSMODAL_METRICS
from trainers.metrics.registry import METRICS, MetricDescriptor, describe
from trainers.metrics.scores import default_metrics, evaluate, ranked_metrics

__all__ = [
    "CROSSMODAL_METRICS",
    "METRICS",
    "MetricDescriptor",
    "decomposability_gap",
    "default_metrics",
    "describe",
    "evaluate",
    "ranked_metrics",
]
