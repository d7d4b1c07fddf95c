"""A comparison in a real browser: its table fills, verdicts are read, a cell leads to its runs, another one is made."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from explorer.settings import ASSETS
from tests.browser import sidebar
from tests.browser.conftest import Site, serve
from tests.browser.pages import downloaded, open_tab, shrink, sound, visit
from tests.browser.sidebar import row
from tests.made_up_plan import make_plan, make_runs, sweep
from tests.synthetic import make_run
from trainers.plans.planned import PlannedRun

GAINS = {"HAPPIER": 0.05}
TITLE = "Smooth-AP vs HAPPIER on Drawn world, 5 seeds"


def begun(planned: PlannedRun) -> str:
    """One run has ended, one was lost and is trained loss by loss, one waits."""
    return ("finished", "failed", "planned")[planned.seed] if len(planned.variants) > 1 else "planned"


def test_a_comparison_is_watched_read_taken_home_and_made_again(browser: Browser, site: Site) -> None:
    plan = make_plan(site.root, sweep("smooth_ap", "happier"), phase="stopped", stand=begun, gains=GAINS)
    with visit(browser, site, f"{site.at(plan)}&__theme=light", ready=False) as page:
        view = page.locator(".rs-comparison")
        expect(view.get_by_text("One seed: the interval covers", exact=False).first).to_be_visible()
        expect(view.get_by_text("The loss became infinite at step 7", exact=False).first).to_be_visible()
        make_runs(plan, gains=GAINS)
        expect(view.locator(".rs-results tbody tr").first).to_contain_text("3 of 3")
        expect(view.locator(".rs-conclusion")).to_contain_text("HAPPIER has the best R@1, ")
        expect(view.locator(".rs-results thead th")).to_have_count(5)
        view.get_by_text("The pair in numbers").click()
        expect(view.get_by_text("HAPPIER above Smooth-AP by", exact=False)).to_be_visible()
        look_and_take(page)
        view.get_by_role("button", name="Open seed 0").click()
        page.wait_for_function("(id) => ![id, ''].includes(window.rankscope.current())", arg=site.finished.id)
        expect(row(page)).to_be_hidden()  # the run that is open now is finished
        page.get_by_role("button", name="Its comparison").click()
        expect(row(page).locator(".rs-runstatus")).to_contain_text("Stopped")
        expect(view.locator(".rs-results")).to_be_visible()
        page.wait_for_url(f"**run={plan.id}**")
        view.get_by_label("More seeds").fill("2")
        view.get_by_role("button", name="Add seeds").click()
        expect(page.locator("#rs-compare-said")).to_contain_text("It resumes with 2 more seeds, 5 in all.")
        expect(view.locator(".rs-results tbody tr").first).to_contain_text("of 5")
        view.get_by_role("button", name="Stop").click()
        make_again(page)
        open_tab(page, "Runs")
        page.get_by_label("Search").filter(visible=True).fill(TITLE)
        page.get_by_label("Runs of sweeps too").click()
        expect(page.locator("#rs-runs-list [data-col='0']:visible").nth(1)).to_contain_text("↳ Seed 0")


def test_a_visitor_reads_the_recorded_comparison(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path, points=60, frames=2)
    with (
        serve(tmp_path, run, recorded=ASSETS / "recorded", public=True) as site,
        visit(browser, site, site.at(run)) as page,
    ):
        open_tab(page, "Compare")
        view = page.locator(".rs-comparison")
        expect(view.locator(".rs-planhead .rs-badge")).to_have_text("recorded")
        expect(view.locator(".rs-results tbody th[scope=row]")).to_have_text(["Smooth-AP", "HAPPIER", "Triplet"] * 3)
        expect(view.get_by_text("9 of 9 runs finished.")).to_be_visible()
        expect(view.get_by_role("heading", name="Over label noise", exact=True)).to_be_visible()
        for name in ("Stop", "Resume", "Delete"):
            expect(view.get_by_role("button", name=name)).to_be_hidden()
        view.get_by_role("button", name="H-AP of HAPPIER: ").first.press("Enter")
        view.get_by_role("button", name="Open seed 0").click()
        expect(page.locator(".rs-live h2").first).to_contain_text(
            "Seed 0, label noise 0: Smooth-AP vs HAPPIER vs Triplet"
        )
        expect(row(page)).to_be_hidden()


def look_and_take(page: Page) -> None:
    """Open a cell, check the rules of access in both themes and on a phone, and save a table and a picture."""
    view = page.locator(".rs-comparison")
    view.get_by_role("button", name="R@1 of HAPPIER: ").press("Enter")
    expect(view.locator(".rs-seeds li")).to_have_count(3)
    shrink(page)
    sound(page, "#compare-view", ".rs-comparison")
    page.set_viewport_size({"width": 1280, "height": 900})
    view.locator(".rs-takehome summary").click()
    assert b"HAPPIER" in downloaded(view.get_by_role("link", name="Table (CSV)"))
    assert downloaded(view.get_by_role("button", name='Save "R@1', exact=False)).startswith(b"\x89PNG")


def make_again(page: Page) -> None:
    """Start from the settings of the plan that is open, vary a parameter, and delete what was made."""
    view = page.locator(".rs-comparison")
    view.get_by_role("button", name="Use its settings").click()
    expect(page.locator(".rs-go")).to_contain_text("the settings of this run")
    sidebar.fill(page, "Vary", "smooth_ap.tau")
    sidebar.fill(page, "Values 1", "0.01, 0.1")
    for seeds, said in (("4,", "1 run, about 3 min in all."), ("3", "3 runs, about 9 min in all.")):
        sidebar.fill(page, "Seeds", seeds)
        expect(page.get_by_text(said)).to_be_attached()
    expect(page.get_by_text("Trained with seeds 0, 1 and 2.")).to_be_attached()
    page.locator(sidebar.FORM).get_by_role("button", name="Train", exact=True).click()
    names = ["Smooth-AP (tau 0.01)", "Smooth-AP (tau 0.1)", "HAPPIER"]
    expect(view.locator(".rs-results tbody th[scope=row]")).to_have_text(names)
    expect(view.locator(".rs-phase[role=status]")).to_have_text("Waiting: 3 runs are planned.")
    view.get_by_role("button", name="Stop").click()
    view.get_by_role("button", name="Delete").click()
    view.get_by_role("button", name="Delete for good").click()
    expect(page.locator("#rs-compare-said")).to_contain_text("The run is deleted.")
