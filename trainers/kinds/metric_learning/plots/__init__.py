"""The plots of a comparison of losses, in order; adding one is adding a file with a ``DESCRIPTOR``."""

import sys

from trainers.registry import load

PLOTS = load(sys.modules[__name__])

__all__ = ["PLOTS"]
