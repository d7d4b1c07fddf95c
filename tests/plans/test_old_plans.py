"""Plans of earlier versions, which held the settings of their runs beside their own, open and go on unchanged.

``tests/fixtures/plans/README.md`` says how each was made.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.explorer.page import Page
from tests.runs.old_runs import assert_resumes
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans.children import Children
from trainers.plans.config import FairComparisonConfig, SweepConfig
from trainers.runs import RunFolder
from trainers.runs.config_file import read_config

FIXTURES = Path(__file__).parents[1] / "fixtures" / "plans"
SWEEP, FAIR = "sweep_stopped", "fair_comparison_stopped"
TITLES = {
    SWEEP: "Triplet on Drawn world, over margin, 2 seeds",
    FAIR: "Fair comparison: Triplet on Drawn world, seed 0",
}


def unpacked(name: str, root: Path) -> RunFolder:
    with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
        archive.extractall(root)
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


@pytest.mark.long
@pytest.mark.parametrize("name", [SWEEP, FAIR])
def test_it_goes_on_with_the_runs_that_were_left(name: str, tmp_path: Path) -> None:
    plan = unpacked(name, tmp_path)
    before = {child.id: RunFolder(tmp_path / child.id).state() for child in Children(plan).all() if child.outcome}
    done = {run: state.updated for run, state in before.items() if state.phase == "finished"}
    plan.db.close()
    command = [sys.executable, "-m", "trainers", "resume", plan.id, "--runs", str(tmp_path)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert made.returncode == 0, made.stderr
    children = Children(plan).all()
    assert {child.phase for child in children} == {"finished"} and done
    assert {run: RunFolder(tmp_path / run).state().updated for run in done} == done, "none is trained twice"
    plan.db.close()


@pytest.mark.parametrize("name", [SWEEP, FAIR])
def test_the_run_that_was_left_resumes_to_the_same_numbers(name: str, tmp_path: Path) -> None:
    unpacked(name, tmp_path)
    (left,) = tmp_path.glob("*/ckpt/last.safetensors")
    assert_resumes(name, left.parents[1])
