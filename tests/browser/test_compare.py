"""A comparison in a real browser: its table fills, verdicts are read, a number leads to its runs, it is made again."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import sidebar
from tests.browser.conftest import Site
from tests.browser.pages import downloaded, fits, open_tab, shrink, sound, visit
from tests.browser.sidebar import row
from tests.made_up_plan import make_plan, make_runs, sweep
from trainers.plans.planned import PlannedRun
from trainers.runs import RunFolder
from trainers.runs.label import Label, write_label
from trainers.runs.records import Scalar

GAINS = {"HAPPIER": 0.05}
TITLE = "Smooth-AP vs HAPPIER on Drawn world, 5 seeds"


def begun(planned: PlannedRun) -> str:
    """One run has ended, one was lost and is trained loss by loss, one waits."""
    return ("finished", "failed", "planned")[planned.seed] if len(planned.variants) > 1 else "planned"


def cell(page: Page, row: int, column: int, table: str = "#rs-results") -> Locator:
    return page.locator(f"{table} [data-row='{row}'][data-col='{column}']:visible").last


def button(page: Page, name: str) -> Locator:
    return page.locator("#rs-compare").get_by_role("button", name=name, exact=True)


def test_a_comparison_is_watched_read_taken_home_and_made_again(browser: Browser, site: Site) -> None:
    plan = make_plan(site.root, sweep("smooth_ap", "happier"), phase="stopped", stand=begun, gains=GAINS)
    with visit(browser, site, f"{site.at(plan)}&__theme=light", ready=False, refusals=True) as page:
        expect(page.locator("#rs-compared")).to_contain_text("One seed: the interval covers")
        expect(page.locator("#rs-lost")).to_contain_text("The loss became infinite at step 7")
        make_runs(plan, gains=GAINS)
        expect(cell(page, 0, 4)).to_have_text("3 of 3")
        expect(page.locator("#rs-conclusion")).to_contain_text("HAPPIER has the best R@1, ")
        page.get_by_text("The pair in numbers").click()
        expect(page.locator("#rs-pairs")).to_contain_text("HAPPIER above Smooth-AP by")
        look_and_take(page)
        cell(page, 0, 2, "#rs-number-runs").click()
        page.wait_for_function("(id) => ![id, ''].includes(window.rankscope.current())", arg=site.finished.id)
        expect(row(page)).to_be_hidden()  # the run that is open now is finished
        page.get_by_role("button", name="Its comparison").click()
        expect(row(page).locator(".rs-runstatus")).to_contain_text("Stopped")
        expect(cell(page, 0, 0)).to_have_text("Smooth-AP")
        page.wait_for_url(f"**run={plan.id}**")
        page.locator("#rs-compare").get_by_label("More seeds").fill("2")
        button(page, "Add seeds").click()
        expect(page.locator("#rs-compare-said")).to_contain_text("It resumes with 2 more seeds, 5 in all.")
        expect(cell(page, 0, 4)).to_contain_text("of 5")
        row(page).get_by_role("button", name="Stop").click()
        make_again(page)
        open_tab(page, "Runs")
        page.get_by_label("Search").filter(visible=True).fill(TITLE)
        page.get_by_label("Runs of sweeps too").click()
        expect(page.locator("#rs-runs-list [data-col='1']:visible").nth(1)).to_contain_text("↳ Seed 0")


def test_a_visitor_reads_the_recorded_comparison(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.at(public.finished)) as page:
        open_tab(page, "Compare")
        expect(page.locator("#rs-plan")).to_contain_text("recorded · Drawn world")
        expect(page.locator("#rs-plan")).to_contain_text("9 of 9 runs finished.")
        names = page.locator("#rs-results [data-col='0']:visible")
        expect(names).to_have_text(["Smooth-AP", "HAPPIER", "Triplet"] * 3)
        expect(page.get_by_role("heading", name="Over label noise", exact=True)).to_be_visible()
        page.get_by_label("Metric", exact=True).focus()
        page.keyboard.press("Tab")
        expect(page.locator(".options").filter(visible=True)).to_contain_text("Label noise 0.4")
        for name in ("Stop", "Resume", "Delete", "Add seeds"):
            expect(button(page, name)).to_be_hidden()
        expect(page.locator("#rs-trained .scatterlayer .trace")).to_have_count(6)  # a line and a band per loss
        file = downloaded(page.get_by_role("button", name="Curves (CSV)")).decode()
        assert file.startswith("loss,step,R_at_1,lowest seed,highest seed,seeds\nSmooth-AP,0,")
        cell(page, 1, 3).click()
        expect(page.locator("#rs-number")).to_contain_text("H-AP: HAPPIER, Label noise 0")
        cell(page, 0, 2, "#rs-number-runs").click()
        expect(page.locator(".rs-live h2").first).to_contain_text(
            "Seed 0, label noise 0: Smooth-AP vs HAPPIER vs Triplet"
        )
        expect(row(page)).to_be_hidden()


def test_curves_grow_while_a_sweep_trains_and_names_are_texts(browser: Browser, site: Site) -> None:
    plan = make_plan(site.root, sweep("smooth_ap"), phase="running", stand=lambda _: "running")
    runs = [RunFolder.open(site.root, child.id) for child in members(site.root, plan)]
    for run in runs:
        run.db.add_metrics([scalar(0, 0.2), scalar(10, 0.4)])
    write_label(plan.path, Label(name='<img src=x onerror="window.hacked=1">${window.hacked=1}'))
    with visit(browser, site, site.at(plan), ready=False) as page:
        page.get_by_text("The newest numbers").click()
        expect(cell(page, 0, 1, "#rs-newest")).to_have_text("10")
        runs[0].db.add_metrics([scalar(25, 0.7)])
        expect(cell(page, 0, 1, "#rs-newest")).to_have_text("25")
        expect(cell(page, 0, 2, "#rs-newest")).to_have_text("0.700")
        assert page.evaluate("window.hacked") is None
    for run in (*runs, plan):
        run.db.close()


def members(root: Path, plan: RunFolder) -> list[RunFolder]:
    return [run for run in map(lambda path: RunFolder(path), root.iterdir()) if run.part_of == plan.id]


def scalar(step: int, value: float) -> Scalar:
    return Scalar(arm=0, step=step, seconds=1.0, key="R_at_1", value=value)


def look_and_take(page: Page) -> None:
    """Open a number, check the rules of access on a phone, and save a table and a picture."""
    cell(page, 1, 1).click()
    expect(page.locator("#rs-number-runs [data-col='0']:visible")).to_have_count(3)
    expect(page.locator("#rs-number")).to_contain_text("R@1: HAPPIER")
    shrink(page)
    sound(page, "#rs-compare")
    fits(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#rs-plan-downloads summary").click()
    assert b"HAPPIER" in downloaded(page.get_by_role("link", name="Table (CSV)").filter(visible=True))
    assert rb"\toprule" in downloaded(page.get_by_role("button", name="LaTeX of this table"))
    picture = page.locator("#rs-compared").get_by_role("button", name="Picture (PNG)").first
    assert downloaded(picture).startswith(b"\x89PNG")


def make_again(page: Page) -> None:
    """Start from the settings of the plan that is open, vary a parameter, and delete what was made."""
    button(page, "Use its settings").click()
    expect(page.locator(".rs-go")).to_contain_text("the settings of this run")
    sidebar.fill(page, "Vary", "smooth_ap.tau")
    sidebar.fill(page, "Values 1", "0.01, 0.1")
    for seeds, said in (("4,", "1 run, about 3 min in all."), ("3", "3 runs, about 9 min in all.")):
        sidebar.fill(page, "Seeds", seeds)
        expect(page.get_by_text(said)).to_be_attached()
    expect(page.get_by_text("Trained with seeds 0, 1 and 2.")).to_be_attached()
    page.locator(sidebar.FORM).get_by_role("button", name="Train", exact=True).click()
    expect(page.locator("#rs-plan")).to_contain_text("Waiting: 3 runs are planned.")
    expect(page.locator("#rs-plan")).to_contain_text("over tau of Smooth-AP")
    row(page).get_by_role("button", name="Stop").click()
    button(page, "Delete").click()
    button(page, "Delete for good").click()
    expect(page.locator("#rs-compare-said")).to_contain_text("The run is deleted.")
