"""The captioned datasets, one file each; adding one is adding a file with a ``DESCRIPTOR``."""

import sys

from trainers.registry import load

CAPTIONED = load(sys.modules[__name__])
