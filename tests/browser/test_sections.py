"""The sections Mistakes and What did it look at? in a browser: from a number to the images behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.image_folder import jpeg
from tests.browser.pages import open_tab, show, shrink, sound, visit
from tests.browser.test_retrieve import mistakes, put, query, retrieve, section, settled
from tests.synthetic import diverge, make_run
from tests.tiny import tiny_config, trained
from trainers.config import DataChoice

LOOKED_AT = "What did it look at?"


def test_from_bars_confusions_and_classes_to_their_queries(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished)) as page:
        retrieve(page)
        section(page, LOOKED_AT)
        expect(page.get_by_role("button", name="Measure")).to_be_disabled()
        expect(page.get_by_label("What is measured")).to_contain_text("keeps no weights")
        page.locator(".rs-retrieve > .rs-segments input").first.focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".rs-sharebar").first).to_be_visible()
        by_class(page)
        mistakes(page)
        bars = page.locator(".rs-sharebar")
        expect(bars).to_have_count(7)  # three for each of two losses, and the best possible
        expect(bars.nth(1)).to_have_attribute("aria-label", re.compile(r"if wrong: same product 0\.0 %"))
        said = re.compile(r"first result: same product \d+\.\d %.*unrelated")
        expect(bars.first).to_have_attribute("aria-label", said)
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
        diverged = make_run(site.root, points=60, frames=3)
        diverge(diverged, arm=0, first=1)
        open_tab(page, "Live")
        show(page, diverged, "true")
        open_tab(page, "Retrieve")
        one_arm_is_left(page)
        diverged.delete()


def by_class(page: Page) -> None:
    """Find a class with the keyboard, and go to its queries."""
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


def one_arm_is_left(page: Page) -> None:
    """An arm that diverged has a sentence, and the other its bars."""
    mistakes(page)
    said = "Its training diverged: its embeddings at step 50 are not numbers, so it has no results."
    expect(page.locator(".rs-sharebar")).to_have_count(4)  # three of one loss, and the best possible
    expect(page.locator(".rs-sharebars")).to_contain_text(said)
    expect(page.get_by_label("Confusions")).to_contain_text(said)
    expect(page.locator(".rs-areapanel .rs-note").first).to_have_text("Step 50: no results, its training diverged")
    expect(page.get_by_label("Where the arms differ most")).to_contain_text("One arm is left to compare")
    expect(page.locator(".rs-classtable thead th")).to_have_count(6)


@pytest.fixture(scope="module")
def pots(browser: Browser, site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with a run of two losses on the drawn pots, trained for two steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        data = DataChoice(source="drawn", image_size=16, max_images=960, held_out="images")
        folder = trained(site.root, tiny_config(Path("unused"), data=data, steps=2, probe_size=40))
        with visit(browser, site, site.at(folder, "&__theme=light"), ready=False) as page:
            retrieve(page)
            yield page
        folder.delete()


def test_one_image_before_and_after(pots: Page) -> None:
    page = pots
    section(page, LOOKED_AT)
    one = page.get_by_label("One image, before and after", exact=True)
    rows = page.get_by_label("A query in its forms")
    one.get_by_role("button", name="Object, ").click()
    one.get_by_role("button", name="Compare").click()
    expect(rows).to_contain_text("of it is removed. Object goes.")
    expect(rows.locator(".rs-formrow")).to_have_count(6)
    expect(rows.locator(".rs-staysword").first).to_have_text(re.compile("^(new|stays|up|down)"))
    put(one, "a.jpeg", jpeg())
    expect(one.get_by_role("button", name="Object, ")).to_have_count(0)
    one.get_by_text("Brush", exact=True).click()
    one.get_by_role("application").focus()
    for key in ("ArrowRight", " ", "Enter"):
        page.keyboard.press(key)
    expect(rows.get_by_role("heading", name="Your image")).to_be_visible()
    expect(rows.locator(".rs-formimage")).to_have_count(3)
    expect(rows.locator(".rs-formrow")).to_have_count(6)


def test_from_a_measurement_to_the_images_of_a_query(pots: Page) -> None:
    page = pots
    section(page, LOOKED_AT)
    page.get_by_label("Queries at most").fill("20")
    page.get_by_role("button", name="Measure").click()
    expect(page.locator(".rs-bar")).to_have_count(13)  # R@1 of seven forms, and what stays of six
    numbers = page.get_by_label("Numbers", exact=True)
    expect(numbers).to_contain_text("20 queries of Drawn world")
    expect(numbers).to_contain_text("over queries only; another training may differ")
    expect(numbers.get_by_role("heading", name="Beyond the controls")).to_be_visible()
    expect(numbers.locator("tr", has_text="beyond the placebo")).to_have_count(3)  # R@1, H-AP, what stays
    expect(numbers.locator("tr:visible", has_text="beyond the placebo")).to_have_count(1)
    page.get_by_label("Queries that do not notice").locator(".rs-pairrow").first.press("Enter")
    rows = page.get_by_label("A query in its forms")
    expect(rows).to_be_focused()
    expect(rows.locator(".rs-formimage")).to_have_count(7)
    expect(rows.locator(".rs-formrow")).to_have_count(14)
    expect(rows.locator(".rs-formrow").first.locator(".rs-tile")).to_have_count(10)
    page.wait_for_function("() => [...document.querySelectorAll('.rs-formimage')].every((one) => one.naturalWidth)")
    shrink(page)
    sound(page, "#retrieve-view")
    mistakes(page)
    sound(page, "#retrieve-view", ".rs-retrieve")
    section(page, LOOKED_AT)
    sound(page, "#retrieve-view")  # in the dark
    page.get_by_role("button", name="Search with this image").click()
    settled(page)
    expect(page.get_by_label("Gallery")).to_have_value("test")


HELD = """() => Object.fromEntries(Object.entries({
  retrieve: ".rs-retrieve :is(.rs-tile, .rs-pick, .rs-pairrow, .rs-classtable tr)", object: ".rs-object .rs-thumbs img",
}).map(([name, selector]) => [name, document.querySelectorAll(selector).length]))"""


@pytest.mark.long
def test_what_is_hidden_holds_no_rows_and_images_and_has_them_again_when_it_is_seen(
    browser: Browser, site: Site
) -> None:
    with visit(browser, site, site.at(site.finished)) as page:
        retrieve(page)
        results, picked = page.locator(".rs-resultrow .rs-tile"), page.locator(".rs-pick[aria-pressed=true]")
        labels = "(all) => all.map((one) => one.getAttribute('aria-label'))"
        before = results.evaluate_all(labels), picked.evaluate_all(labels)
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
        expect(results).to_have_count(len(before[0]))
        assert (results.evaluate_all(labels), picked.evaluate_all(labels)) == before
