"""In continuous integration nothing is left out but what wants CUDA or the shared data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import pytest


@pytest.mark.skipif(True, reason="needs a CUDA device")
def test_cuda():
    pass


def test_shared():
    pytest.skip("shared/data is not here")


def test_optional():
    pytest.importorskip("no_such_library", reason="no_such_library is not installed")
"""


def test_a_test_that_is_left_out_fails_where_nothing_may_be(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", str(tmp_path)]
    environment = os.environ | {"NO_SKIPS": "1"}
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment).stdout
    assert "1 failed, 2 skipped" in said and "for this reason: no_such_library is not installed" in said


def test_what_the_optional_parts_need_is_installed_for_the_tests() -> None:
    assert "\ntransformers" in (ROOT / "tests" / "requirements.txt").read_text()
    assert "NO_SKIPS=1" in (ROOT / ".ci" / "run").read_text()
