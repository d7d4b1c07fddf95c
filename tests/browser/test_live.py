"""The Live view: a page open while a run grows, what it says of itself, and a run that is pinned as the baseline."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import darken, open_page, open_tab, polled, profile, rest, show, sound, state, until, visit
from tests.synthetic import add_snapshot, alive, make_run
from trainers.runs import RunFolder

POINTS = 400
QUIET = """() => {
  const polls = window.debug.traffic().polls, now = performance.now();
  if (window.last?.polls !== polls) window.last = {polls, since: now};
  return now - window.last.since > 2500;
}"""
"""Whether nothing was polled in two and a half seconds, in which a page that is looked at asks twice."""
SIGNED = re.compile(r"[+−±]\d\.\d{3}")


@pytest.fixture
def growing(site: Site) -> Iterator[RunFolder]:
    """A run in training that has three frames so far; the test adds more."""
    folder = make_run(site.root, points=POINTS, frames=3, phase="running")
    with alive(folder):
        yield folder


@pytest.mark.long
def test_zoom_and_choice_survive_updates_and_an_older_frame_stays(
    browser: Browser, site: Site, growing: RunFolder
) -> None:
    with visit(browser, site, site.at(growing), motion="no-preference") as page:
        until(page, "s.following && s.k === 2 && s.neighbours !== null")
        page.evaluate("() => { window.kept = document.querySelector('canvas'); }")
        page.locator(".rs-plot").first.focus()
        for key in ("ArrowUp", "ArrowRight", "Enter", "+", "+"):
            page.keyboard.press(key)
        before = state(page)
        assert before["chosen"] is not None and before["zoom"] > 1.5
        sent = page.evaluate("() => window.debug.traffic()")
        for k in range(3, 8):
            add_snapshot(growing, k, of=12)
            until(page, "s.k === a", k)
            now = state(page)
            assert (now["chosen"], now["zoom"], now["held"]) == (before["chosen"], before["zoom"], before["held"])
        until(page, "!s.moving")
        assert page.evaluate("() => window.kept === document.querySelector('canvas') && window.kept.isConnected")
        after = page.evaluate("() => window.debug.traffic()")
        frames = after["frames"] - sent["frames"]
        assert frames == 5
        # two arms of 4 bytes a point each, so 8 a point; one arm stays within 6 a point and a kilobyte
        assert (after["frameBytes"] - sent["frameBytes"]) / frames / 2 <= 6 * POINTS + 1024
        expect(page.locator(".rs-steptext")).to_have_text("step 175 · 8 frames")
        page.get_by_role("button", name="One frame back").click()
        until(page, "s.k === 6 && !s.following")
        add_snapshot(growing, 8, of=12)
        until(page, "s.frames === 9")
        assert state(page)["k"] == 6
        page.get_by_role("slider", name="Frame").press("End")
        until(page, "s.k === 8 && s.following")


def test_a_silent_server_is_announced_and_nothing_is_asked_while_nobody_looks(
    browser: Browser, site: Site, growing: RunFolder
) -> None:
    with visit(browser, site, site.at(growing), refusals=True) as page:
        until(page, "s.k === 2")
        page.route("**/poll**", lambda route: route.abort())
        page.get_by_text("if the server has ended, the run can go on from its last checkpoint").first.wait_for()
        page.unroute("**/poll**")
        add_snapshot(growing, 3, of=12)
        until(page, "s.k === 3")
        page.wait_for_function("() => !document.querySelector('.rs-status').textContent.includes('Reconnecting')")
        page.get_by_role("tab", name="Runs").click()
        page.wait_for_function(QUIET)
        add_snapshot(growing, 4, of=12)
        page.get_by_role("tab", name="Live").click()
        until(page, "s.k === 4")


def test_switching_runs_keeps_the_canvas(browser: Browser, site: Site) -> None:
    four = make_run(site.root, points=200, frames=2, arms=4)
    with visit(browser, site, site.at(four), motion="no-preference") as page:
        page.evaluate("() => { window.kept = document.querySelector('canvas'); }")
        for folder, arms in ((site.finished, 2), (four, 4), (site.finished, 2)):
            show(page, folder, "s.k !== null && s.neighbours !== null")
            expect(page.locator(".rs-card")).to_have_count(arms)
            assert page.evaluate("() => window.kept === document.querySelector('canvas')")
            assert f"run={folder.id}" in page.url
            assert page.evaluate("() => window.debug.painted(0) > 0.003")


def test_reload_and_second_tab_find_the_run(browser: Browser, site: Site) -> None:
    url = site.at(site.finished)
    with profile(browser, site.url) as one, open_page(one, site, url) as page, open_page(one, site, page.url) as second:
        token = page.evaluate("() => window.rankscope.token()")
        found = second.evaluate("() => [window.rankscope.current(), window.rankscope.token()]")
        assert found == [site.finished.id, token]
        page.reload()
        until(page, "s.run === a && s.k !== null", site.finished.id)
        assert page.evaluate("() => window.rankscope.token()") == token and len(token) == 32


def test_states_without_a_map_are_told_in_words(browser: Browser, site: Site) -> None:
    failed = make_run(site.root, points=100, frames=0, phase="failed")
    queued = make_run(site.root, phase="queued")
    with visit(browser, site, site.at(failed), ready=False) as page:
        page.get_by_text("The loss became infinite at step 7").first.wait_for()
        show(page, queued, "true")
        page.get_by_text("Waiting for the first frame").first.wait_for()
        expect(page.locator(".rs-status")).to_contain_text("made up")
    queued.db.close()


def test_a_run_that_is_gone_is_named_and_another_is_shown(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished), refusals=True) as page:
        for gone in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "../../etc/passwd"):
            page.goto(f"{site.url}/?run={gone}")
            page.get_by_text(f"There is no run {gone}").first.wait_for()
            page.wait_for_function("() => (window.debug?.state()?.run ?? null) !== null")
            polled(page)
            expect(page.locator(".rs-live .rs-alert").filter(visible=True)).to_have_count(1)


def test_a_machine_finds_nothing_serious_every_number_explains_itself_and_maps_follow_the_theme(
    browser: Browser, site: Site
) -> None:
    with visit(browser, site, site.at(site.finished, "&__theme=light")) as page:
        rest(page)
        for word in page.locator(".rs-card").first.locator(".rs-word").filter(visible=True).all():
            word.focus()
            page.keyboard.press("Shift")  # focus by script counts as focus by key only after a key
            tip = page.locator(f"#{word.get_attribute('aria-describedby')}")
            assert len(tip.text_content() or "") > 30
            assert tip.evaluate("(node) => getComputedStyle(node).visibility") == "visible", word.text_content()
        middle = "() => window.debug.pixel(...window.debug.place(0, 3))"
        light = page.evaluate(middle)
        darken(page, ".rs-live")
        page.wait_for_function(f"(light) => String(({middle})()) !== String(light)", arg=light)
        page.evaluate("() => document.body.classList.remove('dark')")
        page.wait_for_function(f"(light) => String(({middle})()) === String(light)", arg=light)
        for fold in page.locator(".rs-live details > summary").filter(visible=True).all():
            fold.click()
        page.get_by_role("button", name="Download").first.click()
        sound(page, "#live-view", ".rs-live")


# ---------------------------------------------------------------------- a baseline


def compared(page: Page) -> Locator:
    return page.locator("#live-view").get_by_label("What is compared")


def differences(page: Page) -> Locator:
    return page.locator("#live-view .rs-less", has_text=SIGNED)


def test_a_baseline_is_pinned_seen_everywhere_and_removed(browser: Browser, site: Site) -> None:
    other = make_run(site.root, points=600, frames=3, arms=1, seed=4)  # a shorter run on the same images
    with visit(browser, site, site.at(site.finished, "&__theme=light")) as page:
        rest(page)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/baseline/" in request.url else None)
        expect(compared(page)).to_be_hidden()
        expect(differences(page)).to_have_count(0)
        page.locator("#live-view").get_by_role("combobox", name="Baseline").select_option(other.id)
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
        polled(page)
        assert len(asked) == 1, "one that has ended is read once"
        page.reload()
        until(page, "s.k !== null")
        expect(differences(page)).to_have_count(8)
        page.get_by_role("button", name="Remove the baseline").click()
        expect(compared(page)).to_be_hidden()
        expect(differences(page)).to_have_count(0)
        expect(page.locator("#live-view .rs-dotted")).to_have_count(0)
        assert "pin=" not in page.url
    other.delete()


def test_a_baseline_that_cannot_be_read_is_said(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished, "&pin=01AAAAAAAAAAAAAAAAAAAAAAAA")) as page:
        rest(page)
        expect(compared(page)).to_contain_text("The baseline cannot be compared.")
        expect(compared(page)).to_contain_text("01AAAAAAAAAAAAAAAAAAAAAAAA")
        expect(differences(page)).to_have_count(0)
        page.get_by_role("button", name="Remove the baseline").click()
        expect(compared(page)).to_be_hidden()


def test_a_link_restores_the_view_and_says_what_of_it_is_gone(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished)) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        until(page, "s.k !== null")
        coloured = page.locator(".rs-segments[aria-label='Colour by'] button[aria-pressed='false']").first
        by = coloured.inner_text()
        coloured.click()
        page.evaluate(
            "() => { const { live } = window.rankscope; live.images.choose(7); live.images.lasso([3, 4, 5, 9]); }"
        )
        k = page.evaluate("() => window.rankscope.live.player.k")
        open_tab(page, "Runs")
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_text("Link copied")).to_be_visible()
        link = page.evaluate("() => navigator.clipboard.readText()")
        assert f"run={site.finished.id}&k={k}&i=7" in link and "sel=3-5.9" in link and link.endswith("tab=Runs")
    seen = """() => {
      const { player, images, legend } = window.rankscope.live;
      return [player.k, images.chosen, images.lassoed, legend.title];
    }"""
    with visit(browser, site, link) as page:
        expect(page.get_by_role("tab", name="Runs")).to_have_attribute("aria-selected", "true")
        page.wait_for_function("() => window.rankscope?.live.images.lassoed.length === 4")
        assert page.evaluate(seen) == [k, 7, [3, 4, 5, 9], by]
    gone = (
        link.replace(f"k={k}", "k=9999")
        .replace("i=7", "i=123456")
        .replace("sel=3-5.9", "sel=x")
        .replace("&tab=Runs", "")
    )
    with visit(browser, site, gone) as page:
        said = "Of the view in this link its frame, its image, its selection are no longer there; the rest is shown."
        expect(page.get_by_text(said)).to_be_visible()
        assert page.evaluate(seen)[3] == by
