"""Plans as the page's addresses tell of them: the list and its order, the report, what a browser keeps, files."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.exports import EXPORTS
from explorer.server.library import folders
from explorer.server.visitors import digest
from explorer.tabs.compare import reports
from explorer.tabs.compare.curves import csv as curves_csv
from explorer.tabs.compare.reports import PlanReports
from explorer.tabs.compare.shown import Asked, Shown, asked_of
from tests.explorer.page import Line, Page
from tests.made_up_plan import LOST, make_plan, make_runs, sweep
from tests.synthetic import make_run
from trainers.config import RunConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.plans.planned import PlannedRun
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.runs.records import Scalar

LOSSES = ("smooth_ap", "happier")


@pytest.fixture(autouse=True)
def always_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request looks at the runs."""
    monkeypatch.setattr(reports, "LOOK_SECONDS", 0.0)


def reports_of(page: Page) -> PlanReports:
    return PlanReports(page.library, Line(), None)  # type: ignore[arg-type]


def report_of(page: Page, plan: RunFolder) -> dict[str, Any]:
    """The report of a plan as plain values."""
    reports = reports_of(page)
    return reports.report(reports.find(plan.id)).json()


def first_seed(planned: PlannedRun) -> str:
    return "finished" if planned.seed == 0 else "planned"


def test_plans_are_listed_without_their_runs_and_single_runs(page: Page, root: Path) -> None:
    make_run(root, points=48, frames=1)
    plan = make_plan(root, sweep(*LOSSES))
    (listed,) = reports_of(page).list()
    assert listed["id"] == plan.id and listed["title"].endswith("3 seeds")
    cards = {card["id"]: card for card in page.cards()}
    assert len(cards) == 5 and sum(card["part_of"] == plan.id for card in cards.values()) == 3
    assert cards[plan.id]["plans"] and cards[plan.id]["numbers"]["R_at_1"]["title"] == "R@1"
    (first, _second) = cards[plan.id]["lines"]
    assert first["title"] == "Smooth-AP" and first["spread"]["R_at_1"] > 0 and cards[plan.id]["members"] == 3


def test_the_report_has_a_table_and_verdicts_and_where_each_number_is_from(page: Page, root: Path) -> None:
    plan = make_plan(root, sweep(*LOSSES), gains={"HAPPIER": 0.05})
    state, about = page.json(f"plan/{plan.id}"), report_of(page, plan)
    assert state["state"]["words"] == "3 of 3 runs finished." and state["kind"] == "sweep"
    (part,) = about["parts"]
    assert [variant["title"] for variant in part["variants"]] == ["Smooth-AP", "HAPPIER"]
    worst, best = part["table"]["rows"]
    assert best["cells"]["R_at_1"]["best"] and not worst["cells"]["R_at_1"]["best"]
    values = best["cells"]["R_at_1"]["values"]
    runs = {run["id"]: run for run in about["runs"]}
    assert [(value["seed"], value["arm"]) for value in values] == [(0, 1), (1, 1), (2, 1)]
    assert [runs[value["run"]]["seed"] for value in values] == [0, 1, 2]
    assert best["cells"]["R_at_1"]["mean"] == pytest.approx(sum(value["value"] for value in values) / 3)
    (pair,) = [pair for pair in part["table"]["pairs"] if pair["metric"] == "R_at_1"]
    assert "HAPPIER above Smooth-AP" in pair["words"]


def test_a_browser_asks_in_vain_until_a_run_has_moved_on(page: Page, root: Path) -> None:
    plan = make_plan(root, sweep(*LOSSES), phase="stopped", stand=first_seed)
    first = page.get(f"plan/{plan.id}")
    assert first.json()["runs"] == 1
    again = page.get(f"plan/{plan.id}", **{"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and not again.content
    make_runs(plan)
    moved = page.get(f"plan/{plan.id}", **{"If-None-Match": first.headers["etag"]})
    assert moved.status_code == 200 and moved.json()["state"]["step"] == 3


def test_statistics_are_made_anew_only_when_a_run_has_ended(
    page: Page, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(root, sweep(*LOSSES), phase="stopped", stand=first_seed)
    made = []
    report = reports.report
    monkeypatch.setattr(reports, "report", lambda *given: made.append(given) or report(*given))
    for _ in range(3):
        page.json(f"plan/{plan.id}")
    assert len(made) == 1
    make_runs(plan, stand=lambda planned: "running" if planned.seed == 1 else "planned")
    page.json(f"plan/{plan.id}")
    assert len(made) == 1, "a run that trains has no result yet"


def test_what_was_lost_says_why(page: Page, root: Path) -> None:
    def stand(planned: PlannedRun) -> str:
        return "failed" if planned.seed == 1 and len(planned.variants) > 1 else "finished"

    about = report_of(page, make_plan(root, sweep(*LOSSES), stand=stand))
    lost = [run for run in about["runs"] if run["phase"] == "failed"]
    assert [(run["seed"], run["error"]) for run in lost] == [(1, LOST)]
    assert len(about["runs"]) == 5, "each loss of the failed run is trained alone"
    assert LOST in about["missing"][0]


def test_a_plan_without_results_has_its_runs(page: Page, root: Path) -> None:
    plan = make_plan(root, sweep(*LOSSES), phase="queued", stand=lambda _: "planned")
    about, told = page.json(f"plan/{plan.id}"), report_of(page, plan)
    assert told["parts"][0]["table"] is None and len(told["runs"]) == 3 and about["runs"] == 0
    assert about["state"]["words"] == "Waiting: 3 runs are planned." and about["state"]["queue_position"] == 3
    reply = page.get(f"run/{about['id']}/download/table.csv")
    assert reply.status_code == 404 and "has no result yet" in reply.json()["error"]


def test_a_plan_without_seeds_hides_no_other(page: Page, root: Path) -> None:
    whole, broken = make_plan(root, sweep(*LOSSES, seeds=1)), make_plan(root, sweep(*LOSSES, seeds=1))
    path = broken.path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seeds": []}))
    assert whole.id in {plan["id"] for plan in reports_of(page).list()}
    assert report_of(page, broken)["runs"] == []


def test_what_is_no_plan_is_refused(page: Page, root: Path) -> None:
    single = make_run(root, points=48, frames=1)
    for run_id in (single.id, "0" * 26, "..", "x" * 500):
        reply = page.get(f"plan/{run_id}")
        assert reply.status_code == 404 and "error" in reply.json()
    assert "single run" in page.get(f"plan/{single.id}").json()["error"]


def test_a_plan_belongs_to_the_holder_of_its_token(page: Page, root: Path) -> None:
    plan = make_plan(root, sweep(*LOSSES))
    write_bytes(plan.path / "owner", digest("mine").encode(), home=plan.path)
    assert page.get(f"plan/{plan.id}", **{"X-Rankscope-Token": "mine"}).json()["mine"] is True
    assert page.get(f"plan/{plan.id}", **{"X-Rankscope-Token": "other"}).json()["mine"] is False


def test_reports_are_files(page: Page, root: Path) -> None:
    plan = make_plan(root, replace(sweep(*LOSSES), vary={"dim": [32, 64]}))
    offered = page.json(f"plan/{plan.id}")["downloads"]
    assert set(offered) == {"run.zip", "table.csv", "table.md", "table.tex", "report.json", "report.zip"}
    files = {name: page.get(f"run/{plan.id}/download/{name}") for name in offered}
    assert all(reply.status_code == 200 for reply in files.values())
    rows = list(csv.DictReader(io.StringIO(files["table.csv"].text)))
    assert [(row["variant"], row["Embedding size"]) for row in rows[:2]] == [("Smooth-AP", "32"), ("HAPPIER", "32")]
    assert "| Smooth-AP | 32 |" in files["table.md"].text and r"\toprule" in files["table.tex"].text
    assert len(json.loads(files["report.json"].content)["runs"]) == 6
    with zipfile.ZipFile(io.BytesIO(files["report.zip"].content)) as archive:
        assert "report.md" in archive.namelist()
    refused = set(EXPORTS) - set(offered)
    assert refused >= {"film.mp4", "metrics.csv", "curves.html"}
    for name in refused:
        assert f"has no download '{name}'" in page.get(f"run/{plan.id}/download/{name}").json()["error"]


def test_a_recorded_comparison_is_itself_again_once_an_own_one_of_its_id_is_gone(page: Page, root: Path) -> None:
    plan = make_plan(page.library.recorded, sweep("smooth_ap", seeds=2))
    plan.db.close()
    run_folder = RunFolder(Path(shutil.copytree(plan.path, root / plan.id)))  # without its runs
    assert page.json(f"plan/{plan.id}")["state"]["words"].startswith("0 of 2")
    run_folder.delete()
    page.get(f"plan/{plan.id}")  # what was open is found to be gone
    about = page.json(f"plan/{plan.id}")
    assert about["recorded"] and about["state"]["words"].startswith("2 of 2")


def test_the_runs_of_a_plan_are_listed_by_their_place_in_it(tmp_path: Path) -> None:
    config: RunConfig = MetricLearningConfig()
    before = RunFolder.create(tmp_path, config)
    plan = make_plan(tmp_path, sweep("smooth_ap", seeds=11, vary={"dim": [8, 16]}))
    listed = folders(tmp_path, tmp_path / "none")
    assert listed[-1].id == before.id
    places = [folder.place_in_plan for folder in listed if folder.part_of == plan.id]
    assert places == [f"seed {seed}, embedding size {size}" for seed in range(11) for size in (8, 16)]


def test_rows_are_all_that_is_planned_and_what_is_asked_for_is_only_what_is_there(page: Page, root: Path) -> None:
    config = replace(sweep(*LOSSES), vary={"smooth_ap.tau": [0.01, 0.1], "dim": [64, 32]})
    plan = make_plan(root, config, stand=first_seed)
    whole = reports_of(page).report(reports_of(page).find(plan.id))
    shown = Shown(whole, asked_of([None, 3, "Embedding size 64", ["HAP", "nowhere", "AP_at_R"], {}, "tau 9"]))
    assert [shown.described[place].key for place in shown.metrics] == ["HAP", "AP_at_R"] and shown.metric == 0
    assert shown.conditions == ["Embedding size 32", "Embedding size 64"] and shown.under == "Embedding size 64"
    titles = ["Smooth-AP (tau 0.01)", "Smooth-AP (tau 0.1)", "HAPPIER"]
    assert [row.variant.title for row in shown.here()] == titles
    assert [list(row.seeds("HAP")) for row in shown.rows] == [[0]] * 6
    over = shown.over
    assert over is not None and over.axis.title == "Embedding size" and over.at == over.places[0]
    over = Shown(whole, Asked(axis="tau", at="Embedding size 64")).over
    assert over is not None and {name: len(rows) for name, rows in over.lines.items()} == {"Smooth-AP": 2, "HAPPIER": 1}
    assert shown.conclusion() and len(shown.verdicts(0)) == 3


def test_curves_are_means_over_the_seeds_that_got_so_far(page: Page, root: Path) -> None:
    plan = make_plan(root, sweep("smooth_ap"), phase="stopped", stand=lambda _: "running")
    children = reports_of(page).report(reports_of(page).find(plan.id)).children
    for child, points in zip(children, ({0: 0.0, 20: 0.4}, {0: 0.2, 10: 0.6}, {10: math.inf}), strict=True):
        run = RunFolder.open(root, child.id)
        run.db.add_metrics(Scalar(arm=0, step=at, seconds=1.0, key="HAP", value=value) for at, value in points.items())
        run.db.close()
    shown = Shown(reports_of(page).report(reports_of(page).find(plan.id)), Asked())
    (curve,) = reports_of(page).curves.of(plan, shown, "HAP")
    assert (curve.steps, curve.seeds) == ([0, 10, 20], [2, 2, 1])
    assert curve.mean == pytest.approx([0.1, 0.4, 0.4]) and curve.low == pytest.approx([0.0, 0.2, 0.4])
    assert curve.high == pytest.approx([0.2, 0.6, 0.4])
    reply = page.get(f"plan/{plan.id}/curves.csv?key=HAP")
    assert reply.text == curves_csv([curve], "HAP") and reply.text.startswith("loss,step,HAP,")
    assert reports_of(page).curves.of(plan, shown, "nowhere") == []


def test_a_run_is_read_again_only_when_something_was_written_to_it(page: Page, root: Path) -> None:
    plan = make_plan(root, sweep("smooth_ap", seeds=1), phase="running", stand=lambda _: "running")
    reports = reports_of(page)
    (child,) = reports.report(reports.find(plan.id)).children
    run, shown = RunFolder.open(root, child.id), Shown(reports.report(reports.find(plan.id)), Asked())
    for written, step in enumerate((10, 20), 1):
        run.db.add_metrics([Scalar(arm=0, step=step, seconds=1.0, key="HAP", value=0.5)])
        for _viewer in range(3):
            (curve,) = reports.curves.of(plan, shown, "HAP")
            assert curve.steps[-1] == step and list(reports.curves.metrics_of(plan, shown)) == ["HAP"]
        assert reports.library.room.held == 2 * written, "numbers and their keys, read once"
    run.db.close()
