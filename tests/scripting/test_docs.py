"""The example of the documentation runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainers.runs import list_runs

DOCS = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_example_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}
    exec(compile(code, str(DOCS), "exec"), found)
    assert list_runs(tmp_path / "runs")[0].state().phase == "finished" and len(found["embeddings"]) > 100  # type: ignore[arg-type]
    assert "Smooth-AP" in capsys.readouterr().out
