"""The verb ``list``: a table of runs with those of a sweep below it, and the same as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.synthetic import make_run
from trainers.cli.main import main
from trainers.kinds import KINDS
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder


def test_runs_are_a_table_and_members_stand_below_their_sweep(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    config = KINDS["metric_learning"].config(steps=3, minutes=None)
    plan = RunFolder.create(tmp_path, SweepConfig(run=config))
    member = RunFolder.create(tmp_path, config, part_of=plan.id, place_in_plan="seed 1")
    run = make_run(tmp_path, points=30, frames=1)
    assert main(["list", "--runs", str(tmp_path)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["ID", "MADE", "PHASE", "STEPS", "WHAT", "NUMBERS"]
    assert [line.split()[0] for line in lines] == [run.id, plan.id, member.id]
    assert lines[2].startswith(f"  {member.id}") and "seed 1: " in lines[2]
    assert "R@1 0.100 0.100, H-AP 0.200 0.200" in lines[0] and " finished " in lines[0]
    assert main(["list", "--runs", str(tmp_path), "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["id"], row["part_of"]) for row in rows] == [(run.id, ""), (plan.id, ""), (member.id, plan.id)]


def test_an_empty_folder_says_so(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "There are no runs in" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["list", "--runs", "."]])
def test_commands_that_train_nothing_import_no_torch(words: list[str], tmp_path: Path) -> None:
    make_run(tmp_path, points=30, frames=1)
    script = (
        f"import sys; from trainers.cli.main import main\ntry: main({words!r})\nfinally: print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "False"
