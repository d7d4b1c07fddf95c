"""The example of the documentation trains and is a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainers.runs import list_runs

DOCS = Path(__file__).parents[2] / "docs" / "own-loops.md"


def test_the_loop_of_the_documentation_is_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(code.splitlines()) <= 30
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(DOCS), "exec"), {})
    run = list_runs(tmp_path / "runs")[0]
    assert run.state().phase == "finished" and run.newest("test/R_at_1")[0, "test/R_at_1"] is not None
