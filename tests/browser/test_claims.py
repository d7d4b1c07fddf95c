"""The Claims tab in a real browser: the board is read, a claim is queued and its runs opened, tables are taken."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import downloaded, open_tab, shrink, sound, visit
from tests.made_up_plan import make_plan
from trainers.claims.catalogue import CLAIMS

FINISHED, QUEUED = CLAIMS["happier_metrics"], CLAIMS["contextual_gap"]


def test_claims_are_read_narrowed_run_and_taken_home(browser: Browser, site: Site) -> None:
    plan = make_plan(site.root, FINISHED.plan(), gains={"HAPPIER": 0.05})  # type: ignore[misc]
    with visit(browser, site, f"{site.at(site.finished)}&__theme=light") as page:
        open_tab(page, "Claims")
        view = page.locator(".rs-claims")
        cards = view.locator(".rs-claim")
        expect(cards).to_have_count(len(CLAIMS))
        narrow(page)
        shrink(page)
        sound(page, "#claims-view", ".rs-claims")
        page.set_viewport_size({"width": 1440, "height": 900})
        for name, begin in (("CSV", b"claim,work,"), ("LaTeX", rb"\begin{table}")):
            assert downloaded(view.get_by_role("link", name=name)).startswith(begin)
        card = view.locator(f"[data-claim={QUEUED.name}]")
        expect(card.locator("[role=status]")).to_contain_text("of one processor core")
        card.get_by_role("button", name="Run it here").click()
        expect(card.locator("[role=status]")).to_contain_text("waiting")
        expect(card.get_by_role("button", name="Run it here")).to_be_hidden()
        card.get_by_role("button", name="Open its runs").click()
        expect(page.locator(".rs-comparison .rs-phase[role=status]")).to_contain_text("runs are planned")
        page.locator(".rs-comparison").get_by_role("button", name="Stop").click()
        open_tab(page, "Claims")
        own = view.locator(f"[data-claim={FINISHED.name}]")
        own.get_by_role("button", name="Numbers of the runs here").click()
        expect(own.get_by_text("The runs here: ")).to_be_visible()
        own.get_by_role("button", name="Open its runs").click()
        page.wait_for_function("(id) => location.search.includes(id)", arg=plan.id)


def narrow(page: Page) -> None:
    """Choose a work and a verdict, and let all be shown again."""
    view = page.locator(".rs-claims")
    shown = view.locator(".rs-claim:visible")
    view.get_by_label("Work").select_option("spurious")
    expect(shown).to_have_count(sum(claim.work == "spurious" for claim in CLAIMS.values()))
    view.get_by_label("Verdict").select_option("needs data or weights not at hand")
    expect(shown).to_have_count(sum(claim.work == "spurious" and claim.plan is None for claim in CLAIMS.values()))
    expect(shown.get_by_role("button")).to_have_count(0)
    view.get_by_label("Work").select_option("")
    view.get_by_label("Verdict").select_option("")
    expect(shown).to_have_count(len(CLAIMS))
