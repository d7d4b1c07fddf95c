"""What a first visitor sees without scrolling: maps, a query on which the losses differ, its results, sentences."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import LOOKS, PHONE, Look, new_page, open_tab, profile, rest, seek, state, visit

SCREEN = (1440, 900)


ALIKE = """() => {
  const { run, lists } = window.rankscope.live.neighbours;
  const alike = (shared, i) => shared.filter((n) => n >= run.levels.length - i).length;
  return Object.fromEntries(run.levels.map((level, i) => [level, lists.map(({ shared }) => alike(shared, i))]));
}"""
"""For every level the results of each loss that share the query's class, as they are marked on the page."""
SPREAD = """() => {
  const { maps } = window.rankscope.live;
  const points = maps.cards.flatMap((card, arm) => {
    const { left, top, width, height } = card.plot.getBoundingClientRect();
    const places = Array.from({ length: maps.scene.count }, (_, i) => window.debug.place(arm, i));
    return places.map(([x, y]) => [x - left, y - top, width, height]);
  });
  const spread = (at) => Math.max(...points.map((p) => p[at])) - Math.min(...points.map((p) => p[at]));
  const within = points.every(([x, y, w, h]) => x > 0 && y > 0 && x < w && y < h);
  return [Math.max(spread(0) / points[0][2], spread(1) / points[0][3]), within];
}"""
"""Share of a map's side that its points take, and whether all are inside."""


def test_maps_query_and_results_of_every_loss_are_on_the_first_screen(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.url, size=SCREEN) as page:
        rest(page)
        titles_are_free(page)
        for place in (".rs-plot", ".rs-value", ".rs-scrubber input", ".rs-query", ".rs-contrast", ".rs-row .rs-tile"):
            for node in page.locator(place).all():
                expect(node).to_be_in_viewport(ratio=0.9)
        spread, within = page.evaluate(SPREAD)
        assert spread > 0.8 and within
        told = the_losses_visibly_disagree(page)
        badge, reasons = page.locator(".rs-truthbadge").first, page.locator(".rs-reasons").first
        expect(badge).to_have_text("read with care")  # products lie within each other
        badge.focus()
        expect(reasons).to_be_visible()
        for name in ("map keeps", "label T", "label C"):
            expect(reasons).to_contain_text(name)
        names_stand_apart_and_are_switched_off(page)
        seek(page, 0)
        rest(page)
        expect(page.locator(".rs-contrast")).not_to_have_text(told)  # it speaks of the step that is shown


def test_what_the_first_view_imports_is_fetched_with_the_page(browser: Browser, public: Site) -> None:
    fetched: list[str] = []
    with profile(browser, public.url) as context:
        opened = new_page(context, SCREEN)
        opened.on("request", lambda request: fetched.append(request.url))
        opened.goto(public.url)
        opened.locator(".rs-query").first.wait_for()
        rest(opened)
        early = opened.evaluate(
            "() => [...document.querySelectorAll('link[rel=modulepreload]')].map((one) => one.href)"
        )
        later = [url for url in fetched if "/rankscope/assets/" in url and url.endswith(".js") and url not in early]
        assert len(early) == len(set(early) & set(fetched)) == len([url for url in fetched if url in early])
        assert [url for url in later if "vendor" not in url] == []


def the_losses_visibly_disagree(page: Page) -> str:
    """The sentence on how much they do for this query is true; what it says."""
    titles = page.locator(".rs-card h3").all_inner_texts()
    found = page.evaluate(ALIKE)
    level = max(found, key=lambda name: max(found[name]) - min(found[name]))
    most, least = max(found[level]), min(found[level])
    assert most - least >= 5
    best, worst = (titles[found[level].index(count)] for count in (most, least))
    told = page.locator(".rs-contrast").inner_text().replace("\u00a0", " ")
    begin = f"A query on which they differ most: of the ten nearest images, {best} has {most} of the same {level}, "
    begin += f"{worst} {least}. Over all 400 queries "
    assert told.startswith(begin), told
    shares = [int(share) for share in re.findall(r"on (\d+) %", told.removeprefix(begin))]
    assert len(shares) == 3 and 99 <= sum(shares) <= 101
    return told


def names_stand_apart_and_are_switched_off(page: Page) -> None:
    """Names of classes on the maps."""
    names = page.locator(".rs-classlabel:not([hidden])")
    assert names.count() > 6
    boxes = [node.bounding_box() for node in page.locator(".rs-plot").first.locator(".rs-classlabel").all()]
    for one, other in itertools.combinations(filter(None, boxes), 2):
        apart = abs(one["y"] - other["y"]) >= 14 or one["x"] >= other["x"] + other["width"] - 8
        assert apart or other["x"] >= one["x"] + one["width"] - 8, "two names overlap"
    switch = page.get_by_role("button", name="Class names")
    switch.click()
    expect(names).to_have_count(0)
    switch.click()
    expect(names.nth(6)).to_be_visible()


@LOOKS
def test_three_sentences_on_the_maps_are_closed_for_good(browser: Browser, public: Site, look: Look) -> None:
    with visit(browser, public, public.url, hints=True, **look) as page:
        hints = page.get_by_role("region", name="How to read the maps")
        expect(hints.get_by_role("listitem")).to_have_count(3)
        rest(page)
        before = state(page)["chosen"]
        hints.get_by_role("button", name="Got it").click()
        expect(hints).to_be_hidden()
        assert state(page)["chosen"] == before, "the map below was not clicked"
        page.reload()
        expect(page.locator(".rs-card")).to_have_count(2)
        expect(hints).to_be_hidden()
        page.get_by_role("button", name="How to read the maps").click()
        expect(hints).to_be_visible()


@pytest.mark.long
def test_on_a_phone_train_stands_above_the_tabs(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.url, size=PHONE, touch=True) as page:
        page.keyboard.press("Tab")
        page.evaluate("window.scrollTo(0, 0)")
        button, name = page.locator("#rs-sidebar .toggle-button"), page.locator(".rs-masthead")
        tabs, label = page.get_by_role("tablist").first.bounding_box(), name.locator("span").bounding_box()
        box = button.bounding_box()
        assert tabs and label and box
        assert box["y"] + box["height"] <= tabs["y"] and box["x"] + box["width"] <= PHONE[0]
        assert label["x"] + label["width"] <= box["x"] or label["y"] >= box["y"] + box["height"]
        page.mouse.wheel(0, 600)
        expect(button).not_to_be_in_viewport()
        page.evaluate("window.scrollTo(0, 0)")
        open_tab(page, "Claims")
        expect(button).to_be_hidden()  # nothing is trained from there
        open_tab(page, "Live")
        button.click()
        expect(page.locator(".rs-trainrow")).to_be_in_viewport()


STOP = """() => {
  const at = document.activeElement;
  const ring = getComputedStyle(at).outlineStyle !== "none" || at.matches("input[type=radio]");
  const name = at.ariaLabel || at.labels?.[0]?.textContent || at.textContent.trim() || at.title;
  return [name, ring, at.closest("ul, ol")?.ariaLabel ?? ""];
}"""
"""Name of what has the focus, whether one sees it, and the strip that it is in."""


def _stops(page: Page, last: str) -> list[list[Any]]:
    """Press Tab until an element whose name begins so has the focus; what had it on the way."""
    stops: list[list[Any]] = []
    while not stops or not stops[-1][0].startswith(last):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(STOP))
        assert len(stops) < 80, [name for name, *_ in stops]
    return stops


def test_all_is_reached_by_keys_alone_and_a_strip_of_images_is_one_stop(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.url) as page:
        page.locator(".rs-trainrow").wait_for()
        page.keyboard.press("Tab")
        assert page.evaluate(STOP)[0] == "Skip to the tabs"
        page.keyboard.press("Enter")
        assert page.evaluate(STOP)[0] == "Live"
        _stops(page, "Retrieve")
        page.keyboard.press("Enter")
        picks = page.get_by_role("list", name="Images to search with")
        expect(picks.get_by_role("button")).not_to_have_count(0)
        stops = _stops(page, "Use via API")
        assert [name for name, seen, _ in stops if not (name and seen)] == []
        assert [strip for *_, strip in stops].count("Images to search with") == 1
        page.evaluate("() => window.scrollTo(0, 0)")  # what is out of sight is not drawn
        picks.locator("button:not([tabindex='-1'])").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(picks.locator("[aria-pressed=true]")).to_be_focused()


@pytest.mark.long
@pytest.mark.parametrize("size", [(1024, 768), PHONE])
def test_in_a_small_window_nothing_lies_over_the_titles_of_the_tabs(
    browser: Browser, public: Site, size: tuple[int, int]
) -> None:
    with visit(browser, public, public.url, size=size) as page:
        titles_are_free(page)


def titles_are_free(page: Page) -> None:
    """Nothing lies over the titles of the tabs."""
    link = page.get_by_role("button", name="Copy link").bounding_box()
    assert link is not None
    for tab in page.get_by_role("tab").all():
        box = tab.bounding_box()
        assert box is not None
        apart = box["x"] + box["width"] <= link["x"] or box["y"] + box["height"] <= link["y"]
        assert apart, f"{tab.inner_text()} {box} under {link}"
