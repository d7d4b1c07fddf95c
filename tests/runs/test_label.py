"""Names, notes and tags of runs: kept in their folders, checked, and written by those alone who may change a run."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.tabs.runs.run_list import runs_csv
from tests.explorer.bench import Bench
from trainers.errors import RunError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.runs.label import FILE, TAGS, Label, read_label, write_label


def test_a_label_is_kept_as_it_was_meant(tmp_path: Path) -> None:
    kept = write_label(tmp_path, Label(name=" two\n words ", note=" a\nb ", tags=("x", " x ", "", "y z")))
    assert kept == Label(name="two words", note="a\nb", tags=("x", "y z")) == read_label(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff", b'{"name": 3}', b'{"tags": 5}', b'{"name": "' + b"x" * 200 + b'"}']
)
def test_a_damaged_label_is_none(content: bytes, tmp_path: Path) -> None:
    assert read_label(tmp_path) == Label()
    (tmp_path / FILE).write_bytes(content)
    assert read_label(tmp_path) == Label()


@pytest.mark.parametrize(
    "label",
    [Label(name="x" * 121), Label(note="x" * 2001), Label(tags=tuple("abcdefghijklm")), Label(tags=("x" * 41,))],
)
def test_too_much_is_refused(label: Label, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=f"at most {TAGS} tags"):
        write_label(tmp_path, label)
    assert not (tmp_path / FILE).exists()


def test_a_visitor_names_own_runs_alone(bench: Callable[..., Bench]) -> None:
    b = bench(public=True)
    run = b.runs.start(MetricLearningConfig(minutes=1), "mine")
    for token in ("", "another"):
        with pytest.raises(RunError, match="may change it"):
            b.runs.label(run, token, Label(name="taken"))
    assert b.runs.label(run, "mine", Label(name="ours")).name == "ours"


def test_no_cell_of_the_csv_is_a_formula() -> None:
    about = {"id": "1", "part_of": "", "title": "t", "kind": "k", "data": "d", "phase": "finished", "step": 1}
    numbers = [("=x", 0.5), ("y", None)]
    found = [{"title": title, "values": {"R_at_1": value}, "spread": {}} for title, value in numbers]
    run = {**about, "seconds": 2.0, "name": "=1+1", "tags": ["a", "b"], "note": "", "numbers": {"R_at_1": {}}}
    head, *lines = csv.reader(io.StringIO(runs_csv([{**run, "lines": found}])))
    assert lines[0][head.index("name")] == "'=1+1" and [line[-1] for line in lines] == ["0.5", ""]
    assert [line[-2] for line in lines] == ["'=x", "y"]
