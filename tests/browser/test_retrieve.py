"""The tab Retrieve in a browser: from an image to its results, by mouse and by keyboard, and with a baseline."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Site
from tests.browser.image_folder import jpeg
from tests.browser.pages import downloaded, open_tab, rest, sound, until, visit
from tests.synthetic import make_run

_TILES = "Array.from(document.querySelectorAll('.rs-resultrow .rs-tile'), (tile) => tile.offsetWidth)"


def settled(page: Page, count: int = 2) -> None:
    """Wait until every row shows an answer."""
    expect(page.locator(".rs-resultrow")).to_have_count(count)
    expect(page.locator(".rs-retrieve .rs-rows")).to_have_attribute("aria-busy", "false")


def retrieve(page: Page, count: int = 2) -> None:
    """Open the tab, with the results of its query."""
    open_tab(page, "Retrieve")
    settled(page, count)


def section(page: Page, name: str) -> None:
    """Open one of the tab's sections."""
    page.locator(".rs-retrieve .rs-segment", has_text=name).first.click()


def mistakes(page: Page) -> None:
    """Open the section of mistakes, with its bars."""
    section(page, "Mistakes")
    expect(page.locator(".rs-sharebar").first).to_be_visible()
    expect(page.locator(".rs-section[aria-busy=false]").last).to_be_visible()


def query(page: Page) -> str | None:
    """What is searched with, in words."""
    return page.locator(".rs-querycard .rs-query").first.get_attribute("aria-label")


def tiles(page: Page, row: int = 0) -> Locator:
    return page.locator(".rs-resultrow").nth(row).locator(".rs-tile:visible")


def asked(page: Page) -> Locator:
    return page.get_by_role("region", name="The image to search with")


def put(place: Locator, name: str, content: bytes) -> None:
    """Give a file to the place where one is chosen."""
    kind = f"image/{name.partition('.')[2]}"
    place.locator("input[type=file]").set_input_files({"name": name, "mimeType": kind, "buffer": content})


def test_a_query_opens_its_original_or_says_why_not(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished)) as page:
        original = page.get_by_role("dialog", name="The original image")
        page.locator(".rs-about .rs-query").click()
        expect(original).to_contain_text("This image has no file of its own. It is shown as it is kept here.")
        expect(original.get_by_role("img")).to_be_visible()
        original.get_by_role("button", name="Close").click()
        retrieve(page)
        page.locator(".rs-querycard").get_by_role("button", name="Original").press("Enter")
        expect(original).to_contain_text("It is shown as it is kept here.")
        page.keyboard.press("Escape")
        expect(original).to_be_hidden()


def test_from_a_point_in_live_to_results_by_keyboard_to_others_and_with_an_image_of_ones_own(
    browser: Browser, site: Site
) -> None:
    with visit(browser, site, site.at(site.finished, "&i=7&__theme=light")) as page:
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
        page.get_by_text("How each model was searched").click()
        sound(page, "#retrieve-view", ".rs-retrieve")
        by_keyboard(page)
        put(asked(page), "a.jpeg", jpeg())
        expect(page.locator(".rs-rownote").first).to_contain_text("no checkpoint")
        expect(page.locator(".rs-querycard h3").first).to_have_text("Your image")
        expect(page.get_by_role("slider", name="Frame").locator("visible=true")).to_have_count(0)


def by_keyboard(page: Page) -> None:
    """Come from another tab, search for a class, and search on with one of its results."""
    open_tab(page, "Live")
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
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')").startswith("Rank 2,")
    before = query(page)
    page.keyboard.press("Enter")
    expect(page.locator(".rs-querycard .rs-query").first).not_to_have_attribute("aria-label", before or "")


def test_steps_runs_and_a_baseline_are_compared(browser: Browser, site: Site) -> None:
    other = make_run(site.root, points=600, frames=3, arms=1, seed=0)
    few = make_run(site.root, points=48, frames=2, arms=1)
    with visit(browser, site, site.at(site.finished)) as page:
        retrieve(page)
        page.get_by_label("Compare with").select_option(other.id)
        settled(page, 3)
        assert f"with={other.id}" in page.url
        assert max(page.evaluate(_TILES)) <= 108, "a tile is as wide as its image may be, however long its name"
        mistakes(page)
        expect(page.locator(".rs-sharediff", has_text=re.compile("[+−±]"))).to_have_count(4)
        expect(page.get_by_label("Difference to the baseline")).to_contain_text("Smooth-AP")
        assert downloaded(page.get_by_role("link", name="Queries as CSV")).startswith(b"row,classes,")
        section(page, "Query")
        page.get_by_role("button", name="Baseline").last.click()
        expect(page.locator(".rs-resultrow .rs-summary").first).to_contain_text(re.compile("[+−±]0"))
        page.get_by_role("slider", name="Frame").locator("visible=true").press("Home")
        expect(page.locator(".rs-resultrow .rs-summary").first).to_contain_text("step 0")
        page.reload()
        retrieve(page, 3)
        expect(page.get_by_role("button", name="Baseline").last).to_have_attribute("aria-pressed", "true")
        mistakes(page)
        page.locator("#retrieve-view").get_by_label("Baseline").first.select_option("")
        expect(page.get_by_label("Difference to the baseline")).to_be_hidden()
        section(page, "Query")
        page.locator(".rs-retrieve").get_by_role("button", name=re.compile("^Remove")).click()
        settled(page, 2)
        menu = page.get_by_label("Run, with its images")
        expect(menu).to_have_value(site.finished.id)
        menu.select_option(few.id)
        settled(page, 1)
        expect(asked(page).locator(".rs-place")).to_contain_text("of 48")
        expect(menu).to_have_value(few.id)
        open_tab(page, "Live")
        until(page, f"s.run === '{few.id}'")
    few.delete()
    other.delete()


def test_what_is_not_there_and_what_is_no_image_is_said(browser: Browser, site: Site) -> None:
    folder = make_run(site.root, points=60, frames=2)
    with visit(browser, site, site.at(folder), refusals=True) as page:
        retrieve(page)
        page.get_by_role("searchbox", name="Search with an image of").fill("zebra")
        expect(asked(page).locator(".rs-place")).to_contain_text("No class of this gallery has “zebra”")
        put(asked(page), "a.png", b"no image")
        expect(page.locator(".rs-asking .rs-alert")).to_contain_text("not an image that can be read")
        page.get_by_role("button", name="Webcam").click()
        expect(page.locator(".rs-asking .rs-alert")).to_contain_text("camera")
        folder.delete()
        tiles(page).nth(1).click()
        expect(page.locator(".rs-retrieve")).to_contain_text(folder.id)


@pytest.mark.long
def test_a_gallery_with_parameters_has_a_form_of_them(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished)) as page:
        retrieve(page)
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
