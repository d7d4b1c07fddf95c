"""Runs with moving clusters, and UMAP compiled once for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from explorer.layout.environment import environment

for key, value in environment().items():
    os.environ.setdefault(key, value)


@pytest.fixture(scope="session")
def umap_ready() -> None:
    """UMAP imported and compiled."""
    from explorer.layout.umap_step import warm_up

    warm_up()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder for runs."""
    folder = tmp_path / "runs"
    folder.mkdir()
    return folder
