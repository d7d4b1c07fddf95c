"""The tabs, one file each; adding a tab is adding a file with a ``DESCRIPTOR``."""

import sys

from explorer.page.tabs.base import TabContext, TabDescriptor
from trainers.registry import load

TABS = load(sys.modules[__name__])

__all__ = ["TABS", "TabContext", "TabDescriptor"]
