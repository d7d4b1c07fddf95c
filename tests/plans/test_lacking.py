"""Finished plans with runs that failed: what is said of them, and that these are trained on alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.server.library import Library
from explorer.tabs.compare import reports
from explorer.tabs.runs.run_list import runs as listed
from tests.explorer.bench import Bench
from tests.made_up_plan import make_plan, sweep
from trainers.cli.main import main
from trainers.errors import RunError
from trainers.plans.children import Children, lacking, lacks
from trainers.plans.planned import PlannedRun
from trainers.plans.report import report
from trainers.runs import RunFolder


def lose(*seeds: int, phase: str = "failed") -> Callable[[PlannedRun], str]:
    return lambda run: phase if run.seed in seeds else "finished"


@pytest.mark.parametrize(
    ("phases", "planned", "said"),
    [
        (["finished"] * 3, 3, ""),
        ([], 3, ""),
        (["failed", "finished", "failed"], 9, "2 of 9 runs failed"),
        (["failed"], 1, "1 of 1 run failed"),
        (["stopped"], 4, "1 of 4 runs was stopped"),
        (["stopped", "stopped"], 4, "2 of 4 runs were stopped"),
        (["failed", "stopped", "running", "interrupted"], 4, "1 of 4 runs failed, 1 was stopped"),
    ],
)
def test_how_many_have_no_result(phases: list[str], planned: int, said: str) -> None:
    assert lacking(phases, planned) == said


def test_a_finished_plan_counts_them_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", vary={"dim": [16, 32, 64]}), stand=lose(1))
    assert lacks(plan) == "3 of 9 runs failed"
    assert plan.state().message == "3 of 9 runs failed, 6 finished"
    children = Children(plan).all()
    assert reports.in_words("finished", children) == "3 of 9 runs failed, 6 finished."
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "finished, 3 of 9 runs failed" in capsys.readouterr().out
    assert main(["list", "--runs", str(tmp_path), "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["phase"], first["lacking"]) == ("finished", "3 of 9 runs failed")
    plan.db.close()


@pytest.mark.parametrize(
    ("lost", "stands", "note"),
    [
        ((1,), "It stands on seeds 0 and 2; of seed 1 not every result is there.", "No result of seed 1."),
        (
            (0, 2),
            "It stands on seed 1; of seeds 0 and 2 not every result is there.",
            "No result of seeds 0 and 2.",
        ),
        ((), "", ""),
    ],
)
def test_the_verdict_names_its_seeds(lost: tuple[int, ...], stands: str, note: str, tmp_path: Path) -> None:
    plan = make_plan(tmp_path, sweep("smooth_ap", "happier"), stand=lose(*lost), gains={"HAPPIER": 0.1})
    (part,) = report(plan).parts
    assert part.table is not None
    texts = [text for _, _, text in part.table.conclusions()]
    assert texts and all(text.endswith(stands or ".") and ("stands on" in text) == bool(stands) for text in texts)
    pairs = [text for *_, text in part.table.verdicts()]
    on = {(1,): " (on seeds 0 and 2)", (0, 2): " (on seed 1)", (): ""}[lost]
    assert pairs and all(text.endswith(on) and (" (on " in text) == bool(on) for text in pairs)
    assert (note in part.table.notes()) == bool(note)
    plan.db.close()


def test_the_page_trains_on_what_has_no_result(bench: Callable[..., Bench]) -> None:
    b = bench(how="0.05")
    plan = b.runs.start(sweep("smooth_ap", seeds=2), "word")
    b.until(plan, "finished")
    folder = RunFolder(b.settings.runs / plan)
    with pytest.raises(RunError, match="this one is finished"):
        b.runs.resume(plan, "word")
    first = folder.beside(Children(folder).all()[0].id)
    first.db.set_state(replace(first.state(), phase="failed", error="It was too bright."))
    (card,) = [card for card in listed(Library(b.settings.runs, b.settings.recorded), b.runs) if card["plans"]]
    assert card["label"] == "finished, 1 of 2 runs failed" and card["acts"] == ["resume"]
    assert b.runs.resume(plan, "word") == "1 of 2 runs failed; they resume when it is their turn."
    b.until(plan, "finished")
    assert lacks(folder) == "" and first.state().phase == "finished"
    for each in (folder, first):
        each.db.close()
