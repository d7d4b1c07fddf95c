"""Plans of earlier versions, which held the settings of their runs beside their own, open and go on unchanged.

``tests/fixtures/plans/README.md`` says how each was made.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import torch

from tests.explorer.page import Page
from tests.runs.test_old_runs import MADE_WITH, SAME_BITS, digest
from trainers.config import read_config
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans.children import Children
from trainers.plans.config import FairComparisonConfig, SweepConfig
from trainers.runs import RunFolder

FIXTURES = Path(__file__).parents[1] / "fixtures" / "plans"
SWEEP, FAIR = "sweep_stopped", "fair_comparison_stopped"
TITLES = {
    SWEEP: "Triplet on Drawn world, over triplet.margin, 2 seeds",
    FAIR: "Fair comparison: Triplet on Drawn world, seed 0",
}
RESUMED = {
    SWEEP: {"seed=1,group=0": "ae902920e2bcdf7de70c3ea885b77951afd3c085bfc3b825af1d36a960d20133"},
    FAIR: {
        "search,loss=0,trial=0,13f8d0ba,fold=2": "53ec99125f822afcdff2b988e7e362187096d91d1a6bb682e84284ff40bee092",
        "search,loss=0,trial=1,2574c0bd,fold=1": "7df9fb4bb2e164291361c560b7aeeb028479616fc3185785b0bec0e75eb6b72a",
        "search,loss=0,trial=1,2574c0bd,fold=2": "aa2330b138752841baf3106a7a349f9a24be605a41c0c2957a0f71e6c41ef6b2",
        "defaults,loss=0,seed=0": "47724a9dd3b70be98b9a86eccae0c569f3abda5cd7c391ee65689cfbeb0fc659",
    },
}
"""Digests of the last checkpoints of the runs that were left, by name, after the version that wrote it resumed it."""


def unpacked(name: str, root: Path) -> RunFolder:
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extractall(root, filter="data")
    (plan,) = (path for path in root.iterdir() if not (path / "part_of").exists())
    assert "run" not in json.loads((plan / "config.json").read_text())
    return RunFolder(plan)


@pytest.mark.parametrize("name", [SWEEP, FAIR])
def test_it_opens_with_its_runs_and_results(name: str, tmp_path: Path) -> None:
    plan = unpacked(name, tmp_path / "runs")
    config = plan.config
    assert isinstance(config, SweepConfig) and isinstance(config.run, MetricLearningConfig)
    assert isinstance(config, FairComparisonConfig) == (name == FAIR)
    assert (config.run.dim, config.run.device, config.run.losses[0].name) == (8, "cpu", "triplet")
    assert read_config(config.to_json()) == config
    page = Page(tmp_path / "runs", tmp_path / "recorded", tmp_path / "assets")
    about = page.json(f"plan/{plan.id}")
    there = {run["id"] for run in about["runs"] if run["there"]}
    assert there == {path.name for path in plan.path.parent.iterdir()} - {plan.id}, "its runs are found by their ids"
    assert {run["phase"] for run in about["runs"] if run["there"]} == {"finished", "interrupted"}
    assert [run["ended"] for run in about["runs"]].count(True) == 1
    assert (about["title"], about["of"]) == (TITLES[name], "metric_learning")
    page.library.close()


@pytest.mark.parametrize("name", [SWEEP, pytest.param(FAIR, marks=pytest.mark.long)])
def test_it_goes_on_to_the_same_runs_and_the_same_bits(name: str, tmp_path: Path) -> None:
    plan = unpacked(name, tmp_path)
    before = {child.id: RunFolder(tmp_path / child.id).state() for child in Children(plan).all() if child.outcome}
    done = {run: state.updated for run, state in before.items() if state.phase == "finished"}
    plan.db.close()
    command = [sys.executable, "-m", "trainers", "resume", plan.id, "--runs", str(tmp_path)]
    made = subprocess.run(command, env=os.environ | SAME_BITS, capture_output=True, text=True, timeout=240)
    assert made.returncode == 0, made.stderr
    children = Children(plan).all()
    assert {child.phase for child in children} == {"finished"} and done
    assert {run: RunFolder(tmp_path / run).state().updated for run in done} == done, "none is trained twice"
    if torch.__version__.split("+")[0] == MADE_WITH:
        trained = [child for child in children if child.id not in done]
        weights = {one.planned.name: digest(tmp_path / one.id / "ckpt" / "last.safetensors") for one in trained}
        assert weights == RESUMED[name]
    plan.db.close()
