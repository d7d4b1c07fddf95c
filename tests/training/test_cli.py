"""The command line: real processes, a real folder of images."""

from __future__ import annotations

import argparse
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from trainers.cli.flags import add_flags, given
from trainers.cli.main import main
from trainers.cli.start import add_start_flags, configuration
from trainers.kinds import KINDS
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.runs import list_runs


def call(*words: str, runs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "trainers", *words, "--runs", str(runs)],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )


SMALL = "--steps 4 --classes-per-batch 4 --images-per-class 3 --encoder small_conv:width=8 --dim 16 --threads 1"


def test_train_list_and_resume(images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses = ("smooth_ap", "happier:alpha=2,weight_proxy=0.5")
    done = call("train", "--data", str(images), *SMALL.split(), "--losses", *losses, runs=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "whole test set" in done.stdout and "HAPPIER" in done.stdout
    (folder,) = list_runs(tmp_path)
    assert folder.state().phase == "finished" and folder.state().step == 4
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


def test_batches_that_do_not_suit_a_loss_are_said_and_trained(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "--data", str(images), *SMALL.split(), "--runs", str(tmp_path), "--losses"]
    assert main([*words, "contextual", "contextual:k=4", "smooth_ap"]) == 0
    said = capsys.readouterr().err
    for k in (3, 4):
        sentence = "Contextual measures the ranking only where k is the number of images per class, even and at least 4"
        assert f"k is {k}, with 3 images per class and 4 classes. Leave k empty" in said
        assert said.count(f"rankscope: {sentence}") == 2
    (folder,) = list_runs(tmp_path)
    assert (folder.path / "log.txt").read_text().count("note: Contextual measures the ranking only where") == 2
    assert main([*words, "contextual", "--images-per-class", "4", "--steps", "1"]) == 0
    assert "rankscope:" not in capsys.readouterr().err


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
