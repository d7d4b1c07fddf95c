"""Where the classes' superclasses come from, one file each: the dataset itself, a mapping, or patterns in names."""

import sys

from trainers.data.labelled.hierarchies.base import HierarchyDescriptor
from trainers.registry import load

HIERARCHIES = load(sys.modules[__name__])

__all__ = ["HIERARCHIES", "HierarchyDescriptor"]
