"""The whole way, nothing made up: ``python app.py``, a folder of images, Train, moving maps, and a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import sidebar
from tests.browser.pages import until, visit
from tests.browser.program import Program, launched
from tests.tiny import write_images
from tests.waiting import wait
from trainers.runs import RunFolder, list_runs
from trainers.runs.lock import is_locked

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with launched(tmp_path) as started:
        yield started


def start(page: Page, images: Path, minutes: str) -> str:
    sidebar.images(page, str(images))
    expect(page.locator(".rs-report")).to_contain_text("class")
    sidebar.unfold(page)
    for label, value in (("Budget in minutes", minutes), ("Classes per batch", "4"), ("Images per class", "3")):
        sidebar.fill(page, label, value)
    return sidebar.train(page)


def test_train_on_a_folder_and_watch_to_the_end(browser: Browser, program: Program, tmp_path: Path) -> None:
    images = write_images(tmp_path / "images", each=8)
    with visit(browser, program.site, program.site.at(program.site.finished)) as page:
        run_id = start(page, images, "0.15")
        until(page, "s.run === a && s.k !== null", run_id, timeout=120_000)
        expect(page.locator(".rs-card")).to_have_count(2)
        until(page, "s.frames > 1 && s.k > 0", timeout=120_000)
        until(page, "s.phase === 'finished'", timeout=90_000)
        expect(page.locator(".rs-actions")).to_be_hidden()
        folder = RunFolder.open(program.site.root, run_id)
        wait(lambda: folder.frames()[-1:] == [folder.snapshots()[-1][0]])
        keys = {scalar.key for scalar in folder.scalars()}
        assert {"loss", "R_at_1", "HAP", "test/R_at_1", "train_R_at_1"} <= keys
        assert folder.state().step > 5


@pytest.mark.long
def test_a_killed_page_takes_its_trainer_along_and_the_run_can_go_on(
    browser: Browser, program: Program, tmp_path: Path
) -> None:
    images = write_images(tmp_path / "images", each=8)
    with visit(browser, program.site, program.site.at(program.site.finished)) as page:
        run_id = start(page, images, "5")
        folder = RunFolder.open(program.site.root, run_id)
        wait(lambda: folder.state().step > 3)
    program.process.kill()
    program.process.wait()
    wait(lambda: not is_locked(folder.path), 2)
    checkpoint = folder.read_checkpoint()
    assert checkpoint is not None and checkpoint[1]["step"] > 3
    assert folder.state().phase == "interrupted"
    assert run_id in {run.id for run in list_runs(program.site.root)}
