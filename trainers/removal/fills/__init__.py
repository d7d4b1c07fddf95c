"""What is painted over a removed object. One fill per file.

from trainers.removal.fills import FILLS, paint
picture = paint(FILLS["telea"], picture, mask)
"""

import sys

from trainers.catalogue import load
from trainers.removal.fills.base import FillDescriptor, paint

FILLS = load(sys.modules[__name__])

__all__ = ["FILLS", "FillDescriptor", "paint"]
