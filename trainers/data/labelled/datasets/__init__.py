"""The datasets of the catalogue, one file each; adding one is adding a file with a ``DESCRIPTOR``."""

import sys

from trainers.registry import load

SOURCES = load(sys.modules[__name__])
