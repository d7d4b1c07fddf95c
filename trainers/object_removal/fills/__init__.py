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


LARGE = 0.05
"""Above this share of an image the usual fill is the shift map: what continues the border inwards smears there."""


def fill_for_photograph(share: float) -> FillDescriptor:
    """Return the usual fill of a photograph: LaMa where it is installed, the shift map for large regions, or Telea.

    Args:
        share: of the image that is filled, 0 to 1.
    """
    wanted = ("lama", *(("shift_map",) if share > LARGE else ()))
    return next((FILLS[name] for name in wanted if FILLS[name].lacking() is None), FILLS["telea"])


__all__ = ["FILLS", "LARGE", "FillDescriptor", "fill_for_photograph", "fill_named", "paint"]
