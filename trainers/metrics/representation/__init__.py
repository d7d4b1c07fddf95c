"""Measures of frozen features: k-NN and linear classification, spread, rank and collapse of embeddings.

Plain functions of tensors, computed where the tensors are. Labels are best on the CPU.

from trainers.metrics.representation import knn_accuracy, linear_probe knn_accuracy(train, train_labels, test,
test_labels)["knn_accuracy"] linear_probe(train, train_labels, test, test_labels, steps=1000, seed=0).accuracy
"""

from trainers.metrics.representation.geometry import (
    alignment,
    class_collapse,
    effective_rank,
    mean_cosine,
    uniformity,
)
from trainers.metrics.representation.knn import knn_accuracy
from trainers.metrics.representation.linear_probe import LinearProbeResult, ProbeCurve, linear_probe

__all__ = [
    "LinearProbeResult",
    "ProbeCurve",
    "alignment",
    "class_collapse",
    "effective_rank",
    "knn_accuracy",
    "linear_probe",
    "mean_cosine",
    "uniformity",
]
