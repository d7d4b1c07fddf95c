"""What a fair comparison says, from outcomes that are made up: verdicts before and after, values, spaces and cost."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import pytest

from tests.plans.fair_comparison.made_up import fair, outcome, whole
from trainers.comparison import Cell, table
from trainers.plans.children import Children
from trainers.plans.config import FairComparisonConfig
from trainers.plans.fair_comparison import DESCRIPTOR as PLAN
from trainers.plans.findings import changes
from trainers.plans.planned import Child, Outcome, PlannedRun, PlanPart
from trainers.plans.report import report
from trainers.runs import RunFolder
from trainers.runs.folder import id_within
from trainers.runs.records import RunState, Scalar

SPREAD = (-0.01, 0.0, 0.01)


def at_seed(run: PlannedRun) -> float:
    """Triplet is best at its defaults and last after the search; every run of a loss differs a little by its seed."""
    (loss,) = run.config.losses  # type: ignore[attr-defined]
    if run.part == "search":
        return 0.5 if loss.name == "triplet" or not run.name.split("trial=")[1].startswith("0") else 0.3
    level = {"triplet": 0.6, "contextual": 0.5}[loss.name] + (0.3 if run.part == "chosen" else 0.0)
    return level + SPREAD[run.seed] * (1 if loss.name == "triplet" else 0.5)


def said(config: FairComparisonConfig, outcomes: dict[str, Outcome]) -> dict[str, tuple[str, ...]]:
    planned = PLAN.plan(config, outcomes)
    children = [Child(planned=run, id=run.name, phase="finished", outcome=outcomes.get(run.name)) for run in planned]
    parts = []
    for name, title in PLAN.parts.items():
        own = [child for child in children if name in child.planned.parts]
        cells = [
            Cell(
                variant=child.planned.variants[0].title,
                condition=child.planned.condition,
                seed=child.planned.seed,
                metrics=child.outcome.numbers[0] if child.outcome.finished else {},
            )
            for child in own
            if child.outcome is not None
        ]
        parts.append(PlanPart(name=name, title=title, children=own, table=table(cells, ["R_at_1", "AP_at_R"])))
    return {finding.title: finding.sentences for finding in PLAN.findings(config, children, parts)}


def test_a_conclusion_that_the_search_changes_is_said_pair_by_pair() -> None:
    config = fair("triplet", "contextual", trials=2)
    _, outcomes = whole(config, at_seed)
    found = said(config, outcomes)
    changed = "Triplet above Contextual at the settings given, Contextual above Triplet at the settings chosen."
    assert found["Conclusion"] == (
        "mAP@R, by which trials were chosen: the search changed 1 of 1 verdict.",
        f"Triplet and Contextual: {changed}",
        "R@1: the search changed 1 of 1 verdict.",
        f"Triplet and Contextual: {changed}",
    )
    triplet, contextual = found["Chosen"]
    assert triplet == "Triplet: the settings given are the best of 2 trials (mAP@R 50.0)."
    assert contextual.startswith(
        "Contextual: trial 2, mAP@R 50.0 on the folds against 30.0 at the settings given: learning rate "
    )
    *_, space = found["Searched"]
    assert "learning rate 0.0004 to 0.04, logarithmic;" in space and space.endswith("Not searched: k, alpha, total.")
    assert found["Cost"][0] == "Search: 8 of 8 runs have ended; 16 s of training."


def test_before_the_end_nothing_is_concluded_and_failures_are_counted() -> None:
    config = fair("triplet", "contextual", trials=2)
    planned = PLAN.plan(config, {})
    found = said(config, {planned[0].name: outcome(planned[0], lambda _run: None)})
    assert found["Conclusion"] == ("Whether the search changes the verdicts is known when all runs have ended.",)
    assert found["Chosen"][0] == "Triplet: 0 of 2 trials have ended."
    assert found["Cost"][0] == "Search: 1 of 4 runs have ended, 1 without a result; 1 s of training."
    _, outcomes = whole(config, lambda run: None if run.part == "search" else at_seed(run))
    found = said(config, outcomes)
    assert found["Conclusion"][0].endswith("the search changed no verdict (1 pair compared).")
    assert "no trial has a score" in found["Chosen"][0]


def test_verdicts_that_differ_are_found_under_their_condition() -> None:
    def cells(levels: dict[tuple[str, float], float]) -> list[Cell]:
        return [
            Cell(variant=v, condition={"Noise": noise}, seed=seed, metrics={"R_at_1": level + SPREAD[seed] * scale})
            for (v, noise), level in levels.items()
            for seed, scale in zip(range(3), (1, 1, 1) if v == "a" else (1, 1, 1.1), strict=True)
        ]

    given = table(cells({("a", 0.0): 0.5, ("b", 0.0): 0.7, ("a", 0.4): 0.5, ("b", 0.4): 0.7}), ["R_at_1"])
    chosen = table(cells({("a", 0.0): 0.5, ("b", 0.0): 0.7, ("a", 0.4): 0.5, ("b", 0.4): 0.5}), ["R_at_1"])
    assert changes(given, given, "R_at_1") == (2, [])
    assert changes(given, chosen, "R_at_1") == (
        2,
        ["a and b, Noise 0.4: b above a at the settings given, could be chance at the settings chosen."],
    )
    swapped = table(cells({("b", 0.0): 0.7, ("a", 0.0): 0.5, ("b", 0.4): 0.7, ("a", 0.4): 0.5}), ["R_at_1"])
    assert changes(given, swapped, "R_at_1") == (2, []), "the order of the rows is no change"
    assert changes(given, chosen, "HAP") == (0, [])


@pytest.fixture
def ended(tmp_path: Path) -> RunFolder:
    """The folder of a fair comparison whose runs were made without training."""
    config = fair("triplet", "contextual", trials=3)
    plan = RunFolder.create(tmp_path, config)
    for run in whole(config, at_seed)[0]:
        folder = RunFolder.create(tmp_path, run.config, run_id=id_within(plan.id, run.name), part_of=plan.id)
        numbers = outcome(run, at_seed).numbers[0]
        scalars = [
            Scalar(step=10, seconds=2.0, arm=0, key=f"test/{key}", value=value) for key, value in numbers.items()
        ]
        folder.db.add_metrics(scalars)
        folder.db.set_state(RunState(phase="finished", step=10, seconds=2.0, message="made up"))
        folder.db.close()
    return plan


def test_the_report_is_read_from_the_folders_of_the_runs(ended: RunFolder) -> None:
    children = Children(ended)
    assert all(child.phase == "finished" for child in children.all())
    assert [child.planned.name for child in children.all()] == [child.planned.name for child in Children(ended).all()]
    found = report(ended)
    assert [part.title for part in found.parts] == ["Settings chosen", "Settings given"]
    chosen, given = (part["table"]["rows"] for part in found.json()["parts"])
    means = [[round(row["cells"]["AP_at_R"]["mean"], 6) for row in rows] for rows in (chosen, given)]
    assert sorted(means[0]) == [0.6, 0.8] and sorted(means[1]) == [0.5, 0.6]
    runs = {value["run"] for row in given if row["variant"] == "Triplet" for value in row["cells"]["R_at_1"]["values"]}
    same = {value["run"] for row in chosen if row["variant"] == "Triplet" for value in row["cells"]["R_at_1"]["values"]}
    assert runs == same and len(runs) == 3, "Triplet is not trained again with the settings that it was given"
    text = found.markdown()
    assert "Triplet above Contextual at the settings given, Contextual above Triplet" in text
    with zipfile.ZipFile(io.BytesIO(found.archive())) as archive:
        head, *lines = csv.reader(io.StringIO(archive.read("trials.csv").decode()))
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    assert [(row["variant"], row["trial"], row["chosen"]) for row in rows] == [
        *(("Triplet", str(trial), str(trial == 1)) for trial in (1, 2, 3)),
        *(("Contextual", str(trial), str(trial == 2)) for trial in (1, 2, 3)),
    ]
    assert {row["AP_at_R fold 1"] for row in rows} == {"0.5", "0.3"} and {row["seconds"] for row in rows} == {"4.0"}
    assert rows[0]["margin"] == "0.2" and rows[0]["eps"] == "" and rows[3]["eps"] == "0.05"
    assert found.latex().count(r"\begin{tabular}") == 2 and "Contextual" in found.csv()
