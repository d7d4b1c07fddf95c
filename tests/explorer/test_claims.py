"""The Claims tab's addresses: the board, runs that are queued, numbers of runs that are here, downloads."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from explorer.page.tab import Shared
from explorer.server.library import Library
from explorer.server.routes import TOKEN_HEADER, mounted
from explorer.tabs.claims import DESCRIPTOR, board
from tests.claims.world import claim_of
from tests.explorer.bench import Bench
from tests.explorer.page import Client
from tests.made_up_plan import make_plan, sweep
from tests.synthetic import make_run
from trainers.claims.base import Difference, Side
from trainers.claims.catalogue import CLAIMS
from trainers.claims.verdict import LACKING, VERDICTS
from trainers.runs import RunFolder
from trainers.runs.label import read_label

MADE_UP = claim_of(Difference(metric="HAP", first=Side(arm="HAPPIER"), second=Side(arm="Smooth-AP")))


class Page(Client):
    """A client of the board's addresses over a folder of runs, in which nothing trains."""

    def __init__(self, folder: Path) -> None:
        bench = Bench(folder)
        self.root = bench.settings.runs
        self.root.mkdir()
        library = Library(self.root, bench.settings.recorded)
        shared = Shared(settings=bench.settings, library=library, runs=bench.runs, layout=None, turns=None)  # type: ignore[arg-type]
        super().__init__(mounted(DESCRIPTOR.routes(board.Board(shared))))

    def start(self, path: str) -> httpx.Response:
        return self.post(path, {}, **{TOKEN_HEADER: "mine"})


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(tmp_path)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A board of one claim, whose runs are made up."""
    monkeypatch.setattr(board, "CLAIMS", {MADE_UP.name: MADE_UP})
    monkeypatch.setattr(board.tables, "results", lambda: {MADE_UP.name: None})
    monkeypatch.setattr(board.tables, "rows", lambda _results: [("made_up", "", "", "not run yet")])


def test_the_board_has_every_claim_with_its_verdict_in_words(page: Page) -> None:
    about = page.json("claims")
    assert [claim["name"] for claim in about["claims"]] == list(CLAIMS)
    assert about["verdicts"] == list(VERDICTS) and about["counted"].startswith(f"{len(CLAIMS)} claims, ")
    for claim in about["claims"]:
        assert claim["verdict"] in VERDICTS and claim["words"].lower().startswith(claim["verdict"])
        assert claim["here"] is None and claim["recipe"].startswith("python -m trainers ")
        assert bool(claim["protocol"]) == claim["runs"] == (claim["verdict"] != LACKING)


def test_finished_runs_here_have_numbers_and_a_verdict_of_their_own(page: Page, made_up: None) -> None:
    make_run(page.root, points=48, frames=1).db.close()
    plan = make_plan(page.root, MADE_UP.plan(), gains={"HAPPIER": 0.05})  # type: ignore[misc]
    (claim,) = page.json("claims")["claims"]
    assert claim["here"]["id"] == plan.id and claim["here"]["finished"] and claim["verdict"] == "not run yet"
    here = page.json("claims/made_up")
    assert here["verdict"] == "seen" and here["result"]["seeds"] == [0, 1, 2]
    (difference,) = here["result"]["differences"]
    assert difference["mean"] == pytest.approx(0.05, abs=0.01) and difference["low"] > 0
    assert [len(side["values"]) for side in difference["sides"]] == [3, 3]


def test_the_first_of_two_plans_says_that_another_follows(
    page: Page, made_up: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = sweep("smooth_ap", "happier", seeds=1)
    monkeypatch.setattr(board, "CLAIMS", {MADE_UP.name: replace(MADE_UP, begins=lambda: search)})
    make_plan(page.root, search)
    (claim,) = page.json("claims")["claims"]
    assert not claim["here"]["finished"] and claim["here"]["part"] == "part 1 of 2, "


def test_no_numbers_before_its_runs_are_finished(page: Page, made_up: None) -> None:
    assert "are not finished here" in page.refused("claims/made_up")
    first = {0: "finished"}
    make_plan(page.root, MADE_UP.plan(), "running", lambda run: first.get(run.seed, "planned"))  # type: ignore[misc]
    (claim,) = page.json("claims")["claims"]
    assert not claim["here"]["finished"] and claim["here"]["words"].startswith("1 of 3 runs finished")
    assert "are not finished here" in page.refused("claims/made_up")
    assert "there is no" in page.refused("claims/unknown").lower()


def test_its_runs_are_queued_once_as_a_sweep(page: Page, made_up: None) -> None:
    answer = page.start("claims/made_up")
    folder = RunFolder.open(page.root, answer.json()["id"])
    assert folder.config.to_json() == MADE_UP.plan().to_json()  # type: ignore[misc]
    assert read_label(folder.path).name == "Claim: Made up"
    folder.db.close()
    again = page.start("claims/made_up")
    assert again.status_code == 400 and "already" in again.json()["error"]


def test_what_is_not_at_hand_answers_with_its_recipe(page: Page) -> None:
    lacking = next(claim for claim in CLAIMS.values() if claim.plan is None)
    answer = page.start(f"claims/{lacking.name}")
    assert answer.status_code == 400 and lacking.recipe in answer.json()["error"]


def test_the_tables_are_downloaded(page: Page) -> None:
    rows = list(csv.DictReader(io.StringIO(page.get("claims.csv").text)))
    assert list(dict.fromkeys(row["claim"] for row in rows)) == list(CLAIMS)
    latex = page.get("claims.tex").text
    assert latex.startswith(r"\begin{table}") and latex.count(r" \\") == len(CLAIMS) + 1
