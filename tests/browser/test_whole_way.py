"""The whole way, nothing made up: ``python app.py``, a folder of images, Train, moving maps, and a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.pages import until, visit
from tests.browser.program import Program, launched, wait
from tests.tiny import write_images
from trainers.runs import RunFolder, list_runs
from trainers.runs.lock import is_locked

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with launched(tmp_path) as started:
        yield started


def fill(page: Page, label: str, value: str) -> None:
    field = page.get_by_role("spinbutton", name=label)
    field.fill(value)
    field.press("Tab")


def start(page: Page, images: Path, minutes: str) -> str:
    source = page.locator("#rs-source input")
    source.click()
    source.fill(str(images))
    source.press("Enter")
    expect(page.locator("#rs-sidebar")).to_contain_text("class")
    budget = page.get_by_label("Budget in minutes")
    budget.fill(minutes)
    budget.press("Tab")
    page.get_by_role("button", name="Batch, learning rate and more").click()
    fill(page, "Classes per batch", "4")
    fill(page, "Images per class", "3")
    before = page.evaluate("window.rankscope.current()")
    page.locator("#rs-train").click()
    page.wait_for_function(f"window.rankscope.current() !== '{before}'")
    return str(page.evaluate("window.rankscope.current()"))


def test_train_on_a_folder_and_watch_to_the_end(browser: Browser, program: Program, tmp_path: Path) -> None:
    images = write_images(tmp_path / "images", each=8)
    with visit(browser, program.site, program.site.at(program.site.finished)) as page:
        run_id = start(page, images, "0.15")
        until(page, "s.run === a && s.k !== null", run_id, timeout=120_000)
        expect(page.locator(".rs-card")).to_have_count(2)
        until(page, "s.frames > 1 && s.k > 0", timeout=120_000)
        until(page, "s.phase === 'finished'", timeout=90_000)
        expect(page.locator("#rs-status")).to_contain_text("cannot be paused")
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
