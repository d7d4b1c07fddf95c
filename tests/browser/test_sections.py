"""The sections Mistakes and What did it look at? in a browser: from a number to the images behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.image_folder import jpeg
from tests.browser.pages import shrink, sound, visit
from tests.browser.test_retrieve import mistakes, put, query, retrieve, section, settled
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


def by_class(page: Page) -> None:
    """Find a class with the keyboard, and go to its queries."""
    page.locator(".rs-inline select").select_option("HAP")
    found = page.get_by_label("Where the models differ most").last
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


@pytest.fixture(scope="module")
def pots(browser: Browser, site: Site) -> Iterator[Page]:
    """A page with a run of two losses on the drawn pots, trained for two steps."""
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
    one.get_by_role("button", name="Object, ").click()  # its images are drawn first
    one.get_by_role("button", name="Compare").click()
    expect(rows).to_contain_text("of it is removed. Object goes.")
    expect(rows).to_be_focused()
    page.wait_for_function("() => [...document.querySelectorAll('.rs-formimage')].every((one) => one.naturalWidth)")
    expect(rows.locator(".rs-formrow")).to_have_count(6)
    expect(rows.locator(".rs-staysword").first).to_have_text(re.compile("^(new|stays|up|down)"))
    one.get_by_role("button", name="Heat map").click()
    maps = page.get_by_label("Heat maps", exact=True)
    expect(maps.locator("img")).to_have_count(2)
    expect(maps).to_contain_text("other images of the query's class falls without the patch")
    put(one, "a.jpeg", jpeg())
    expect(one.get_by_role("button", name="Object, ")).to_have_count(0)
    one.get_by_text("Brush", exact=True).click()
    one.get_by_role("application").focus()
    for key in ("ArrowRight", " ", "Enter"):
        page.keyboard.press(key)
    expect(rows.get_by_role("heading", name="Your image")).to_be_visible()
    expect(rows.locator(".rs-formimage")).to_have_count(3)
    expect(rows.locator(".rs-formrow")).to_have_count(6)
    one.get_by_role("button", name="Heat map").click()
    expect(maps).to_contain_text("the first 10 results of each loss")


def test_a_measurement_and_what_each_form_of_the_queries_finds(pots: Page) -> None:
    page = pots
    section(page, LOOKED_AT)
    page.get_by_label("Queries at most").fill("20")
    page.get_by_role("button", name="Measure").click()
    expect(page.locator(".rs-bar")).to_have_count(9)  # R@1 of five forms, and what stays of four
    numbers = page.get_by_label("Numbers", exact=True)
    expect(numbers).to_contain_text("20 queries of Drawn world")
    expect(numbers).to_contain_text("over queries only; another training may differ")
    expect(numbers.get_by_role("heading", name="Beyond the controls")).to_be_visible()
    expect(numbers.locator("tr", has_text="beyond the placebo")).to_have_count(3)  # R@1, H-AP, what stays
    expect(numbers.locator("tr:visible", has_text="beyond the placebo")).to_have_count(1)
    shrink(page)
    sound(page, "#retrieve-view")
    mistakes(page)
    sound(page, "#retrieve-view", ".rs-retrieve")
    section(page, LOOKED_AT)
    sound(page, "#retrieve-view")  # in the dark
