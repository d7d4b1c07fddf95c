"""The Claims tab's addresses: the board, runs that are queued, numbers of runs that are here, downloads."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.page.tab import Shared
from explorer.server.library import Library
from explorer.server.routes import mounted
from explorer.server.visitors import NOBODY
from explorer.tabs.claims import DESCRIPTOR, board, figures
from tests.claims.world import claim_of
from tests.explorer.bench import Bench
from tests.explorer.page import Client
from tests.made_up_plan import make_plan, sweep
from tests.synthetic import make_run
from trainers.claims.base import WORKS, Difference, Side
from trainers.claims.catalogue import CLAIMS
from trainers.claims.measured import LACKING, VERDICTS
from trainers.errors import RunError, UserError
from trainers.runs import RunFolder
from trainers.runs.label import read_label

MADE_UP = claim_of(Difference(metric="HAP", first=Side(arm="HAPPIER"), second=Side(arm="Smooth-AP")))


class Page(Client):
    """A board over a folder of runs, in which nothing trains, and a client of its addresses."""

    def __init__(self, folder: Path) -> None:
        bench = Bench(folder)
        self.root = bench.settings.runs
        self.root.mkdir()
        library = Library(self.root, bench.settings.recorded)
        kept: dict[str, Any] = {"layout": None, "turns": None, "photographs": None, "shown": None, "hub": None}
        shared = Shared(settings=bench.settings, library=library, runs=bench.runs, **kept)
        self.board = board.Board(shared)
        super().__init__(mounted(DESCRIPTOR.routes(self.board)))

    def start(self, name: str) -> str:
        return self.board.start(name, "mine", NOBODY)["id"]


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(tmp_path)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A board of one claim, whose runs are made up."""
    monkeypatch.setattr(board, "CLAIMS", {MADE_UP.name: MADE_UP})
    monkeypatch.setattr(board.tables, "results", lambda **_: {MADE_UP.name: None})
    monkeypatch.setattr(board.tables, "rows", lambda _results: [("made_up", "", "", "not run yet")])


def test_the_board_has_every_claim_with_its_verdict_in_words(page: Page) -> None:
    counted, listed = page.board.listing("", "")
    assert counted.startswith(f"{len(CLAIMS)} claims, ")
    assert [page.board.named(title) for title, _verdict in listed] == list(CLAIMS)
    assert {verdict for _title, verdict in listed} <= set(VERDICTS)
    assert sum(len(page.board.listing(work, "")[1]) for work in WORKS) == len(CLAIMS)
    for name, (_title, verdict) in zip(CLAIMS, listed, strict=True):
        claim = page.board.of(name)
        result = claim["result"]
        assert claim["words"].lower().startswith(verdict) and page.board.stands(name) is None
        assert bool(claim["protocol"]) == claim["runs"] == (verdict != LACKING)
        assert claim["recipe"] in board.protocol(claim)
        assert f"**{verdict.capitalize()}.**" in board.about(claim)
        if result:
            drawn = figures.intervals(result["differences"])
            assert len(drawn.layout.annotations) >= len(result["differences"])
            sides = sum(1 + len(one["sides"]) for one in result["differences"])
            assert [len(row) for row in figures.sides(result["differences"])] == [len(figures.HEAD)] * sides


def test_finished_runs_here_have_numbers_and_a_verdict_of_their_own(page: Page, made_up: None) -> None:
    make_run(page.root, points=48, frames=1).db.close()
    plan = make_plan(page.root, MADE_UP.plan(), gains={"HAPPIER": 0.05})  # type: ignore[misc]
    stands = page.board.stands("made_up")
    assert stands is not None and stands["id"] == plan.id and stands["finished"]
    assert page.board.of("made_up")["verdict"] == "not run yet"
    here = page.board.here("made_up")
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
    stands = page.board.stands("made_up")
    assert stands is not None and not stands["finished"] and stands["part"] == "part 1 of 2, "


def test_no_numbers_before_its_runs_are_finished(page: Page, made_up: None) -> None:
    with pytest.raises(RunError, match="are not finished here"):
        page.board.here("made_up")
    first = {0: "finished"}
    make_plan(page.root, MADE_UP.plan(), "running", lambda run: first.get(run.seed, "planned"))  # type: ignore[misc]
    stands = page.board.stands("made_up")
    assert stands is not None and not stands["finished"] and stands["words"].startswith("1 of 3 runs finished")
    with pytest.raises(RunError, match="are not finished here"):
        page.board.here("made_up")
    for unknown in (page.board.here, page.board.of, page.board.named, page.board.stands):
        with pytest.raises(UserError, match="There is no claim"):
            unknown("<img onerror=alert(1)>")


def test_its_runs_are_queued_once_as_a_sweep(page: Page, made_up: None) -> None:
    folder = RunFolder.open(page.root, page.start("made_up"))
    assert folder.config.to_json() == MADE_UP.plan().to_json()  # type: ignore[misc]
    assert read_label(folder.path).name == "Claim: Made up"
    folder.db.close()
    with pytest.raises(UserError, match="already"):
        page.start("made_up")


def test_what_is_not_at_hand_answers_with_its_recipe(page: Page) -> None:
    lacking = next(claim for claim in CLAIMS.values() if claim.plan is None)
    with pytest.raises(UserError) as refused:
        page.start(lacking.name)
    assert lacking.recipe in str(refused.value)


def test_the_tables_are_downloaded(page: Page) -> None:
    rows = list(csv.DictReader(io.StringIO(page.get("claims.csv").text)))
    assert list(dict.fromkeys(row["claim"] for row in rows)) == list(CLAIMS)
    latex = page.get("claims.tex").text
    assert latex.startswith(r"\begin{table}") and latex.count(r" \\") == len(CLAIMS) + 1
