"""The Catalogue tab in a real browser: entries are found, read with their formulas, drawn, compared and trained."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from explorer.tabs.catalogue.entries import entries
from tests.browser.conftest import Site
from tests.browser.pages import PHONE, fits, open_tab, visit


def choose(page: Page, words: str, title: str) -> None:
    """Search, and open the entry of this title, which is the first."""
    page.locator("#rs-catalogue").get_by_label("Search").fill(words)
    first = page.locator("#rs-entries [data-row='0'][data-col='0']")
    expect(first).to_have_text(title)
    first.click()
    expect(page.locator("#rs-entry h3")).to_have_text(title)


def test_a_loss_is_found_read_and_trained_beside_another(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished)) as page:
        open_tab(page, "Catalogue")
        entry = page.locator("#rs-entry")
        expect(entry.locator("h3")).to_have_text(entries()[0].title)
        expect(page.locator(".rs-chart .js-plotly-plot")).to_be_visible()
        choose(page, "happier", "HAPPIER")
        expect(entry.locator(".katex-display")).to_be_visible()
        expect(entry.locator("li", has_text="weight of the proxy term (weight_proxy)")).to_be_visible()
        expect(entry.get_by_role("link")).to_have_attribute("href", "https://arxiv.org/abs/2207.04873")
        entry.locator("summary").filter(has_text="parameters").click()
        expect(entry.locator("details li", has_text="weight_proxy")).to_be_visible()
        page.get_by_label("Beside it").click()
        page.locator("[data-testid=dropdown-option][aria-label='Smooth-AP']").click()
        expect(page.locator(".rs-chart .annotation-text", has_text="Smooth-AP: loss")).to_be_visible()
        page.get_by_role("button", name="The numbers").click()
        expect(page.locator("#rs-numbers").get_by_text("image of another family").first).to_be_visible()
        page.get_by_role("button", name="Train these two").click()
        for number, loss in enumerate(("happier", "smooth_ap"), 1):
            expect(page.locator("#rs-settings").get_by_label(f"Loss {number}", exact=True)).to_have_value(loss)
        a_metric_says_what_it_makes_of_mistakes(page)


@pytest.mark.long
def test_a_metric_is_read_on_a_phone(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished), size=PHONE, scheme="dark") as page:
        a_metric_says_what_it_makes_of_mistakes(page)


def a_metric_says_what_it_makes_of_mistakes(page: Page) -> None:
    """Find a metric, look at its curve, and open the glossary."""
    open_tab(page, "Catalogue")
    choose(page, "ndcg", "NDCG")
    expect(page.locator(".rs-chart .gtitle")).to_have_text("Controlled errors")
    expect(page.get_by_label("Beside it")).to_be_hidden()
    page.get_by_role("button", name="Glossary").click()
    expect(page.get_by_text("decomposability gap", exact=True)).to_be_visible()
    assert "$" not in page.locator("#rs-catalogue").inner_text()
    fits(page)
