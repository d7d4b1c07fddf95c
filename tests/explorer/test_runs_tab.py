"""The Runs tab: its rows and columns, what wakes it, several runs at once, and runs laid over each other."""

from __future__ import annotations

import csv
import io
import re
import time
from pathlib import Path

import pytest

from explorer.page.tab import Shared
from explorer.server.library import Library
from explorer.server.visitors import NOBODY, digest
from explorer.tabs.runs import rows, service
from explorer.tabs.runs.card import about, moved
from explorer.tabs.runs.overlaid import MOST, metric_of, overlaid
from explorer.tabs.runs.service import RunList
from tests.explorer.bench import Bench
from tests.made_up_plan import make_plan, sweep
from tests.synthetic import make_run
from trainers.errors import RunError, UserError
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.runs.label import Label, read_label, write_label

HOSTILE = '<img src=x onerror="hit()"> ${hit()} {{hit()}} [x](javascript:hit()) ![y](http://z/) **b** `c` \u202e'


def made(folder: Path, **settings: object) -> RunList:
    """The list over an empty folder of runs, in which nothing trains."""
    bench = Bench(folder, **settings)
    library = Library(bench.settings.runs, bench.settings.recorded)
    return RunList(
        Shared(
            settings=bench.settings,
            library=library,
            runs=bench.runs,
            layout=None,
            turns=None,
            photographs=None,
            shown=None,
            hub=None,
        )
    )  # type: ignore[arg-type]


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunList:
    monkeypatch.setattr(service, "LOOK_SECONDS", 0.0)
    return made(tmp_path)


def root(listed: RunList) -> Path:
    return listed.shared.settings.runs


def shut(folder: RunFolder) -> RunFolder:
    folder.db.close()
    return folder


def table(listed: RunList, words: str = "", order: str = rows.NEWEST, members: bool = False) -> list[dict[str, str]]:
    """The rows of the list, by the headings."""
    shown, widths = rows.table(rows.found(listed.cards(), words, order, members))
    assert all(len(row) == len(shown["headers"]) == len(widths) for row in shown["data"])
    return [dict(zip(shown["headers"], row, strict=True)) for row in shown["data"]]


def test_columns_without_a_number_are_not_shown(listed: RunList) -> None:
    shut(RunFolder.create(root(listed), ContrastiveConfig()))
    assert list(table(listed)[0]) == [rows.BOX, "Run", "Losses", "Images", "State", "Steps", "Started"]
    shut(make_run(root(listed), points=48, frames=2))
    first, second = table(listed)
    assert first["R@1"] == "0.900\n0.950" and first["Losses"] == "Smooth-AP\nHAPPIER" and second["R@1"] == ""
    assert "k-NN" not in first


def test_a_sweep_shows_means_over_seeds_and_its_runs_on_demand(listed: RunList) -> None:
    plan = make_plan(root(listed), sweep("smooth_ap", "happier"), gains={"HAPPIER": 0.05})
    (alone,) = table(listed)
    assert [line.count(" ± ") for line in alone["R@1"].split("\n")] == [1, 1]
    assert alone["Steps"] == "3 of 3 runs" and alone["Run"].endswith("3 seeds")
    opened = table(listed, members=True)
    assert [row["Run"][:8] for row in opened[1:]] == ["↳ Seed 0", "↳ Seed 1", "↳ Seed 2"]
    assert [row["Run"][:8] for row in table(listed, "seed 1:")[1:]] == ["↳ Seed 1"], "a run that is searched for"
    assert len(table(listed, "3 seeds", members=True)) == 4, "all runs of a sweep that is searched for"
    found = rows.found(listed.cards(), "", "R_at_1", True)
    assert found[0]["id"] == plan.id and len(found) == 4
    wide = make_plan(root(listed), sweep("smooth_ap", "happier", seeds=1, vary={"dim": list(range(8, 20))}))
    (row,) = (row for row in table(listed) if "Embedding size" in row["Losses"])
    assert row["Losses"].count("\n") == rows.LINES - 1 and row["Losses"].endswith("more") and wide.id != plan.id


def test_a_damaged_run_is_a_line_with_its_error_and_hides_no_other(listed: RunList) -> None:
    shut(make_run(root(listed), points=48, frames=1))
    broken = shut(make_run(root(listed), points=48, frames=1))
    (broken.path / "config.json").write_text("{")
    plan = make_plan(root(listed), sweep("smooth_ap", "happier"))
    child = next(card for card in listed.cards() if card["part_of"] == plan.id)
    (root(listed) / child["id"] / "run.db").write_bytes(b"no database")
    assert any("Damaged: has no readable configuration" in row["Run"] for row in table(listed))
    assert len(table(listed)) == 3 and sum(row["State"] == "finished" for row in table(listed)) == 2
    run = listed.card(broken.id, "", NOBODY)
    assert run is not None and "has no readable configuration" in about(run)


def test_runs_are_searched_and_ordered(listed: RunList) -> None:
    one, two = (shut(make_run(root(listed), points=48, frames=k)) for k in (1, 3))
    write_label(one.path, Label(name="Baseline", note="of July", tags=("paper",)))
    for words in ("baseline", "PAPER july", one.id.lower()):
        assert [row["Run"] for row in table(listed, words)] == ["Baseline\n#paper"]
    assert table(listed, "nothing like it") == []
    by = {order: [card["id"] for card in rows.found(listed.cards(), "", order, False)] for _, order in rows.orders()}
    assert by["Steps"] == [two.id, one.id] == by[rows.NEWEST] and by["Name"][0] == one.id
    assert set(by["HAP"]) == {one.id, two.id}


def test_the_list_wakes_when_a_run_moves_and_is_not_read_again_before(
    listed: RunList, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    runs = service.runs
    monkeypatch.setattr(service, "runs", lambda *given: read.append(given) or runs(*given))
    folder = shut(make_run(root(listed), points=48, frames=1, phase="stopped"))
    before = listed.revision()
    assert [len(listed.cards()) for _ in range(3)] == [1, 1, 1] and len(read) == 1
    assert listed.revision() == before
    seen = {before}
    for change in (
        lambda: write_label(folder.path, Label(name="named")),
        lambda: folder.db.set_state(folder.db.state()),
        lambda: make_run(root(listed), points=48, frames=1).db.close(),
        lambda: folder.delete(),
    ):
        time.sleep(0.01)  # files are told apart by the time of writing
        change()
        assert listed.revision() not in seen
        seen.add(listed.revision())
    assert len(listed.cards()) == 1 and len(read) == 2


def test_several_are_tagged_and_deleted_at_once(listed: RunList) -> None:
    one, two = (shut(make_run(root(listed), points=48, frames=1)) for _ in range(2))
    write_label(one.path, Label(name="kept", tags=("old",)))
    assert listed.tag([one.id, two.id], ["new"], "", NOBODY) == "2 runs tagged."
    assert read_label(one.path) == Label(name="kept", tags=("old", "new"))
    assert listed.delete([one.id, "0" * 26], "", NOBODY).startswith("1 run deleted; the next one was not. There is")
    assert [card["id"] for card in listed.cards()] == [two.id]
    for act in (listed.tag, listed.delete):
        with pytest.raises(UserError, match="Choose runs first"):
            act([], *([["x"]] if act == listed.tag else []), "", NOBODY)  # type: ignore[operator]


def test_in_public_only_its_owner_is_offered_what_changes_a_run(tmp_path: Path) -> None:
    listed = made(tmp_path, public=True)
    folder = shut(make_run(root(listed), points=48, frames=1))
    write_bytes(folder.path / "owner", digest("mine").encode())
    for token, mine in (("mine", True), ("other", False), ("", False)):
        run = listed.card(folder.id, token, NOBODY)
        shown = moved(run)
        assert shown[-1]["visible"] is mine
        if not mine:
            with pytest.raises(RunError, match="Only the visitor"):
                listed.tag([folder.id], ["x"], token, NOBODY)
            with pytest.raises(RunError, match="Only the visitor"):
                listed.delete([folder.id], token, NOBODY)
    assert listed.delete([folder.id], "mine", NOBODY) == "1 run deleted."
    assert moved(listed.card(folder.id, "mine", NOBODY))[0]["visible"] is False


def test_names_are_text(listed: RunList) -> None:
    folder = shut(make_run(root(listed), points=48, frames=1))
    write_label(folder.path, Label(name=HOSTILE, note=HOSTILE, tags=("<b>",)))
    run = listed.card(folder.id, "", NOBODY)
    assert run is not None
    written = about(run)
    assert "javascript" in written and "onerror" in written and "\u202e" not in written
    left = re.sub(r"\\.", "", written)  # without what is escaped
    for markup in ("<", ">", "](", "**", "`", "{", "}"):
        assert markup not in left, markup


def test_runs_are_laid_over_each_other(listed: RunList) -> None:
    one, two = (shut(make_run(root(listed), points=48, frames=3, arms=arms, seed=arms)) for arms in (2, 3))
    plan = make_plan(root(listed), sweep("smooth_ap", "happier"))
    over = overlaid(listed.shared.library, [one.id, plan.id, two.id, "gone"], public=False)
    assert "the tab Compare shows a sweep" in over.left_out and "gone cannot be read" in over.left_out
    key = metric_of(over, "no such metric")
    assert key == "R_at_1" and metric_of(over, "HAP") == "HAP"
    figure = over.figure(key)
    assert len(figure.data) == 5 and len(set(trace.line.color for trace in figure.data)) == 5
    assert len(over.last(key)) == 5 and len(set(over.names)) == 2
    head, differing = over.differing()
    assert head == ["Setting", *over.names]
    assert {row[0] for row in differing} == {"Losses", "Seed"}
    read = list(csv.DictReader(io.StringIO(over.csv(key))))
    assert len(read) == sum(len(trace.x) for trace in figure.data) and set(read[0]) == {"run", "loss", "step", key}
    for few in ([], [one.id], [plan.id, one.id], ["../..", one.id]):
        with pytest.raises(UserError, match="two or more single runs"):
            overlaid(listed.shared.library, few, public=False)
    with pytest.raises(UserError, match=f"At most {MOST}"):
        overlaid(listed.shared.library, [f"{number:026d}" for number in range(MOST + 1)], public=False)
