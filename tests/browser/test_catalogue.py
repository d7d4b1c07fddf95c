"""The Catalogue tab and the menu of losses in a real browser: every formula is drawn, nothing is fetched for it."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import PHONE, fits, open_tab, visit
from trainers.image_text.models import MODELS
from trainers.kinds import KINDS
from trainers.losses import FAMILIES
from trainers.metrics import IMAGE_TEXT_METRICS, MAP_METRICS, METRICS, PUBLISHED, REPRESENTATION_METRICS
from trainers.parameters import Rule

SHOWN = [loss for losses in FAMILIES.values() for loss in losses]


FLAT = {"cosines": [0, 1], "marks": [0.5], "moves": [{"title": "a", "loss": [0, 1], "push": [0, 0]}], "made": "b"}
ENTRY = "#rs-catalogue .rs-entry"


def open_catalogue(page: Page) -> None:
    open_tab(page, "Catalogue")
    expect(page.locator(ENTRY).last).to_be_attached()


def test_every_formula_is_drawn_on_a_phone(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished), size=PHONE, scheme="dark") as page:  # fails on outside requests
        page.route("**/catalogue/response/*", lambda route: route.fulfill(json=FLAT))  # seconds of work for all of them
        open_catalogue(page)
        assert page.locator("#rs-catalogue *").count() < 800  # closed entries are a title and a sentence
        page.evaluate("() => document.querySelectorAll('.rs-entrytitle').forEach((title) => title.click())")
        shown = page.locator(ENTRY)
        described = [*SHOWN, *PUBLISHED.values()]
        expect(shown.locator(".katex-display")).to_have_count(len(described))
        expect(shown.locator(".rs-entrybody > ul .katex-html")).to_have_count(
            sum(len(one.symbols) for one in described)
        )
        expect(page.locator("#rs-catalogue .katex-error")).to_have_count(0)
        assert "$" not in page.locator("#rs-catalogue").inner_text()
        fits(page)


def headings() -> list[str]:
    """All titles of the catalogue, each under its family."""
    wanted = [text for family, losses in FAMILIES.items() for text in (family, *(loss.title for loss in losses))]
    for kind in KINDS.values():
        for listed, place in kind.lists.items():
            entries = Rule(help="", registry=place).entries().values()
            wanted += [f"{listed.capitalize()} of {kind.title.lower()}", *(entry.title for entry in entries)]
    parts = {"Metrics": METRICS, "Frozen features": REPRESENTATION_METRICS, "Maps": MAP_METRICS}
    for title, metrics in (parts | {"Images and captions": IMAGE_TEXT_METRICS | MODELS}).items():
        wanted += [title, *(metric.title for metric in metrics.values())]
    return wanted


def test_entries_stand_under_their_families_open_and_are_searched(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished)) as page:
        open_catalogue(page)
        fits(page)
        assert page.locator("#rs-catalogue :is(h2, h3)").all_inner_texts() == headings()
        searched(page)
        entry = page.locator(ENTRY).filter(has=page.get_by_text("HAPPIER", exact=True))
        title = entry.get_by_role("button", name="HAPPIER", exact=True)
        title.click()
        expect(entry.locator(".katex-display")).to_be_visible()
        expect(entry.locator("li", has_text="weight of the proxy term (weight_proxy)")).to_be_visible()
        charts = entry.get_by_role("img", name="cosine of the moving image")
        expect(charts).to_have_count(2)
        expect(charts.first).to_have_attribute(
            "aria-label", re.compile(r"^Loss by .*image of another family: 0\.\d+ at 0\.00, ")
        )
        expect(charts.first.locator("path.rs-line, .rs-line path")).to_have_count(3)
        expect(entry.get_by_text("Computed by the code of this loss")).to_be_visible()
        parameters = entry.locator("details li", has_text="weight_proxy")
        expect(parameters).to_be_hidden()
        entry.locator("summary").filter(has_text="parameter").click()
        expect(parameters).to_be_visible()
        expect(entry.get_by_role("link")).to_have_attribute("href", "https://arxiv.org/abs/2207.04873")
        title.click()
        expect(entry.locator(".katex-display")).to_have_count(0)
        title.click()
        expect(parameters).to_be_visible()


def searched(page: Page) -> None:
    """Words and a family leave the entries that have them."""
    entries = page.locator(f"{ENTRY}:visible")
    every = entries.count()
    assert page.evaluate("() => document.documentElement.scrollHeight") < 130 * every
    words, family = page.get_by_label("Search the catalogue"), page.get_by_label("Family", exact=True)
    words.fill("smooth ap")
    expect(entries.filter(has_text="Smooth-AP").first).to_be_visible()
    assert 0 < entries.count() < every / 4
    family.select_option("Contrastive")
    expect(entries).to_have_count(0)
    words.fill("")
    expect(entries).to_have_count(len(FAMILIES["Contrastive"]))
    expect(page.get_by_role("status").filter(has_text=f"{len(FAMILIES['Contrastive'])} entries")).to_be_visible()
    expect(page.locator("#rs-catalogue h2:visible")).to_have_text(["Contrastive"])
    family.select_option("")
    expect(entries).to_have_count(every)
