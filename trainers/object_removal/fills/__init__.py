"""Fills: what replaces a removed object. One fill per file.

from trainers.object_removal.fills import FILLS, paint
image = paint(FILLS["telea"], image, mask)
"""

import sys

from trainers.object_removal.fills.base import FillDescriptor, paint
from trainers.registry import load

FILLS = load(sys.modules[__name__])

__all__ = ["FILLS", "FillDescriptor", "paint"]
