"""The reference cases and the program that holds the registries against them, where they are provided."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import numpy as np
import pytest

from tests.shared import SHARED, needs, tool


def cases(*families: str) -> list:
    """One pytest parameter for every case file of the families; a single skipped one where the folder is absent."""
    found = sorted(path for family in families for path in (SHARED / "oracles").glob(f"{family}__*.npz"))
    return [pytest.param(path.stem, id=path.stem) for path in found] or [pytest.param("", id="absent")]


def load(stem: str) -> np.lib.npyio.NpzFile:
    """A case's arrays; skips the test where the folder is absent."""
    return np.load(needs(f"oracles/{stem}.npz" if stem else "oracles"))


@cache
def checker() -> ModuleType:
    """The checking program, as a module."""
    return tool("check_oracles")
