"""Compares variants of a training over seeds: intervals, verdicts on pairs, and tables.

from trainers.comparison import Cell, compare, table
table(cells, ["R_at_1", "HAP"]).markdown()
"""

from trainers.comparison.compare import Comparison, Group, Pair, Row, Verdict, compare
from trainers.comparison.estimate import Cell, Condition, Estimate, condition_key
from trainers.comparison.tables import Table, table

__all__ = [
    "Cell",
    "Comparison",
    "Condition",
    "Estimate",
    "Group",
    "Pair",
    "Row",
    "Table",
    "Verdict",
    "compare",
    "condition_key",
    "table",
]
