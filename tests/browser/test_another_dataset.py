"""Once other images or another run are opened, no line of the page speaks of those before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.named_folder import train_on
from tests.browser.pages import lasso, place, rest, state, until, visit
from tests.browser.sidebar import FORM, fill, images
from tests.synthetic import make_run
from tests.tiny import write_images
from trainers.runs import RunFolder

FIRST = re.compile(r"made-up|product|aisle|\bkind\b(?! of run)|first_set", re.IGNORECASE)
"""Words that only the first dataset brings: its name, its levels, its classes."""
_SAID = """() => ["#live-view", "#rs-sidebar"].flatMap((part) => [document.querySelector(part)].flatMap((root) =>
  [...[root.cloneNode(true)].map((copy) => {
    copy.querySelectorAll("option").forEach((option) => option.remove());  // a list of all runs names other ones
    return copy.textContent;
  }), ...[...root.querySelectorAll("*")].flatMap((node) =>
    [...["title", "aria-label", "placeholder"].map((name) => node.getAttribute(name)), node.value])]))
  .filter((text) => typeof text === "string" && text)"""


@pytest.fixture(scope="module")
def other(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """A run that was trained on a folder of colours."""
    images = write_images(tmp_path_factory.mktemp("colours") / "discs", each=6)
    run = train_on(images, site.root)
    yield run
    run.db.close()


def of_the_first(page: Page) -> list[str]:
    """What is said about the first dataset, in sight or not."""
    # the menu's own text names every family of losses, and the list of images every dataset
    return [text[:200] for text in page.evaluate(_SAID) if FIRST.search(text)]


def talk_about_it(page: Page) -> None:
    """Let every part of the page say something about the first dataset."""
    page.locator(".rs-classes button").first.click()
    page.locator(".rs-classes button").first.click()
    page.locator(".rs-more").click()
    page.locator(".rs-search").fill("product 1")
    for summary in page.locator(".rs-curves summary").all():
        summary.click()
    page.evaluate("() => scrollTo(0, 0)")
    lasso(page)
    until(page, "s.lassoed > 0")
    page.locator(".rs-plot").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.mouse.move(*place(page, 0, 5))
    expect(page.locator(".rs-hover")).to_be_visible()
    for name in ("Runs", "Catalogue", "Live"):
        page.get_by_role("tab", name=name).first.click()
    assert len(of_the_first(page)) > 20


@pytest.mark.parametrize("kind", ["trained", pytest.param("queued", marks=pytest.mark.long)])
def test_another_run_leaves_no_line_of_the_one_before(
    browser: Browser, site: Site, other: RunFolder, kind: str
) -> None:
    following = other if kind == "trained" else make_run(site.root, phase="queued", seed=9)
    with visit(browser, site, site.at(site.finished), motion="reduce") as page:
        rest(page)
        talk_about_it(page)
        page.get_by_role("tab", name="Runs").first.click()
        page.evaluate("(id) => window.rankscope.open(id)", following.id)
        page.get_by_role("tab", name="Live").first.click()
        until(page, "s.run === a", following.id)
        if kind == "trained":
            rest(page)
            expect(page.locator(".rs-classes")).to_contain_text("colour")
        else:
            expect(page.locator(".rs-vacant, .rs-waiting").first).to_contain_text("Waiting for the first frame")
        assert state(page)["lassoed"] == 0
        page.wait_for_timeout(300)  # what was on its way has come
        assert of_the_first(page) == [], "what the page still says"
    if following is not other:
        following.db.close()


def test_what_was_said_at_a_start_goes_with_its_run_and_its_images(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    first = write_images(tmp_path / "first_set", train=2, test=2, each=2)
    second = write_images(tmp_path / "second_set", train=2, test=2, each=2)
    with visit(browser, site, site.at(site.finished)) as page:
        alert, report = page.locator(".rs-go [role=alert]"), page.locator(".rs-report")
        press = page.locator(FORM).get_by_role("button", name="Train", exact=True).click
        images(page, str(first))
        expect(report).to_contain_text("first_set")
        fill(page, "Budget in minutes", "-3")
        press()
        expect(alert.first).to_contain_text("minutes needs")
        images(page, str(second))
        expect(alert.first).to_be_hidden()
        expect(report).to_contain_text("second_set")
        assert "first_set" not in page.locator("#rs-sidebar").inner_html()
        press()
        expect(alert.first).to_contain_text("minutes needs")
        page.evaluate("(id) => window.rankscope.open(id)", make_run(site.root, points=60, frames=2, seed=3).id)
        expect(alert.first).to_be_hidden()
        images(page, str(tmp_path / "nothing_here"))
        expect(report.get_by_role("alert")).to_be_visible()
        assert "second_set" not in page.locator("#rs-sidebar").inner_html()
