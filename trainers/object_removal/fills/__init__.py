"""Fills: what replaces a removed object. One fill per file.

from trainers.object_removal.fills import fill_named, paint
image = paint(fill_named("telea"), image, mask)
"""

import sys

from trainers.object_removal.fills.base import FillDescriptor, paint
from trainers.parameters import entry
from trainers.registry import load

FILLS = load(sys.modules[__name__])


def fill_named(name: str) -> FillDescriptor:
    """Return a fill by name.

    Raises:
        ParameterError: there is none of that name.
    """
    return entry(FILLS, name, "fill")


__all__ = ["FILLS", "FillDescriptor", "fill_named", "paint"]
