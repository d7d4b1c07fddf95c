"""The order in which the runs are listed."""

from __future__ import annotations

from pathlib import Path

from explorer.server.library import folders
from tests.made_up_plan import make_plan, sweep
from trainers.config import RunConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.runs import RunFolder


def test_the_runs_of_a_plan_are_listed_by_their_place_in_it(tmp_path: Path) -> None:
    config: RunConfig = MetricLearningConfig()
    before = RunFolder.create(tmp_path, config)
    plan = make_plan(tmp_path, sweep("smooth_ap", seeds=11, vary={"dim": [8, 16]}))
    listed = folders(tmp_path, tmp_path / "none")
    assert listed[-1].id == before.id
    places = [folder.place_in_plan for folder in listed if folder.part_of == plan.id]
    assert places == [f"seed {seed}, embedding size {size}" for seed in range(11) for size in (8, 16)]
