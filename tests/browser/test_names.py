"""Names of any length and script stay in their place, turn nothing around and are never HTML."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.named_folder import GROUPS, LONG, NAMES, named_choice, train_on, write_named
from tests.browser.pages import PHONE, WIDE, open_tab, place, rest, visit
from trainers.runs import RunFolder


@pytest.fixture(scope="module")
def named(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    root = tmp_path_factory.mktemp("named")
    run = train_on(root, site.root, data=named_choice(write_named(root)), probe_size=80)
    probe = run.probe()
    assert probe is not None and set(probe.hierarchy.names[0]) >= {LONG}, "the whole name came through"
    yield run
    run.db.close()


_OUTSIDE = """() => {
  const wide = document.documentElement.scrollWidth;
  const out = [...document.querySelectorAll("#live-view *, #rs-runs-list *")].filter((node) => {
    const scrolled = node.closest(".rs-unseen, .rs-strip, .rs-tablebox, .rs-classes, .rs-menu, .rs-sprites");
    if (scrolled || !node.checkVisibility()) return false;
    const box = node.getBoundingClientRect();
    return box.width > 0 && box.right > innerWidth + 1;
  });
  return [...(wide > innerWidth ? [`page ${wide}`] : []), ...out.map((node) => node.className || node.tagName)];
}"""
_TALL = """(within) => [...document.querySelectorAll(within)].filter((node) => node.checkVisibility())
  .map((node) => node.getBoundingClientRect().height)"""


@pytest.mark.parametrize(
    ("size", "scheme"), [pytest.param(WIDE, "light", marks=pytest.mark.long), (PHONE, "dark")], ids=["wide", "phone"]
)
def test_long_names_stay_in_their_place(
    browser: Browser, site: Site, named: RunFolder, size: tuple[int, int], scheme: str
) -> None:
    with visit(browser, site, site.at(named), size=size, scheme=scheme) as page:
        rest(page)
        entries = page.locator(".rs-classes button")
        expect(entries).to_have_count(len(NAMES))
        assert page.evaluate(_OUTSIDE) == []
        assert max(page.evaluate(_TALL, ".rs-classes button")) <= 46
        widths = entries.evaluate_all("all => all.map((one) => one.getBoundingClientRect().width)")
        assert max(widths) <= min(240, size[0] * 0.6) + 1
        _look_at_every_class(page)
        for summary in page.locator(".rs-curves summary").all():
            summary.click()
        assert page.evaluate(_OUTSIDE) == []
        page.locator(".rs-segments button").nth(1).click()
        expect(entries).to_have_count(len(GROUPS))
        assert max(page.evaluate(_TALL, ".rs-segments button")) <= 46
        assert page.evaluate(_OUTSIDE) == []
        open_tab(page, "Runs")
        expect(page.locator(".rs-runcard").first).to_be_visible()
        assert page.evaluate(_OUTSIDE) == []
        assert page.evaluate("window.hacked") is None


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


def test_the_full_name_is_a_bounded_tooltip(browser: Browser, site: Site, named: RunFolder) -> None:
    with visit(browser, site, site.at(named)) as page:
        rest(page)
        longest = [
            page.locator(f"#live-view [{name}]").evaluate_all(
                "(all, name) => Math.max(...all.map((one) => one.getAttribute(name).length))", name
            )
            for name in ("title", "aria-label")
        ]
        assert longest[0] <= 1000 and longest[1] <= 400
        assert max(len(text) for text in page.locator("#live-view :is(span, h3, p, h2)").all_inner_texts()) < 1000
        titles = page.locator(".rs-classes button").evaluate_all("all => all.map((one) => one.title)")
        assert any(LONG[:300] in title for title in titles), "more than the line shows"
        everything = page.locator("#live-view").inner_text() + "".join(titles)
        assert "\u202e" not in everything, "what turns the text around it is left out"
        assert "\u2068כלב" in everything, "a name from right to left is set apart"
        expect(page.locator(".rs-classes button", has_text="<img src=x")).to_have_count(1)
        assert page.evaluate("() => document.querySelectorAll('#live-view img, #live-view script').length") == 0


@pytest.mark.parametrize("size", [WIDE, pytest.param(PHONE, marks=pytest.mark.long)], ids=["wide", "phone"])
def test_the_cards_of_a_comparison_end_level(
    browser: Browser, site: Site, named: RunFolder, size: tuple[int, int]
) -> None:
    with visit(browser, site, site.at(named), size=size) as page:
        rest(page)
        panels = ".rs-panels:first-child"
        parts = (".rs-card", ".rs-plot", ".rs-card > footer", f"{panels} .rs-curve", f"{panels} .rs-plotbox")
        rows = page.evaluate(  # one card says more; measured at once, before the page writes its own words again
            """(parts) => {
              document.querySelector(".rs-card h3").textContent = "Smooth-AP (tau 0.01) ".repeat(9);
              document.querySelectorAll(".rs-whole")[2].textContent = "gradient clipped in 3 % of steps ".repeat(6);
              document.querySelector(".rs-curve figcaption span").textContent = "A long name of a curve ".repeat(4);
              const sides = ({ top, bottom, left }) => [top, bottom, left];
              const pair = (part) => [...document.querySelectorAll(part)].slice(0, 2);
              return parts.map((part) => pair(part).map((node) => sides(node.getBoundingClientRect())));
            }""",
            list(parts),
        )
        for first, second in rows:
            if size == PHONE:
                assert first[2] == second[2] and second[0] >= first[1] - 1, "they stack"
            else:
                assert first[:2] == pytest.approx(second[:2], abs=0.6)
