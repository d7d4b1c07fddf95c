"""Fair comparisons: they are started from the form of a single run."""

from __future__ import annotations

from explorer.page.kinds.base import KindPage

DESCRIPTOR = KindPage(name="fair_comparison")
