"""How runs are named on the command line: every way to mean one, and every way to mean none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.made_up_plan import make_plan, sweep
from tests.synthetic import alive, make_run
from trainers.cli.main import main
from trainers.errors import RunError
from trainers.runs import list_runs
from trainers.runs.label import read_label
from trainers.runs.naming import whole_id


def test_a_run_is_meant_by_id_beginning_name_or_last(tmp_path: Path) -> None:
    older, newer = (make_run(tmp_path, points=40, frames=1) for _ in range(2))
    assert main(["rename", newer.id, "birds", "--runs", str(tmp_path)]) == 0
    length = next(at for at in range(27) if older.id[:at] != newer.id[:at])
    for word in (newer.id, newer.id[:length], newer.id[:length].lower(), "birds", "last"):
        assert whole_id(tmp_path, word) == newer.id
    assert whole_id(tmp_path, older.id[:length]) == older.id
    with pytest.raises(RunError, match=f"fits 2 runs: {newer.id}, {older.id}. Write more"):
        whole_id(tmp_path, older.id[: length - 1])
    with pytest.raises(RunError, match="Did you mean 'birds'"):
        whole_id(tmp_path, "bird")
    for word in ("", "../x", "zzz"):
        with pytest.raises(RunError, match="There is no run"):
            whole_id(tmp_path, word)
    with pytest.raises(RunError, match="no runs are in"):
        whole_id(tmp_path / "none", "last")


def test_a_sweep_is_meant_by_what_its_runs_begin_with_too(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", "happier"))
    assert len(list_runs(tmp_path)) > 1
    assert whole_id(tmp_path, plan.id[:10]) == whole_id(tmp_path, "last") == plan.id


def test_a_name_is_listed_and_taken_away_and_the_rest_of_the_label_stays(tmp_path: Path, capsys) -> None:
    run = make_run(tmp_path, points=40, frames=1)
    (run.path / "label.json").write_text(json.dumps({"name": "", "note": "a note", "tags": ["a"]}))
    assert main(["rename", "last", "  my   birds ", "--runs", str(tmp_path)]) == 0
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "my birds: " in capsys.readouterr().out
    assert main(["rename", "my birds", "", "--runs", str(tmp_path)]) == 0
    kept = read_label(run.path)
    assert (kept.name, kept.note, kept.tags) == ("", "a note", ("a",))


def test_runs_are_deleted_with_their_parts_and_none_that_trains_or_without_a_yes(tmp_path: Path, capsys) -> None:
    runs = ["--runs", str(tmp_path)]
    plan, run = make_plan(tmp_path, sweep("smooth_ap", "happier")), make_run(tmp_path, points=40, frames=1)
    every = {folder.id for folder in list_runs(tmp_path)}
    assert main(["delete", "last", *runs]) == 1  # no terminal
    with alive(run):
        assert main(["delete", run.id, "--yes", *runs]) == 1
    assert main(["delete", "nothing", "--yes", *runs]) == 1
    assert {folder.id for folder in list_runs(tmp_path)} == every
    said = capsys.readouterr().err
    assert "Give --yes" in said and "is being trained" in said and "There is no run 'nothing'" in said
    assert main(["delete", plan.id, "--yes", *runs]) == 0
    assert [folder.id for folder in list_runs(tmp_path)] == [run.id]
    assert f"deleted {len(every) - 1} runs" in capsys.readouterr().out


def test_without_a_command_the_help_is_printed(capsys) -> None:
    assert main([]) == 0
    assert "rename" in capsys.readouterr().out
