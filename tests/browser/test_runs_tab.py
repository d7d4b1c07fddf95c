"""The Runs tab in a real browser: the list, opening, and deleting after a question."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import PHONE, WIDE, open_tab, visit
from tests.synthetic import make_run


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for the tests that make a run and look for it in the list."""
    with visit(browser, site, site.at(site.finished)) as page:
        yield page


def card(page: Page, run_id: str):
    links = page.locator(f".rs-runcard:has(a[href*='{run_id}'])")
    return links.first


def test_a_run_is_opened_from_the_list(opened: Page, site: Site):
    other = make_run(site.root, points=120, frames=2, arms=3, seed=4)
    page = opened
    open_tab(page, "Runs")
    expect(card(page, other.id).locator(".rs-runarms li")).to_have_count(3)
    expect(card(page, other.id).locator(".rs-phase")).to_have_text("finished")
    card(page, other.id).get_by_role("button", name="Open").click()
    page.wait_for_function(f"window.rankscope.current() === '{other.id}'")
    expect(page.get_by_role("tab", name="Live")).to_have_attribute("aria-selected", "true")
    other.db.close()


@pytest.mark.parametrize("size", [pytest.param(WIDE, marks=pytest.mark.long), PHONE], ids=["wide", "phone"])
def test_encoders_are_downloaded(browser: Browser, site: Site, size: tuple[int, int]) -> None:
    other = make_run(site.root, points=120, frames=2, arms=2, seed=7)
    other.write_checkpoint({f"arm{arm}/encoder/body.w": torch.ones(2) for arm in range(2)}, {"step": 50})
    other.db.close()
    with visit(browser, site, site.at(other), size=size) as page:
        live = page.locator(".rs-live .rs-downloads")
        live.get_by_role("button", name="Download").click()
        expect(live.get_by_role("link", name="Encoder (safetensors)")).to_be_visible()
        page.keyboard.press("Escape")
        expect(live.get_by_role("link", name="Encoder (safetensors)")).to_be_hidden()
        open_tab(page, "Runs")
        if size == PHONE:
            row = card(page, other.id).locator("tr").first
            scores = row.evaluate(
                "(row) => [row.scrollWidth, ...[...row.cells].map((cell) => cell.getBoundingClientRect().right)]"
            )
            assert max(scores) <= PHONE[0], "a card is as wide as the phone"
            expect(row.locator("td[data-title]").first).to_be_in_viewport()
        card(page, other.id).get_by_role("button", name="More: ").click()
        card(page, other.id).locator(".rs-takehome summary").click()
        with page.expect_download() as started:
            card(page, other.id).get_by_role("link", name="Encoder (safetensors)").click()
        with zipfile.ZipFile(started.value.path()) as archive:
            assert archive.namelist() == ["0_smooth_ap.safetensors", "1_happier.safetensors"]


def test_the_menu_of_downloads_closes_after_a_choice(opened: Page, site: Site) -> None:
    page = opened
    open_tab(page, "Live")
    live = page.locator(".rs-live .rs-downloads")
    link = live.get_by_role("button", name="Copy a link")
    for leave in (link.click, lambda: page.keyboard.press("Escape"), lambda: page.mouse.click(640, 5)):
        live.get_by_role("button", name="Download").click()
        expect(link).to_be_visible()
        leave()
        expect(link).to_be_hidden()


def test_a_run_is_deleted_only_after_a_question(opened: Page, site: Site):
    other = make_run(site.root, points=120, frames=2, seed=5)
    other.db.close()
    page = opened
    open_tab(page, "Runs")
    card(page, other.id).get_by_role("button", name="More: ").click()
    delete = card(page, other.id).get_by_role("button", name="Delete:")
    delete.click()
    card(page, other.id).get_by_role("button", name="Keep").click()
    expect(delete).to_be_visible()
    delete.click()
    card(page, other.id).get_by_role("button", name="Delete for good").click()
    expect(card(page, other.id)).to_have_count(0)
    assert not other.path.exists()
    expect(page.locator("#rs-runs-said")).to_contain_text("The run is deleted.")


def test_a_resumed_run_joins_the_line(opened: Page, site: Site):
    other = make_run(site.root, points=120, frames=2, seed=6, phase="stopped")
    other.db.close()
    page = opened
    open_tab(page, "Runs")
    card(page, other.id).get_by_role("button", name="Resume").click()
    expect(card(page, other.id).locator(".rs-phase")).to_have_text("waiting")
    card(page, other.id).get_by_role("button", name="Stop").click()
    expect(card(page, other.id).locator(".rs-phase")).to_have_text("stopped")


def test_runs_are_named_tagged_filtered_and_sorted(opened: Page, site: Site):
    one, other = (make_run(site.root, points=120, frames=2, seed=seed) for seed in (8, 9))
    page = opened
    open_tab(page, "Runs")
    card(page, one.id).get_by_role("button", name="More: ").click()
    card(page, one.id).get_by_label("Name").fill("<b>Baseline</b>")
    card(page, one.id).get_by_label("Tags").fill("paper, paper, first")
    card(page, one.id).get_by_role("button", name="Save").click()
    expect(card(page, one.id).locator(".rs-runtitle")).to_have_text("<b>Baseline</b>")
    expect(card(page, one.id).locator(".rs-tags .rs-badge")).to_have_text(["paper", "first"])
    page.get_by_label("Filter the runs").fill("paper base")
    expect(page.locator(".rs-runcard")).to_have_count(1)
    with page.expect_download() as taken:
        page.locator(".rs-runtools").get_by_role("link", name="CSV").click()
    assert "<b>Baseline</b>" in Path(taken.value.path()).read_text()
    page.get_by_label("Filter the runs").fill("")
    heading = page.locator(".rs-runlist thead").get_by_role("button", name="R@1")
    heading.click()
    page.wait_for_function(SORTED, arg=False)
    heading.click()
    page.wait_for_function(SORTED, arg=True)
    for run in (one, other):
        run.db.close()


SORTED = """(up) => {
    const sorted = [...document.querySelectorAll(".rs-runcard tr:first-child td:nth-of-type(2)")]
        .map((cell) => Math.max(...[...cell.children].map((line) => Number(line.textContent))))
        .filter(Number.isFinite);
    const right = (value, before) => (up ? value >= before : value <= before);
    return sorted.length > 1 && sorted.every((value, at) => !at || right(value, sorted[at - 1]));
}"""
