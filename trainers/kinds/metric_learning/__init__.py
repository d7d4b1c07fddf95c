"""Metric learning on labelled images: several losses in lockstep."""

from trainers.kinds.metric_learning.kind import MetricLearning

DESCRIPTOR = MetricLearning()
