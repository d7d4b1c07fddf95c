"""One file per way of re-ranking a list of results. To add one, add a file with a ``DESCRIPTOR``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

from trainers.registry import load
from trainers.retrieval.reranking.base import Reranking

RERANKINGS: Mapping[str, Reranking] = MappingProxyType(dict(load(sys.modules[__name__])))

__all__ = ["RERANKINGS", "Reranking"]
