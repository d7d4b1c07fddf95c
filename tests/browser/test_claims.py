"""The Claims tab in a real browser: the board is read, a claim is queued and its runs opened, tables are taken."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import downloaded, fits, open_tab, visit
from tests.browser.sidebar import row
from tests.made_up_plan import make_plan
from trainers.claims.base import WORKS, Claim
from trainers.claims.catalogue import CLAIMS
from trainers.claims.measured import LACKING

FINISHED = CLAIMS["happier_metrics"]
OTHERS = (claim for claim in CLAIMS.values() if claim.plan and not claim.begins)
QUEUED = next(claim for claim in OTHERS if claim.plan().to_json() != FINISHED.plan().to_json())  # type: ignore[misc]


def choose(page: Page, claim: Claim) -> None:
    """Open a claim of the list."""
    page.locator("#rs-claim-list").get_by_text(claim.title, exact=True).last.click()
    expect(page.locator("#rs-claim h3")).to_have_text(claim.title)


def test_claims_are_read_narrowed_run_and_taken_home(browser: Browser, site: Site) -> None:
    plan = make_plan(site.root, FINISHED.plan(), gains={"HAPPIER": 0.05})  # type: ignore[misc]
    with visit(browser, site, f"{site.at(site.finished)}&__theme=light") as page:
        open_tab(page, "Claims")
        expect(page.get_by_text(f"{len(CLAIMS)} claims, ")).to_be_visible()
        expect(page.locator("#rs-claim h3")).to_have_text(next(iter(CLAIMS.values())).title)
        narrow(page)
        for name, begin in (("CSV", b"claim,work,"), ("LaTeX", rb"\begin{table}")):
            assert downloaded(page.locator("#rs-claims").get_by_role("button", name=name, exact=True)).startswith(begin)
        choose(page, QUEUED)
        said = page.locator("#rs-claim-said")
        expect(said).to_contain_text("of one processor core")
        page.get_by_role("button", name="Run it here").click()
        expect(said).to_contain_text("It is queued")
        expect(page.get_by_role("button", name="Run it here")).to_be_hidden()
        page.get_by_role("button", name="Open its runs").click()
        expect(page.locator("#rs-plan")).to_contain_text("runs are planned")
        row(page).get_by_role("button", name="Stop").click()
        open_tab(page, "Claims")
        choose(page, FINISHED)
        page.get_by_role("button", name="Numbers of the runs here").click()
        expect(page.locator("#rs-claim-own")).to_contain_text("The runs here: ")
        fits(page)
        page.get_by_role("button", name="Open its runs").click()
        page.wait_for_function("(id) => location.search.includes(id)", arg=plan.id)


def narrow(page: Page) -> None:
    """Choose a work and a verdict, and let all be shown again."""
    lacking = [claim.title for claim in CLAIMS.values() if claim.work == "spurious" and claim.plan is None]
    titles = page.locator("#rs-claim-list [data-col='0']:visible")
    for label, choice in (("Work", WORKS["spurious"]), ("Verdict", LACKING)):
        page.locator("#rs-claims").get_by_label(label).click()
        page.locator(f"[data-testid=dropdown-option][aria-label='{choice}']").click()
    expect(titles).to_have_text(lacking)
    for label, choice in (("Work", "All works"), ("Verdict", "All verdicts")):
        page.locator("#rs-claims").get_by_label(label).click()
        page.locator(f"[data-testid=dropdown-option][aria-label='{choice}']").click()
    expect(page.locator("#rs-claim-list").get_by_text(FINISHED.title, exact=True).last).to_be_visible()
