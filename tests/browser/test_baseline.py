"""A run that is pinned as the baseline: in Live's cards, curves and table, in the address, and in the tab Retrieve."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from explorer.server.routes import PREFIX
from tests.browser.conftest import Site
from tests.browser.pages import PHONE, new_page, profile, rest, until, visit
from tests.browser.test_access import darken, findings
from tests.browser.test_retrieve import settled
from tests.synthetic import add_snapshot, alive, make_run
from trainers.retrieval.baseline import paired, subtracted
from trainers.runs import RunFolder

SIGNED = re.compile(r"[+−±]\d\.\d{3}")


@pytest.fixture
def other(site: Site) -> Iterator[RunFolder]:
    """A shorter run of one loss on the same images."""
    folder = make_run(site.root, points=600, frames=3, arms=1, seed=4)
    yield folder
    folder.delete()


def pinned(page: Page) -> Locator:
    return page.locator("#live-view").get_by_role("combobox", name="Baseline")


def compared(page: Page) -> Locator:
    return page.locator("#live-view").get_by_label("What is compared")


def differences(page: Page) -> Locator:
    return page.locator("#live-view .rs-less", has_text=SIGNED)


def test_a_baseline_is_pinned_seen_everywhere_and_removed(browser: Browser, site: Site, other: RunFolder) -> None:
    with visit(browser, site, site.at(site.finished), motion="reduce") as page:
        rest(page)
        expect(compared(page)).to_be_hidden()
        expect(differences(page)).to_have_count(0)
        pinned(page).select_option(other.id)
        expect(compared(page)).to_contain_text(
            "at step 125 less the baseline at step 50, its last. HAPPIER less Smooth-AP"
        )
        expect(differences(page)).to_have_count(8)
        first = page.locator(".rs-card").first
        expect(first.locator(".rs-less").first).to_have_text("±0.000")  # both end with the same numbers
        expect(first).to_contain_text(re.compile(r"whole test set: .*\(±0\.000\)"))
        expect(page.locator(".rs-card").nth(1)).to_contain_text("less the baseline’s Smooth-AP at step 50")
        expect(page.locator(".rs-curve").first.locator(".rs-dotted.rs-ink-0")).to_have_count(1)
        expect(page.locator(".rs-key")).to_contain_text("dotted: baseline")
        page.get_by_role("slider", name="Frame").locator("visible=true").press("ArrowLeft")
        page.get_by_text("Numbers as a table").click()
        expect(page.locator(".rs-live .rs-table")).to_contain_text(re.compile(r"\([+−]0\.\d{3}\)"))
        page.get_by_role("slider", name="Frame").locator("visible=true").press("Home")
        expect(compared(page)).to_contain_text("both at step 0.")
        page.reload()
        until(page, "s.k !== null")
        expect(differences(page)).to_have_count(8)
        page.get_by_role("tab", name="Retrieve").click()
        settled(page, 3)
        expect(page.locator(".rs-chip").last).to_contain_text("baseline")
        expect(page.get_by_role("button", name="Baseline", exact=True).last).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".rs-resultrow .rs-summary").first).to_contain_text(SIGNED)
        page.locator(".rs-retrieve .rs-segment", has_text="Mistakes").first.click()
        expect(page.locator("#retrieve-view").get_by_label("Baseline").first).to_have_value(other.id)
        page.get_by_role("tab", name="Live").click()
        page.get_by_role("button", name="Remove the baseline").click()
        expect(compared(page)).to_be_hidden()
        expect(differences(page)).to_have_count(0)
        expect(page.locator("#live-view .rs-dotted")).to_have_count(0)
        assert "pin=" not in page.url


def test_a_baseline_that_cannot_be_read_is_said(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished, "&pin=01AAAAAAAAAAAAAAAAAAAAAAAA"), motion="reduce") as page:
        rest(page)
        expect(compared(page)).to_contain_text("The baseline cannot be compared.")
        expect(compared(page)).to_contain_text("01AAAAAAAAAAAAAAAAAAAAAAAA")
        expect(differences(page)).to_have_count(0)
        page.get_by_role("button", name="Remove the baseline").click()
        expect(compared(page)).to_be_hidden()


@pytest.mark.long
def test_a_baseline_that_has_ended_is_read_once(browser: Browser, site: Site, other: RunFolder) -> None:
    with profile(browser, site.url) as context:
        page = new_page(context)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/baseline/" in request.url else None)
        page.goto(site.at(site.finished, f"&pin={other.id}"))
        until(page, "s.k !== null")
        expect(differences(page)).to_have_count(8)
        with page.expect_response(re.compile("/poll")):
            pass
        assert len(asked) == 1


@pytest.mark.long
def test_a_baseline_that_trains_goes_on(browser: Browser, site: Site) -> None:
    moving = make_run(site.root, points=600, frames=2, arms=1, phase="running")
    with alive(moving), visit(browser, site, site.at(site.finished, f"&pin={moving.id}"), motion="reduce") as page:
        rest(page)
        expect(compared(page)).to_contain_text("the baseline at step 25, its last.")
        add_snapshot(moving, 2, of=3)
        expect(compared(page)).to_contain_text("the baseline at step 50, its last.")
    moving.delete()


def test_the_page_pairs_and_interpolates_as_the_package_does(browser: Browser, site: Site) -> None:
    titles, others = ["a", "b", "c", "d"], ["c", "a", "e"]
    own = [(0, 1.0), (5, 2.0), (20, 3.0), (40, 4.0)]
    base = [(5, 0.5), (10, 1.0), (30, 2.0)]
    script = """async ([root, titles, others, own, base]) => {
      const { paired } = await import(`${root}/common/baseline.js`);
      const { Series } = await import(`${root}/common/series.js`);
      const series = new Series();
      series.add(base.map(([step, value]) => [0, step, "a number", value]), {});
      return [paired(titles, others), own.map(([step]) => series.between("a number", 0, step))];
    }"""
    with visit(browser, site, site.at(site.finished), motion="reduce") as page:
        root = f"{site.url}{PREFIX}/assets"
        pairs, found = page.evaluate(script, [root, titles, others, own, base])
    assert tuple(pairs) == paired(titles, others) == (1, 1, 0, 0)
    assert found[0] is None and found[3] == [30, 2.0]  # before its first step nothing, after its last one that
    inside = [value - other for (_, value), (_, other) in zip(own[1:3], found[1:3], strict=True)]
    assert inside == pytest.approx([less for _, less in subtracted(own, base)])


@pytest.mark.long
@pytest.mark.parametrize("size", [PHONE], ids=["phone"])
def test_no_serious_finding(browser: Browser, site: Site, other: RunFolder, size: tuple[int, int]) -> None:
    url = site.at(site.finished, f"&pin={other.id}&__theme=light")
    with visit(browser, site, url, motion="reduce", size=size) as page:
        rest(page)
        expect(differences(page)).to_have_count(8)
        page.get_by_text("Numbers as a table").click()
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert findings(page, "#live-view") == []
        darken(page, ".rs-live")
        assert findings(page, "#live-view") == []
