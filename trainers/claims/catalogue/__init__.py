"""One file per claim. To add a claim, add a file with a ``DESCRIPTOR``."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from trainers.claims.base import Claim
from trainers.registry import load

CLAIMS: Mapping[str, Claim] = load(sys.modules[__name__])
