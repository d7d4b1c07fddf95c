"""Fair comparisons: every loss is searched with the same budget on folds of the training classes, then compared."""

from trainers.kinds.fair_comparison.kind import FairComparison

DESCRIPTOR = FairComparison()
