"""What all tests share: a cache of their own, no analytics, no network."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

# set at import, before any test module imports a library that reads it
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.fixture(scope="session", autouse=True)
def _cache_of_our_own() -> Iterator[None]:
    """Decoded and drawn images are shared by the tests of one session and by nobody else."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", folder)
        yield
