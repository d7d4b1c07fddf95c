"""Fills: what replaces a removed object. One fill per file.

from trainers.object_removal.fills import fill_named, paint
image = paint(fill_named("telea"), image, mask)
"""

import sys

from trainers.errors import ParameterError
from trainers.object_removal.fills.base import FillDescriptor, paint
from trainers.registry import load

FILLS = load(sys.modules[__name__])


def fill_named(name: str) -> FillDescriptor:
    """A fill by name.

    Raises:
        ParameterError: there is none of that name.
    """
    if name not in FILLS:
        raise ParameterError(f"There is no fill {name[:40]!r}; choose from {', '.join(FILLS)}.")
    return FILLS[name]


__all__ = ["FILLS", "FillDescriptor", "fill_named", "paint"]
