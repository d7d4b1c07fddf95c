"""The tab Retrieve in a browser: from an image to its results, by mouse and by keyboard, wide and on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Site
from tests.browser.image_folder import jpeg
from tests.browser.pages import WIDE, new_page, profile, rest, until, visit
from tests.browser.test_access import darken, findings
from tests.synthetic import make_run
from trainers.runs import RunFolder


@contextmanager
def tab(browser: Browser, site: Site, folder: RunFolder, more: str = "", **how: object) -> Iterator[Page]:
    """The tab with the results of its first query."""
    with visit(browser, site, site.at(folder, more), motion="reduce", **how) as page:  # type: ignore[arg-type]
        rest(page)
        page.get_by_role("tab", name="Retrieve").click()
        settled(page)
        yield page


@contextmanager
def refusing(browser: Browser, site: Site, folder: RunFolder) -> Iterator[Page]:
    """The same where the server will refuse something, which the browser logs as an error."""
    with profile(browser, site.url) as context:
        page = new_page(context)
        page.goto(site.at(folder))
        until(page, "s.k !== null")
        page.get_by_role("tab", name="Retrieve").click()
        settled(page)
        yield page


def settled(page: Page, count: int = 2) -> None:
    """Wait until every row shows an answer."""
    expect(page.locator(".rs-resultrow")).to_have_count(count)
    expect(page.locator(".rs-retrieve .rs-rows")).to_have_attribute("aria-busy", "false")


def tiles(page: Page, row: int = 0) -> Locator:
    return page.locator(".rs-resultrow").nth(row).locator(".rs-tile:visible")


def asked(page: Page) -> Locator:
    return page.get_by_role("region", name="The image to search with")


def query(page: Page) -> str | None:
    return page.locator(".rs-querycard .rs-query").first.get_attribute("aria-label")


def test_from_a_point_in_live_to_results_and_on(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished, "&i=7"), motion="reduce") as page:
        rest(page)
        page.locator(".rs-about").get_by_role("button", name="Retrieve").click()
        settled(page)
        assert (query(page) or "").startswith("Image 8: product 7")
        expect(tiles(page)).to_have_count(10)
        expect(tiles(page).first).to_have_attribute(
            "aria-label", re.compile(r"^Rank 1, same .*similarity 0\.\d{3}.*In common")
        )
        expect(page.locator(".rs-resultrow .rs-summary").first).to_contain_text(re.compile(r"AP [01]\.\d+.*H-AP.*NDCG"))
        expect(page.locator(".rs-prcurve .rs-line path")).to_have_count(4)
        tiles(page).nth(3).hover()
        expect(page.locator(".rs-pointed")).to_contain_text("Similarity")
        tiles(page).nth(3).click()
        expect(page.locator(".rs-pick[aria-pressed=true]")).to_be_in_viewport()
        chosen = page.locator(".rs-querycard .rs-query").first
        expect(chosen).not_to_have_attribute("aria-label", re.compile("^Image 8:"))


_TILES = "Array.from(document.querySelectorAll('.rs-resultrow .rs-tile'), (tile) => tile.offsetWidth)"


def test_steps_runs_and_a_baseline_are_compared(browser: Browser, site: Site) -> None:
    other = make_run(site.root, points=600, frames=3, arms=1, seed=0)
    with tab(browser, site, site.finished) as page:
        page.get_by_label("Compare with").select_option(other.id)
        settled(page, 3)
        assert f"with={other.id}" in page.url
        assert max(page.evaluate(_TILES)) <= 108, "a tile is as wide as its image may be, however long its name"
        page.get_by_role("button", name="Baseline").last.click()
        expect(page.locator(".rs-resultrow .rs-summary").first).to_contain_text(re.compile("[+−±]0"))
        page.get_by_role("slider", name="Frame").locator("visible=true").press("Home")
        expect(page.locator(".rs-resultrow .rs-summary").first).to_contain_text("step 0")
        page.reload()
        page.get_by_role("tab", name="Retrieve").click()
        settled(page, 3)
        expect(page.get_by_role("button", name="Baseline").last).to_have_attribute("aria-pressed", "true")
        page.locator(".rs-retrieve").get_by_role("button", name=re.compile("^Remove")).click()
        settled(page, 2)
        other.delete()


def test_another_run_is_chosen_and_brings_its_images(browser: Browser, site: Site) -> None:
    other = make_run(site.root, points=48, frames=2, arms=1)
    try:
        with tab(browser, site, site.finished) as page:
            menu = page.get_by_label("Run, with its images")
            expect(menu).to_have_value(site.finished.id)
            menu.select_option(other.id)
            settled(page, 1)
            expect(asked(page).locator(".rs-place")).to_contain_text("of 48")
            expect(menu).to_have_value(other.id)
            page.get_by_role("tab", name="Live").click()
            until(page, f"s.run === '{other.id}'")
    finally:
        other.delete()


def test_by_keyboard_alone(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished), motion="reduce") as page:
        rest(page)
        page.get_by_role("tab", name="Retrieve").focus()
        page.keyboard.press("Enter")
        settled(page)
        page.get_by_role("searchbox", name="Search with an image of").focus()
        page.keyboard.type("product 9")
        page.keyboard.press("Enter")
        expect(page.locator(".rs-querycard h3").first).to_have_text("product 9")
        while not page.evaluate("() => document.activeElement.matches('.rs-resultrow .rs-tile')"):
            page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        focused = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
        assert focused.startswith("Rank 2,")
        before = query(page)
        page.keyboard.press("Enter")
        expect(page.locator(".rs-querycard .rs-query").first).not_to_have_attribute("aria-label", before or "")


def test_a_class_that_is_not_there_and_a_file_that_is_no_image(browser: Browser, site: Site) -> None:
    with refusing(browser, site, site.finished) as page:
        page.get_by_role("searchbox", name="Search with an image of").fill("zebra")
        expect(asked(page).locator(".rs-place")).to_contain_text("No class of this gallery has “zebra”")
        file = asked(page).locator("input[type=file]")
        file.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"no image"})
        expect(page.locator(".rs-asking .rs-alert")).to_contain_text("not an image that can be read")
        page.get_by_role("button", name="Webcam").click()
        expect(page.locator(".rs-asking .rs-alert")).to_contain_text("camera")


@pytest.mark.long
def test_a_gallery_with_parameters_has_a_form_of_them(browser: Browser, site: Site) -> None:
    with tab(browser, site, site.finished) as page:
        page.locator(".rs-how select").first.select_option("dataset")
        form = page.locator(".rs-how form:visible")
        expect(form.locator("label .rs-fieldname")).to_have_text(["Dataset", "Part", "Held out", "Max images"])
        expect(form.get_by_label("Dataset")).to_be_focused()
        form.get_by_role("button", name="Open").click()  # without a dataset nothing is asked
        form.get_by_label("Dataset").fill("drawn")
        form.get_by_label("Max images").fill("200")
        with page.expect_request("**/retrieval/open") as asked:
            form.get_by_role("button", name="Open").click()
        assert asked.value.post_data_json["gallery"] == {"name": "dataset", "source": "drawn", "max_images": 200}
        expect(page.locator(".rs-how summary").first).to_contain_text("Test set of Drawn world")


def test_an_image_of_ones_own_and_no_weights(browser: Browser, site: Site) -> None:
    with tab(browser, site, site.finished) as page:
        file = asked(page).locator("input[type=file]")
        file.set_input_files({"name": "a.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
        expect(page.locator(".rs-rownote").first).to_contain_text("no checkpoint")
        expect(page.locator(".rs-querycard h3").first).to_have_text("Your image")
        expect(page.get_by_role("slider", name="Frame").locator("visible=true")).to_have_count(0)


def test_a_run_that_is_deleted_while_it_is_open(browser: Browser, site: Site) -> None:
    folder = make_run(site.root, points=60, frames=2)
    with refusing(browser, site, folder) as page:
        folder.delete()
        tiles(page).nth(1).click()
        expect(page.locator(".rs-retrieve")).to_contain_text(folder.id)


@pytest.mark.long
@pytest.mark.parametrize("size", [WIDE], ids=["wide"])
def test_no_serious_finding(browser: Browser, site: Site, size: tuple[int, int]) -> None:
    with tab(browser, site, site.finished, "&__theme=light", size=size) as page:
        page.get_by_text("How each arm was searched").click()
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert findings(page, "#retrieve-view") == []
        darken(page, ".rs-retrieve")
        assert findings(page, "#retrieve-view") == []
