"""What is left out: in continuous integration what wants CUDA or the shared data, and long tests, by a table."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import COLLECTED

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


def listed(cell: str, file: str = "") -> dict[str, list[str]]:
    """The files that a cell names, each with the tests that follow it; ``file`` is that of the first ones."""
    found: dict[str, list[str]] = {}
    for name in re.findall(r"`([\w/]+\.py|test_\w+)`", cell):
        file = name if name.endswith(".py") else file
        found.setdefault(file, [])
        found[file] += [] if name == file else [name]
    return found


def test_long_tests_stand_in_a_table_beside_what_stays(request: pytest.FixtureRequest) -> None:
    """Marks are compared in the files that are collected with this one."""
    page = (ROOT / "docs" / "robustness.md").read_text(encoding="utf-8").partition("\n## Long tests\n")[2]
    rows = [line.split(" | ") for line in page.partition("\n## ")[0].splitlines() if line.startswith("| `tests/")]
    collected, table = request.config.stash[COLLECTED], dict[str, list[str]]()
    for cell, _, stays in rows:
        out = listed(cell)
        assert not table.keys() & out.keys(), cell
        table |= out
        kept = listed(stays, next(iter(out)))
        for file, names in [*out.items(), *kept.items()]:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert [name for name in names if f"def {name}(" not in text] == [], file
        same = out if "the same test" in stays else {}
        for file, names in [*kept.items(), *same.items()]:
            gone = [name for name in names if all(collected.get(f"{file}::{name}", [False]))]
            assert not gone, f"nothing stays of {gone} in {file}"
    for place, long in collected.items():
        file, _, name = place.partition("::")
        assert any(long) == (file in table and (not table[file] or name in table[file])), place
    if {place.partition("::")[0] for place in collected} >= table.keys():
        marks = [mark for long in collected.values() for mark in long]
        assert sum(marks) <= 0.03 * len(marks), (sum(marks), len(marks))
