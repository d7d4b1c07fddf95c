"""Compares variants of a training over seeds: intervals, verdicts on pairs, and tables.

from trainers.comparison import Cell, compare, table
table(cells, ["R_at_1", "HAP"]).markdown()
"""

from trainers.comparison.compare import Comparison, Group, Row, VariantPair, Verdict, compare
from trainers.comparison.estimate import Cell, Condition, Estimate, condition_key
from trainers.comparison.tables import ComparisonTable, UntrainedLine, table

__all__ = [
    "Cell",
    "Comparison",
    "ComparisonTable",
    "Condition",
    "Estimate",
    "Group",
    "Row",
    "UntrainedLine",
    "VariantPair",
    "Verdict",
    "compare",
    "condition_key",
    "table",
]
