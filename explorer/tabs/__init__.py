"""The tabs, a package each; adding a tab is adding a package with a ``DESCRIPTOR``."""

import sys
from collections.abc import Mapping
from typing import Any

from explorer.page.tab import Tab
from trainers.registry import load

TABS: Mapping[str, Tab[Any]] = load(sys.modules[__name__])

__all__ = ["TABS"]
