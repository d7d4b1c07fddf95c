"""The sections Mistakes and What did it look at? in a browser: from a number to the images behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.image_folder import jpeg
from tests.browser.pages import PHONE, open_tab, visit
from tests.browser.test_access import darken, findings
from tests.browser.test_retrieve import query, settled, tab
from tests.synthetic import diverge, make_run
from tests.tiny import tiny_config
from trainers.config import DataChoice
from trainers.kinds import kind_of
from trainers.runs import RunFolder

MISTAKES, LOOKED_AT = "Mistakes", "What did it look at?"


@pytest.fixture(scope="module")
def pots(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """Two losses on the drawn pots, trained for two steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        data = DataChoice(source="drawn", image_size=16, max_images=960, held_out="images")
        folder = RunFolder.create(site.root, tiny_config(Path("unused"), data=data, steps=2, probe_size=40))
        loop = kind_of(folder.config).loop()(folder)
        while loop.advance(60):
            pass
        loop.finish()
        yield folder
        folder.delete()


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for tests that choose the section that they ask about."""
    with tab(browser, site, site.finished) as page:
        yield page


def section(page: Page, name: str) -> None:
    page.locator(".rs-retrieve .rs-segment", has_text=name).first.click()


def mistakes(page: Page) -> None:
    section(page, MISTAKES)
    expect(page.locator(".rs-sharebar").first).to_be_visible()
    expect(page.locator(".rs-section[aria-busy=false]").last).to_be_visible()


def test_a_run_without_weights_says_so_and_shows_what_was_there_before(opened: Page) -> None:
    page = opened
    section(page, LOOKED_AT)
    expect(page.get_by_role("button", name="Measure")).to_be_disabled()
    expect(page.get_by_label("What is measured")).to_contain_text("keeps no weights")


def test_from_a_bar_to_the_rows_of_a_confusion(opened: Page) -> None:
    page = opened
    mistakes(page)
    bars = page.locator(".rs-sharebar")
    expect(bars).to_have_count(7)  # three for each of two losses, and the best possible
    expect(bars.nth(1)).to_have_attribute("aria-label", re.compile(r"if wrong: same product 0\.0 %"))
    expect(bars.first).to_have_attribute("aria-label", re.compile(r"first result: same product \d+\.\d %.*unrelated"))
    expect(page.locator(".rs-areapanel")).to_have_count(2)
    page.get_by_role("slider", name="Frame").locator("visible=true").press("Home")
    expect(page.get_by_label("Results by severity", exact=True)).to_contain_text("at step 0")
    expect(page.locator(".rs-areapanel .rs-note").last).to_contain_text("Step 0:")
    row = page.get_by_label("Confusions").locator(".rs-pairrow").first
    name = (row.locator(".rs-pairname").text_content() or "").partition(" mistaken for ")[0]
    row.click()
    settled(page)
    assert re.match(rf"Image \d+: {name},", query(page) or "")
    expect(page.locator(".rs-resultrow .rs-summary").first).to_contain_text("step 0")


@pytest.mark.long
def test_an_arm_that_diverged_has_a_sentence_and_the_other_its_bars(browser: Browser, site: Site) -> None:
    run = make_run(site.root, points=60, frames=3)
    diverge(run, arm=0, first=1)
    with visit(browser, site, site.at(run)) as page:
        page.get_by_role("tab", name="Retrieve").click()
        mistakes(page)
        said = "Its training diverged: its embeddings at step 50 are not numbers, so it has no results."
        expect(page.locator(".rs-sharebar")).to_have_count(4)  # three of one loss, and the best possible
        expect(page.locator(".rs-sharebars")).to_contain_text(said)
        expect(page.get_by_label("Confusions")).to_contain_text(said)
        expect(page.locator(".rs-areapanel .rs-note").first).to_have_text("Step 50: no results, its training diverged")
        expect(page.get_by_label("Where the arms differ most")).to_contain_text("One arm is left to compare")
        expect(page.locator(".rs-classtable thead th")).to_have_count(6)
    run.delete()


@pytest.mark.long
def test_classes_and_queries_by_keyboard(browser: Browser, site: Site) -> None:
    with tab(browser, site, site.finished) as page:
        page.locator(".rs-retrieve > .rs-segments input").first.focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".rs-sharebar").first).to_be_visible()
        page.locator(".rs-inline select").select_option("HAP")
        found = page.get_by_label("Where the arms differ most").last
        expect(found).to_contain_text("H-AP of 600 queries")
        classes = page.get_by_role("region", name="By class")
        classes.get_by_role("searchbox").fill("kind 2")
        expect(classes).to_contain_text("No class with queries")  # of the finest level
        classes.get_by_role("combobox").select_option("1")
        expect(classes.locator("tbody tr")).to_have_count(1)
        classes.locator("tbody button").focus()
        page.keyboard.press("Enter")
        settled(page)
        assert "kind 2" in (query(page) or "")


@pytest.mark.long
def test_a_baseline_shows_differences(browser: Browser, site: Site) -> None:
    other = make_run(site.root, points=600, frames=3, arms=1, seed=0)
    with tab(browser, site, site.finished) as page:
        page.get_by_label("Compare with").select_option(other.id)
        settled(page, 3)
        mistakes(page)
        expect(page.locator(".rs-sharediff", has_text=re.compile("[+−±]"))).to_have_count(4)
        expect(page.get_by_label("Difference to the baseline")).to_contain_text("Smooth-AP")
        with page.expect_download() as got:
            page.get_by_role("link", name="Queries as CSV").click()
        assert Path(got.value.path()).read_text().startswith("row,classes,")
        page.locator("#retrieve-view").get_by_label("Baseline").first.select_option("")
        expect(page.get_by_label("Difference to the baseline")).to_be_hidden()
        other.delete()


def test_from_a_measurement_to_the_images_of_a_query(browser: Browser, site: Site, pots: RunFolder) -> None:
    with visit(browser, site, site.at(pots), motion="reduce", ready=False) as page:
        page.get_by_role("tab", name="Retrieve").click()
        settled(page)
        section(page, LOOKED_AT)
        page.get_by_label("Queries at most").fill("20")
        page.get_by_role("button", name="Measure").click()
        expect(page.locator(".rs-bar")).to_have_count(18)  # R@1 of ten forms, and what stays of eight
        expect(page.get_by_label("Numbers", exact=True)).to_contain_text("20 queries of Drawn world")
        numbers = page.get_by_label("Numbers", exact=True)
        expect(numbers).to_contain_text("over queries only; another training may differ")
        expect(numbers.get_by_role("heading", name="Beyond the controls")).to_be_visible()
        expect(numbers.locator("tr", has_text="beyond the placebo")).to_have_count(3)  # R@1, H-AP, what stays
        expect(numbers.locator("tr:visible", has_text="beyond the placebo")).to_have_count(1)
        numbers.get_by_text("R@1 by the area that the object covers").click()
        expect(numbers.locator("thead", has_text="smallest third").locator("th")).to_have_count(7)
        expect(numbers.locator("tbody tr:visible", has_text="As much filled beside the object")).to_have_count(1)
        page.get_by_label("Queries that do not notice").locator(".rs-pairrow").first.press("Enter")
        rows = page.get_by_label("A query in its forms")
        expect(rows).to_be_focused()
        expect(rows.locator(".rs-formimage")).to_have_count(7)
        expect(rows.locator(".rs-formrow")).to_have_count(14)
        expect(rows.locator(".rs-formrow").first.locator(".rs-tile")).to_have_count(10)
        page.wait_for_function("() => [...document.querySelectorAll('.rs-formimage')].every((one) => one.naturalWidth)")
        page.get_by_role("button", name="Search with this image").click()
        settled(page)
        expect(page.get_by_label("Gallery")).to_have_value("test")


def test_one_image_before_and_after(browser: Browser, site: Site, pots: RunFolder) -> None:
    with visit(browser, site, site.at(pots), motion="reduce", ready=False) as page:
        page.get_by_role("tab", name="Retrieve").click()
        settled(page)
        section(page, LOOKED_AT)
        one = page.get_by_label("One image, before and after", exact=True)
        rows = page.get_by_label("A query in its forms")
        one.get_by_role("button", name="Object, ").click()
        one.get_by_role("button", name="Compare").click()
        expect(rows).to_contain_text("of it is removed. Object goes.")
        expect(rows.locator(".rs-formrow")).to_have_count(6)
        expect(rows.locator(".rs-staysword").first).to_have_text(re.compile("^(new|stays|up|down)"))
        one.locator("input[type=file]").set_input_files({"name": "a.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
        expect(one.get_by_role("button", name="Object, ")).to_have_count(0)
        one.get_by_text("Brush", exact=True).click()
        one.get_by_role("application").focus()
        for key in ("ArrowRight", " ", "Enter"):
            page.keyboard.press(key)
        expect(rows.get_by_role("heading", name="Your image")).to_be_visible()
        expect(rows.locator(".rs-formimage")).to_have_count(3)
        expect(rows.locator(".rs-formrow")).to_have_count(6)


@pytest.mark.long
@pytest.mark.parametrize("size", [PHONE], ids=["phone"])
def test_no_serious_finding(browser: Browser, site: Site, pots: RunFolder, size: tuple[int, int]) -> None:
    with visit(browser, site, site.at(pots, "&__theme=light"), motion="reduce", ready=False, size=size) as page:
        page.get_by_role("tab", name="Retrieve").click()
        settled(page)
        mistakes(page)
        assert findings(page, "#retrieve-view") == []
        section(page, LOOKED_AT)
        page.get_by_label("Queries at most").fill("20")
        page.get_by_role("button", name="Measure").click()
        page.get_by_label("Queries that do not notice").locator(".rs-pairrow").first.click()
        expect(page.locator(".rs-formrow").first).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert findings(page, "#retrieve-view") == []
        darken(page, ".rs-retrieve")
        assert findings(page, "#retrieve-view") == []
        section(page, MISTAKES)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert findings(page, "#retrieve-view") == []


HELD = """() => Object.fromEntries(Object.entries({
  retrieve: ".rs-retrieve :is(.rs-tile, .rs-pick, .rs-pairrow, .rs-classtable tr)", object: ".rs-object .rs-thumbs img",
}).map(([name, selector]) => [name, document.querySelectorAll(selector).length]))"""


@pytest.mark.long
def test_what_is_hidden_holds_no_rows_and_images_and_has_them_again_when_it_is_seen(
    browser: Browser, site: Site
) -> None:
    with tab(browser, site, site.finished) as page:
        tiles = [tile.get_attribute("aria-label") for tile in page.locator(".rs-resultrow .rs-tile").all()]
        picked = page.locator(".rs-pick[aria-pressed=true]").get_attribute("aria-label")
        mistakes(page)
        rows = page.get_by_label("Confusions").locator(".rs-pairrow")
        expect(rows.first).to_be_visible()
        expect(page.locator(".rs-retrieve .rs-tile")).to_have_count(0)  # of the section that is hidden
        confusions = rows.all_text_contents()
        open_tab(page, "Remove an object")
        strip = page.locator(".rs-thumbs img")
        chosen = page.locator(".rs-thumbs button[aria-pressed=true] img")
        expect(chosen).to_be_visible()
        page.wait_for_function(f"() => ({HELD})().retrieve === 0")
        page.wait_for_timeout(500)  # a strip whose end is near reads on
        images, alt = strip.count(), chosen.get_attribute("alt")
        open_tab(page, "Live")
        page.wait_for_function(f"() => Object.values(({HELD})()).every((count) => count === 0)")
        open_tab(page, "Remove an object")
        expect(chosen).to_have_attribute("alt", alt or "")
        expect(chosen).to_be_in_viewport()
        page.wait_for_timeout(500)
        assert strip.count() == images, "it grows with every visit"
        open_tab(page, "Retrieve")
        expect(rows).to_have_text(confusions)
        section(page, "Query")
        expect(page.locator(".rs-resultrow .rs-tile")).to_have_count(len(tiles))
        assert [tile.get_attribute("aria-label") for tile in page.locator(".rs-resultrow .rs-tile").all()] == tiles
        expect(page.locator(".rs-pick[aria-pressed=true]")).to_have_attribute("aria-label", picked or "")
