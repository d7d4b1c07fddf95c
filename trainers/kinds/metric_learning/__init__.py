"""Metric learning on labelled images: one to four losses in lockstep."""

from trainers.kinds.metric_learning.kind import MetricLearning

DESCRIPTOR = MetricLearning()
