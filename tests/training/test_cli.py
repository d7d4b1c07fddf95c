"""The command line: real processes, a real folder of images, and tables of runs."""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.synthetic import make_run
from tests.training.conftest import SMALL
from trainers.cli.flags import add_flags, given
from trainers.cli.main import main
from trainers.cli.start import add_start_flags, configuration
from trainers.kinds import KINDS
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder, list_runs


def call(*words: str, runs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "trainers", *words, "--runs", str(runs)],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )


def test_train_list_and_resume(images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses = ("smooth_ap", "happier:alpha=2,weight_proxy=0.5")
    done = call(*SMALL, "--data", str(images), "--losses", *losses, runs=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "whole test set" in done.stdout and "HAPPIER" in done.stdout
    (folder,) = list_runs(tmp_path)
    assert folder.state().phase == "finished" and folder.state().step == 2
    assert dict(folder.config.losses[1].parameters) == {"alpha": 2, "weight_proxy": 0.5}
    listed = call("list", runs=tmp_path)
    assert folder.id in listed.stdout and "finished" in listed.stdout
    assert main(["resume", folder.id, "--runs", str(tmp_path)]) == 0
    assert main(["send", folder.id, "pause", "--runs", str(tmp_path)]) == 1
    assert "not being trained" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ([], MetricLearningConfig().minutes),
        (["--steps", "9"], None),
        (["--epochs", "2"], None),
        (["--steps", "9", "--minutes", "2"], 2.0),
        (["--minutes", "none", "--epochs", "2"], None),
        (["--steps", "none"], MetricLearningConfig().minutes),
    ],
)
def test_steps_replace_the_default_minutes(words: list[str], minutes: float | None) -> None:
    kind = KINDS["metric_learning"]
    parser = argparse.ArgumentParser()
    add_start_flags(parser, kind)
    assert configuration(parser.parse_args(words), kind).minutes == minutes


def test_a_flag_of_true_or_false_needs_no_value_and_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser, ContrastiveConfig)
    for words, value in (("", True), (" true", True), (" FALSE", False)):
        assert given(parser.parse_args(f"--frozen-norm{words}".split()), ContrastiveConfig) == {"frozen_norm": value}
    with pytest.raises(SystemExit):
        parser.parse_args(["--frozen-norm", "maybe"])
    assert "true or false was needed; got 'maybe'" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_an_interruption_while_nothing_trains_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_argv: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("trainers.cli.main.main", interrupted)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("trainers", run_name="__main__")
    assert ended.value.code == 130 and capsys.readouterr().err == "\nrankscope: interrupted.\n"


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


@pytest.mark.parametrize("words", [["--help"], ["list", "--runs", "."]])
def test_commands_that_train_nothing_import_no_torch(words: list[str], tmp_path: Path) -> None:
    make_run(tmp_path, points=30, frames=1)
    script = (
        f"import sys; from trainers.cli.main import main\ntry: main({words!r})\nfinally: print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "False"
