"""One file per number that a run can show. To add a metric, add a file with a ``DESCRIPTOR``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

from trainers.metrics.measure import Measure
from trainers.registry import load

MEASURES: Mapping[str, Measure] = load(sys.modules[__name__])


def family(name: str) -> Mapping[str, Measure]:
    """Return the numbers of one family by name, in order."""
    return MappingProxyType({key: measure for key, measure in MEASURES.items() if measure.family == name})
