"""How runs are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.server.run import Run
from explorer.server.titles import data_title, run_title, summary
from tests.synthetic import hierarchy
from trainers.config import DataChoice, RunConfig
from trainers.hierarchy import severity_words
from trainers.kinds import arm_titles
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder


def _run(tmp_path: Path, config: RunConfig) -> Run:
    return Run(RunFolder.create(tmp_path, config))


@pytest.mark.parametrize(
    ("losses", "titles"),
    [
        ([("smooth_ap", {})], ["Smooth-AP"]),
        ([("smooth_ap", {}), ("smooth_ap", {})], ["Smooth-AP #1", "Smooth-AP #2"]),
        ([("smooth_ap", {"tau": 0.1}), ("happier", {})], ["Smooth-AP", "HAPPIER"]),
        ([("smooth_ap", {"tau": 0.1}), ("smooth_ap", {"tau": 0.2})], ["Smooth-AP (tau 0.1)", "Smooth-AP (tau 0.2)"]),
        ([("smooth_ap", {}), ("smooth_ap", {"tau": 0.2})], ["Smooth-AP (tau 0.01)", "Smooth-AP (tau 0.2)"]),
        ([("smooth_ap", {}), ("smooth_ap", {"tau": 0.01})], ["Smooth-AP #1", "Smooth-AP #2"]),
        (
            [("contextual", {"k": 4, "eps": 0.1}), ("contextual", {"k": 8, "eps": 0.1})],
            ["Contextual (k 4)", "Contextual (k 8)"],
        ),
        ([("of_another_version", {})], ["of_another_version"]),
    ],
)
def test_titles_differ(losses: list, titles: list[str]) -> None:
    choices = tuple(Choice(name=name, parameters=parameters) for name, parameters in losses)
    assert arm_titles(MetricLearningConfig(losses=choices)) == titles


@pytest.mark.parametrize(
    ("losses", "title"),
    [
        ([("smooth_ap", {}), ("happier", {})], "Smooth-AP vs HAPPIER on Drawn world"),
        ([("smooth_ap", {}), ("smooth_ap", {"tau": 0.2})], "Smooth-AP: tau 0.01 vs 0.2 on Drawn world"),
        ([("supcon", {})], "SupCon on Drawn world"),
    ],
)
def test_what_varies_stands_in_the_title_of_a_run(tmp_path: Path, losses: list, title: str) -> None:
    choices = tuple(Choice(name=name, parameters=parameters) for name, parameters in losses)
    assert run_title(_run(tmp_path, MetricLearningConfig(losses=choices))) == title


@pytest.mark.parametrize(
    ("source", "title"),
    [("drawn", "Drawn world"), ("/home/somebody/my photos/", "my photos"), ("owner/name", "name")],
)
def test_images_have_a_name_before_they_are_read(tmp_path: Path, source: str, title: str) -> None:
    assert data_title(_run(tmp_path, MetricLearningConfig(data=DataChoice(source=source)))) == title


@pytest.mark.parametrize(
    ("steps", "minutes", "budget"), [(500, None, "500 steps"), (None, 2.0, "2 min"), (500, 0.5, "500 steps or 0.5 min")]
)
def test_the_summary_names_the_budget(tmp_path: Path, steps: int, minutes: float, budget: str) -> None:
    run = _run(tmp_path, MetricLearningConfig(steps=steps, minutes=minutes))
    assert summary(run) == f"Drawn world, Conv-4, 32 classes x 4 images, {budget}, seed 0"


def test_severity_runs_from_unrelated_to_the_finest_level() -> None:
    assert severity_words(hierarchy()) == ["unrelated", "same aisle", "same kind", "same product"]
