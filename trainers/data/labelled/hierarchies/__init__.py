"""Where the classes' superclasses come from, one file each: the dataset itself, a mapping, or patterns in names."""

import sys
from typing import Any

from trainers.config import DataChoice
from trainers.data.labelled.hierarchies.base import HierarchyDescriptor
from trainers.registry import load

HIERARCHIES = load(sys.modules[__name__])

__all__ = ["HIERARCHIES", "HierarchyDescriptor", "superclasses"]


def superclasses(choice: DataChoice) -> tuple[HierarchyDescriptor, Any]:
    """Return where the superclasses of a choice come from, with its checked parameters."""
    descriptor: HierarchyDescriptor = HIERARCHIES[choice.hierarchy.name]
    return descriptor, descriptor.checked(choice.hierarchy.parameters)
