"""Every data test has its own cache, no network and open folders."""

from __future__ import annotations

import datasets
import pytest


@pytest.fixture(autouse=True)
def _own_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    for name in ("RANKSCOPE_FOLDERS", "RANKSCOPE_MEMORY_GB", "RANKSCOPE_CACHE_GB", "RANKSCOPE_DOWNLOAD_GB", "SPACE_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hub-cache")


@pytest.fixture(autouse=True)
def _bars_as_they_were():
    before = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    yield
    if not before:
        datasets.enable_progress_bars()
