"""The page's additions to a kind of run, at most one file each; a kind without a file gets a form of its settings."""

import sys

from trainers.registry import load

PAGES = load(sys.modules[__name__])

__all__ = ["PAGES"]
