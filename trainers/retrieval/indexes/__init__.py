"""The indexes: how the nearest vectors are found. Adding one is adding a file with a ``DESCRIPTOR``."""

import sys

from trainers.registry import load
from trainers.retrieval.indexes.base import Index, IndexDescriptor, Size
from trainers.retrieval.indexes.choice import Chosen, choose

INDEXES = load(sys.modules[__name__])

__all__ = ["INDEXES", "Chosen", "Index", "IndexDescriptor", "Size", "choose"]
