"""The Runs tab in a real browser: the list, opening, naming, taking home, resuming, and deleting after a question."""

from __future__ import annotations

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import downloaded, open_tab, visit
from tests.synthetic import make_run
from trainers.runs import RunFolder

SORTED = """(up) => {
    const sorted = [...document.querySelectorAll(".rs-runcard tr:first-child td:nth-of-type(2)")]
        .map((cell) => Math.max(...[...cell.children].map((line) => Number(line.textContent))))
        .filter(Number.isFinite);
    const right = (value, before) => (up ? value >= before : value <= before);
    return sorted.length > 1 && sorted.every((value, at) => !at || right(value, sorted[at - 1]));
}"""


def made(site: Site, **how: object) -> RunFolder:
    run = make_run(site.root, points=120, frames=2, **how)  # type: ignore[arg-type]
    run.db.close()
    return run


def card(page: Page, run: RunFolder) -> Locator:
    return page.locator(f".rs-runcard:has(a[href*='{run.id}'])").first


def more(page: Page, run: RunFolder) -> Locator:
    """The card of a run, with what it shows on demand."""
    card(page, run).get_by_role("button", name="More: ").click()
    return card(page, run)


def test_a_run_is_opened_resumed_and_deleted_only_after_a_question(browser: Browser, site: Site) -> None:
    three, stopped, other = made(site, arms=3, seed=4), made(site, seed=6, phase="stopped"), made(site, seed=5)
    with visit(browser, site, site.at(site.finished)) as page:
        live = page.locator(".rs-live .rs-downloads")
        link = live.get_by_role("button", name="Copy a link")
        for leave in (link.click, lambda: page.keyboard.press("Escape"), lambda: page.mouse.click(640, 5)):
            live.get_by_role("button", name="Download").click()
            expect(link).to_be_visible()
            leave()
            expect(link).to_be_hidden()
        open_tab(page, "Runs")
        expect(card(page, three).locator(".rs-runarms li")).to_have_count(3)
        expect(card(page, three).locator(".rs-phase")).to_have_text("finished")
        card(page, three).get_by_role("button", name="Open").click()
        page.wait_for_function(f"window.rankscope.current() === '{three.id}'")
        expect(page.get_by_role("tab", name="Live")).to_have_attribute("aria-selected", "true")
        open_tab(page, "Runs")
        for press, phase in (("Resume", "waiting"), ("Stop", "stopped")):
            card(page, stopped).get_by_role("button", name=press).click()
            expect(card(page, stopped).locator(".rs-phase")).to_have_text(phase)
        delete = more(page, other).get_by_role("button", name="Delete:")
        delete.click()
        card(page, other).get_by_role("button", name="Keep").click()
        expect(delete).to_be_visible()
        delete.click()
        card(page, other).get_by_role("button", name="Delete for good").click()
        expect(card(page, other)).to_have_count(0)
        assert not other.path.exists()
        expect(page.locator("#rs-runs-said")).to_contain_text("The run is deleted.")


def test_runs_are_named_tagged_filtered_and_sorted(browser: Browser, site: Site) -> None:
    one, _other = (made(site, seed=seed) for seed in (8, 9))
    with visit(browser, site, site.at(site.finished)) as page:
        open_tab(page, "Runs")
        own = more(page, one)
        own.get_by_label("Name").fill("<b>Baseline</b>")
        own.get_by_label("Tags").fill("paper, paper, first")
        own.get_by_role("button", name="Save").click()
        expect(own.locator(".rs-runtitle")).to_have_text("<b>Baseline</b>")
        expect(own.locator(".rs-tags .rs-badge")).to_have_text(["paper", "first"])
        page.get_by_label("Filter the runs").fill("paper base")
        expect(page.locator(".rs-runcard")).to_have_count(1)
        assert b"<b>Baseline</b>" in downloaded(page.locator(".rs-runtools").get_by_role("link", name="CSV"))
        page.get_by_label("Filter the runs").fill("")
        heading = page.locator(".rs-runlist thead").get_by_role("button", name="R@1")
        for up in (False, True):
            heading.click()
            page.wait_for_function(SORTED, arg=up)
