"""Names of any length and script stay in their place and are text; once other images are opened, none is left."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import LOOKS, Look, lasso, open_tab, place, polled, rest, show, state, until, visit
from tests.synthetic import make_run
from trainers.hierarchy import Hierarchy
from trainers.runs import RunFolder

LONG = "Extraordinarily" * 333 + "long."  # 5,000 letters without a space
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>' + "b" * 300
NAMES = (
    LONG,
    "כלב" * 100,
    "قطة سوداء",
    "e" + "\u0301\u0316" * 2000,
    "\u202egnorw \u2069 turned",
    "two\nlines\tand more",
    HOSTILE,
    "word " * 200,
)
GROUPS = ("A" * 5000, "مجموعة " * 60)


def renamed(site: Site, title: str, *names: tuple[str, ...]) -> RunFolder:
    """A run of 80 images whose classes take turns and have these names, by level."""
    run = make_run(site.root, points=80, frames=2)
    probe = run.probe()
    assert probe is not None
    labels = np.stack([np.arange(80) % len(level) for level in names], axis=1).astype(np.int32)
    tree = Hierarchy(levels=("fine", "coarse")[: len(names)], names=names)
    run.write_probe(dataclasses.replace(probe, labels=labels, hierarchy=tree, data_title=title, sheets=0), ())
    return run


@pytest.fixture
def named(site: Site) -> RunFolder:
    return renamed(site, "Names", NAMES, GROUPS)


_OUTSIDE = """() => {
  const wide = document.documentElement.scrollWidth;
  const out = [...document.querySelectorAll("#live-view *, #rs-runs-list *")].filter((node) => {
    const scrolled = node.closest(
      ".rs-unseen, .rs-strip, .rs-tablebox, .rs-table, .rs-data, .rs-classes, .rs-menu, .rs-sprites");
    if (scrolled || !node.checkVisibility()) return false;
    const box = node.getBoundingClientRect();
    return box.width > 0 && box.right > innerWidth + 1;
  });
  return [...(wide > innerWidth ? [`page ${wide}`] : []), ...out.map((node) => node.className || node.tagName)];
}"""
_TALL = """(within) => [...document.querySelectorAll(within)].filter((node) => node.checkVisibility())
  .map((node) => node.getBoundingClientRect().height)"""
_WIDTHS = "all => all.map((one) => one.getBoundingClientRect().width)"


@LOOKS
def test_long_names_stay_in_their_place(browser: Browser, site: Site, named: RunFolder, look: Look) -> None:
    with visit(browser, site, site.at(named), **look) as page:
        rest(page)
        entries = page.locator(".rs-classes button")
        expect(entries).to_have_count(len(NAMES))
        assert page.evaluate(_OUTSIDE) == []
        assert max(page.evaluate(_TALL, ".rs-classes button")) <= 46
        assert max(entries.evaluate_all(_WIDTHS)) <= min(240, page.evaluate("innerWidth") * 0.6) + 1
        _look_at_every_class(page)
        for summary in page.locator(".rs-curves summary").filter(visible=True).all():
            summary.click()
        assert page.evaluate(_OUTSIDE) == []
        page.locator(".rs-segments button").nth(1).click()
        expect(entries).to_have_count(len(GROUPS))
        assert max(page.evaluate(_TALL, ".rs-segments button")) <= 46
        assert page.evaluate(_OUTSIDE) == []
        open_tab(page, "Runs")
        expect(page.locator("#rs-runs-list [data-col='0']:visible").first).to_be_visible()
        assert page.evaluate(_OUTSIDE) == []
        assert page.evaluate("window.hacked") is None
        everything = page.locator("#live-view").text_content() or ""
        assert "\u202e" not in everything, "what turns the text around it is left out"
        assert "\u2068مجموعة" in everything, "a name from right to left is set apart"


def _look_at_every_class(page: Page) -> None:
    """The query, its tiles and the card under the cursor, for an image of each class."""
    about = "async () => (await fetch(`gradio_api/rankscope/run/${rankscope.current()}`)).json()"
    labels = page.evaluate(about)["labels"][0]
    assert len(set(labels)) == len(NAMES)
    for label in sorted(set(labels)):
        page.mouse.move(2, 2)
        x, y = place(page, 0, labels.index(label))
        page.locator(".rs-plot").first.scroll_into_view_if_needed()
        x, y = place(page, 0, labels.index(label))
        page.mouse.move(x, y)
        expect(page.locator(".rs-hover")).to_be_visible()
        assert page.locator(".rs-hover").bounding_box()["height"] < 220
        page.mouse.click(x, y)
        rest(page)
        assert page.evaluate(_OUTSIDE) == []
        assert max(page.evaluate(_TALL, ".rs-about h3, .rs-about .rs-path")) <= 70
        assert max(page.evaluate(_TALL, ".rs-severity")) <= 40


# ---------------------------------------------------------------------- other images, another run


FIRST = re.compile(r"made-up|product|aisle|\bkind\b(?! of run)|first_set", re.IGNORECASE)
"""Words that only the first dataset brings: its name, its levels, its classes."""
_SAID = """() => ["#live-view", "#rs-sidebar"].flatMap((part) => [document.querySelector(part)].flatMap((root) =>
  [...[root.cloneNode(true)].map((copy) => {
    copy.querySelectorAll("option, .rs-report").forEach((other) => other.remove());  // lists, and images to train on
    return copy.textContent;
  }), ...[...root.querySelectorAll("*")].flatMap((node) =>
    [...["title", "aria-label", "placeholder"].map((name) => node.getAttribute(name)), node.value])]))
  .filter((text) => typeof text === "string" && text)"""


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
    for summary in page.locator(".rs-curves summary").filter(visible=True).all():
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


def test_another_run_leaves_no_line_of_the_one_before(browser: Browser, site: Site) -> None:
    colours = renamed(site, "Discs", tuple(f"colour {n}" for n in range(8)))
    queued = make_run(site.root, phase="queued", seed=9)
    with visit(browser, site, site.at(site.finished)) as page:
        rest(page)
        talk_about_it(page)
        for following in (queued, colours):
            page.get_by_role("tab", name="Runs").first.click()
            show(page, following, "true")
            page.get_by_role("tab", name="Live").first.click()
            if following is colours:
                until(page, "s.k !== null")
                rest(page)
                expect(page.locator(".rs-classes")).to_contain_text("colour")
            else:
                expect(page.locator(".rs-vacant, .rs-waiting").first).to_contain_text("Waiting for the first frame")
            assert state(page)["lassoed"] == 0
            polled(page)  # what was on its way has come
            assert of_the_first(page) == [], "what the page still says"
    for each in (queued, colours):
        each.db.close()
