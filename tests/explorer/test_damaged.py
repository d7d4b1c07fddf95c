"""A root full of damaged runs: each gets at most a sentence, and no run stops another."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from explorer.layout.service import LayoutService
from explorer.server.library import Library
from explorer.server.runs import Runs
from explorer.server.scheduler import Scheduler
from explorer.server.visitors import digest
from explorer.settings import Settings
from explorer.tabs.object_removal.models import Models
from explorer.tabs.retrieve.service import RetrievalService
from tests.damages import DAMAGES, ONE_OF_EACH, elsewhere
from tests.equivalence import always
from tests.explorer.bench import STAND_IN
from tests.explorer.page import Page
from tests.layout.worlds import Always
from tests.synthetic import make_run
from tests.waiting import wait
from trainers.cli.main import main
from trainers.errors import RunError
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.runs import RunFolder, list_runs, new_id
from trainers.runs.regular import is_there
from trainers.training.executor import ProcessExecutor

GONE = {"vanished"}
TOLD = ("vanished", "config.json: not utf8", "run.db: garbage")
WAITING = {*ONE_OF_EACH, *TOLD}
ROUTES = (
    "", "/poll", "/frame/1", "/frameinfo/1", "/frameinfo/77", "/sheet/0.webp", "/neighbours/1/3",
    "/download/run.zip?weights=1", "/download/metrics.csv", "/download/coordinates.parquet",
    "/download/embeddings.parquet",
)  # fmt: skip


def damaged_runs(root: Path) -> dict[str, str]:
    """One run for every kind of damage; the run's id by the kind's name."""
    ids = whole_runs(root, "finished")
    for name, run in ids.items():
        DAMAGES[name](root / run)
    return ids


def whole_runs(root: Path, phase: str) -> dict[str, str]:
    """One run for every kind of damage, before the damage; copies, because they are made faster."""
    whole = make_run(root.parent / f"whole {phase}", points=48, frames=2, phase=phase)
    whole.db.close()
    root.mkdir()
    ids = {}
    for name in filter(_fits_a_waiting_run, WAITING) if phase == "queued" else DAMAGES:
        ids[name] = new_id()
        shutil.copytree(whole.path, root / ids[name])
    return ids


@pytest.fixture(scope="module")
def ruins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, dict[str, str], str]]:
    folder = tmp_path_factory.mktemp("ruins")
    ids = damaged_runs(folder / "runs")
    good = make_run(folder / "runs", points=48, frames=2)
    page = Page(folder / "runs", folder / "recorded", folder / "assets")
    with page.client:  # one event loop for all requests
        yield page, ids, good.id
    page.library.close()


def check_sentence(reply: Mapping[str, object], root: Path) -> None:
    error = reply["error"]
    assert isinstance(error, str) and 10 < len(error) < 700
    assert "Traceback" not in error and str(root) not in error and error.endswith((".", "y"))


def test_the_list_shows_every_damaged_run_and_the_good_one(ruins: tuple[Page, dict[str, str], str]) -> None:
    page, ids, good = ruins
    cards = {card["id"]: card for card in page.cards()}
    assert set(cards) == {good, *ids.values()} - {ids[name] for name in GONE}
    assert cards[good]["phase"] == "finished" and not cards[good]["error"]
    for card in cards.values():
        if card["phase"] == "damaged":
            check_sentence(card, page.library.root)
    damaged = [name for name, run in ids.items() if run in cards and cards[run]["phase"] == "damaged"]
    assert len(damaged) > 100
    assert {"config.json: missing", "emptied", "folder is a link loop", "state: step is text"} <= set(damaged)
    assert cards[ids["config.json: missing"]]["bytes"] > 100_000
    assert page.json("start")["id"] in cards


@always("name", [*ONE_OF_EACH], [name for name in DAMAGES if name not in ONE_OF_EACH])
def test_every_address_of_a_damaged_run_answers(ruins: tuple[Page, dict[str, str], str], name: str) -> None:
    page, ids, _ = ruins
    for route in ROUTES:
        reply = page.get(f"run/{ids[name]}{route}")
        assert reply.status_code in (200, 404), (route, reply.text[:300])
        assert "not of this run" not in reply.text
        if reply.status_code == 404:
            check_sentence(reply.json(), page.library.root)


def test_programs_are_told_about_each(
    ruins: tuple[Page, dict[str, str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    page, ids, good = ruins
    settings = Settings(runs=page.library.root, recorded=page.library.recorded)
    runs = Runs(settings, Scheduler(settings, ProcessExecutor()))
    listed = {entry["id"]: entry for entry in runs.listing()}
    assert set(listed) == {good, *ids.values()} - {ids[name] for name in GONE}
    assert listed[good]["phase"] == "finished"
    for run in ids.values():
        try:
            runs.status(run)
        except RunError as error:
            check_sentence({"error": str(error)}, page.library.root)
    assert main(["list", "--runs", str(page.library.root)]) == 0
    printed = capsys.readouterr().out
    (line,) = (line for line in printed.splitlines() if line.startswith(good))
    assert " finished " in line and printed.count("\n") == 1 + len(listed)


def test_views_of_the_runs_pass_damaged_ones_over(ruins: tuple[Page, dict[str, str], str]) -> None:
    page, _, good = ruins
    assert good in [run["id"] for run in RetrievalService(Settings(runs=page.library.root), page.library).runs()]
    assert Models(page.library).listed()


def test_maps_of_good_runs_are_drawn_among_damaged_ones(tmp_path: Path) -> None:
    ids = damaged_runs(tmp_path / "runs")
    good = make_run(tmp_path / "runs", points=48, frames=2, layout=False)
    service = LayoutService(tmp_path / "runs", Always("pca"))
    for run in (*ids.values(), good.id):
        service.watch(run)
    for _ in range(6):
        service.tick()
    assert good.frames() == [0, 1]


def test_the_queue_goes_on_when_waiting_runs_are_damaged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tmp_path / "runs"
    settings = Settings(runs=root, recorded=tmp_path / "recorded", max_parallel=8)
    executor = ProcessExecutor(command=lambda path: [sys.executable, str(STAND_IN), str(path), "0"])
    ids = whole_runs(root, "queued")
    good = make_run(root, phase="queued")
    scheduler = Scheduler(settings, executor)
    assert scheduler.waiting() == len(ids) + 1
    for name, run in ids.items():
        DAMAGES[name](root / run)
    wait(
        lambda: not any(scheduler.is_busy(run) for run in (good.id, *ids.values())),
        words=lambda: repr([name for name, run in ids.items() if scheduler.is_busy(run)]),
        meanwhile=scheduler.tick,
    )
    scheduler.close()
    assert good.state().phase == "finished"
    assert all(ids[name] in caplog.text for name in TOLD)


def _fits_a_waiting_run(name: str) -> bool:
    """A run that waits has no tensors yet, and what a trainer alone opens makes no difference to the queue."""
    later = ("probe", "emb", "map", "layout", "thumbs", "ckpt", "ballast")
    return not name.startswith(later) and name != "names that are no text"


@pytest.mark.long
def test_each_can_be_deleted_and_nothing_else_is(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    ids = damaged_runs(root)
    good = make_run(root, points=48, frames=1)
    settings = Settings(runs=root, recorded=tmp_path / "recorded")
    runs = Runs(settings, Scheduler(settings, ProcessExecutor()))
    targets = {path: path.stat().st_ino for path in root.iterdir() if path.name.endswith((".elsewhere", ".moved"))}
    assert len(targets) > 10
    for name, run in ids.items():
        if name in GONE:
            with pytest.raises(RunError, match="There is no run"):
                runs.delete(run, "")
        else:
            assert runs.delete(run, "") == "The run is deleted."
        assert not is_there(root / run)
    assert {path: path.stat().st_ino for path in targets} == targets
    assert all(path.read_text() == "not of this run" for path in targets if path.suffix == ".elsewhere")
    assert [folder.id for folder in list_runs(root)] == [good.id]
    assert good.frames() == [0]


def test_only_its_owner_deletes_a_damaged_run_on_a_public_page(tmp_path: Path) -> None:
    settings = Settings(runs=tmp_path / "runs", recorded=tmp_path / "recorded", public=True)
    runs = Runs(settings, Scheduler(settings, ProcessExecutor()))
    for harm in ("config.json: not utf8", "owner: not utf8", "owner: a link outside"):
        folder = RunFolder.create(settings.runs, MetricLearningConfig(), owner=digest("mine"))
        folder.db.close()
        DAMAGES[harm](folder.path)
        for token in ("", "theirs", "?", "not of this run"):
            with pytest.raises(RunError, match="Only the visitor"):
                runs.delete(folder.id, token)
    damaged = RunFolder.create(settings.runs, MetricLearningConfig(), owner=digest("mine"))
    damaged.db.close()
    DAMAGES["run.db: garbage"](damaged.path)
    assert runs.delete(damaged.id, "mine") == "The run is deleted."


def test_a_folder_in_the_making_is_not_called_damaged(tmp_path: Path) -> None:
    folder = tmp_path / new_id()
    folder.mkdir()
    assert list_runs(tmp_path) == []
    DAMAGES["emptied"](folder)
    assert [run.id for run in list_runs(tmp_path)] == [folder.name]


def test_the_files_outside_stay_as_they_are(tmp_path: Path) -> None:
    folder = make_run(tmp_path, points=48, frames=1)
    folder.db.close()
    DAMAGES["log.txt: a link outside"](folder.path)
    with pytest.raises(OSError, match="is a link"):
        folder.log("nothing")
    assert elsewhere(folder.path).read_text() == "not of this run"


def test_a_library_of_an_unreadable_place_says_so(tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to("runs")
    with pytest.raises(RunError, match="cannot be read"):
        Library(tmp_path / "runs", tmp_path / "recorded").folders()
