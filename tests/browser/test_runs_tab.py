"""The Runs tab in a real browser: the list, a run that is opened, named, taken home, resumed and deleted; several."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import downloaded, fits, open_tab, shrink, sound, visit
from tests.synthetic import add_snapshot, make_run
from trainers.runs import RunFolder
from trainers.runs.label import Label, write_label

HOSTILE = '<img src=x onerror="window.hacked=1">${window.hacked=1}{{window.hacked=1}}[x](javascript:window.hacked=1)'


def made(site: Site, name: str, **how: object) -> RunFolder:
    run = make_run(site.root, points=120, frames=2, **how)  # type: ignore[arg-type]
    write_label(run.path, Label(name=name))
    run.db.close()
    return run


def search(page: Page, words: str, count: int = 1) -> None:
    """Narrow the list until it has so many rows."""
    page.get_by_label("Search").fill(words)
    expect(page.locator("#rs-runs-list [data-col='1']:visible")).to_have_count(count)


def press(page: Page, name: str) -> None:
    """Show the run of a name."""
    page.get_by_label("Search").fill(name)
    row = page.locator("#rs-runs-list [data-col='1']:visible")
    expect(row).to_have_text([name])
    row.click()
    expect(page.locator("#rs-run h3")).to_have_text(name)


def button(page: Page, name: str) -> None:
    page.locator("#rs-run-card").get_by_role("button", name=name, exact=True).click()


def test_a_run_is_opened_resumed_and_deleted_only_after_a_question(browser: Browser, site: Site) -> None:
    three, other = made(site, "Of three", arms=3, seed=4), made(site, "To go", seed=5)
    stopped = made(site, "At rest", seed=6, phase="stopped")
    with visit(browser, site, site.at(site.finished)) as page:
        live = page.locator(".rs-live .rs-downloads")
        link = live.get_by_role("button", name="Maps as a picture")
        for leave in (link.click, lambda: page.keyboard.press("Escape"), lambda: page.mouse.click(640, 5)):
            live.get_by_role("button", name="Download").click()
            expect(link).to_be_visible()
            leave()
            expect(link).to_be_hidden()
        open_tab(page, "Runs")
        press(page, "Of three")
        expect(page.locator("#rs-run")).to_contain_text("finished")
        page.locator("#rs-run-card").get_by_text("Download").click()
        assert downloaded(page.get_by_role("link", name="Numbers (CSV)").last).startswith(b"arm,loss,step,")
        button(page, "Open")
        page.wait_for_function(f"window.rankscope.current() === '{three.id}'")
        expect(page.get_by_role("tab", name="Live")).to_have_attribute("aria-selected", "true")
        open_tab(page, "Runs")
        press(page, "At rest")
        for name, phase in (("Resume", "waiting"), ("Stop", "stopped")):
            button(page, name)
            expect(page.locator("#rs-run")).to_contain_text(phase)
            expect(page.locator("#rs-runs-list")).to_contain_text(phase)
        stopped.db.close()
        press(page, "To go")
        button(page, "Delete")
        button(page, "Keep")
        button(page, "Delete")
        button(page, "Delete for good")
        expect(page.locator("#rs-runs-said")).to_contain_text("The run is deleted.")
        expect(page.locator("#rs-run-card")).to_be_hidden()
        assert not other.path.exists()


def test_runs_are_named_and_found_and_the_list_follows_them(browser: Browser, site: Site) -> None:
    one = made(site, "Quite plain", seed=8)
    with visit(browser, site, site.at(site.finished)) as page:
        open_tab(page, "Runs")
        press(page, "Quite plain")
        page.get_by_text("Name, tags and note").click()
        card = page.locator("#rs-run-card")
        expect(card.get_by_label("Name")).to_have_value("Quite plain")
        card.get_by_label("Name").fill(HOSTILE)
        card.get_by_label("Tags").fill("paper, paper, first")
        button(page, "Save")
        expect(card.get_by_label("Tags")).to_have_value("paper, first")
        expect(page.locator("#rs-run h3")).to_have_text(HOSTILE)
        page.get_by_label("Search").fill("paper onerror")
        expect(page.locator("#rs-runs-list [data-col='1']:visible")).to_have_text([f"{HOSTILE}\n#paper #first"])
        assert b"onerror" in downloaded(page.get_by_role("button", name="CSV", exact=True))
        add_snapshot(one, 2, of=3)
        one.db.set_state(one.db.state())
        one.db.close()
        expect(page.locator("#rs-runs-list")).to_contain_text("finished")
        shrink(page)
        sound(page, "#rs-run-card")
        assert page.evaluate("window.hacked") is None


def test_several_runs_are_chosen_laid_over_each_other_and_deleted(browser: Browser, site: Site) -> None:
    folders = [made(site, f"Over {number}", seed=number) for number in (21, 22)]
    with visit(browser, site, f"{site.at(site.finished)}&__theme=light") as page:
        open_tab(page, "Runs")
        search(page, "over 2", 2)
        chosen, box = page.locator("#rs-chosen-runs"), page.locator("#rs-runs-list [data-col='0']:visible")
        page.get_by_role("button", name="All that are listed").click()
        expect(box).to_have_text(["☑", "☑"])
        for ticked in ("☐", "☑"):
            box.first.click()
            expect(box).to_have_text([ticked, "☑"])
        expect(chosen.get_by_role("button", name="Remove")).to_have_count(2)
        chosen.get_by_label("Tags").fill("both")
        chosen.get_by_role("button", name="Tag", exact=True).click()
        expect(page.locator("#rs-runs-said")).to_contain_text("2 runs tagged.")
        chosen.get_by_role("button", name="Compare").click()
        expect(page.locator("#rs-overlaid-curves .legendtext")).to_have_count(4)
        expect(page.locator("#rs-differing [data-col='0']:visible")).to_have_text(["Seed"])
        over = page.locator("#rs-overlaid")
        assert downloaded(over.get_by_role("button", name="Picture (PNG)")).startswith(b"\x89PNG")
        assert downloaded(over.get_by_role("button", name="Curves (CSV)")).startswith(b"run,loss,step,")
        fits(page)
        chosen.get_by_role("button", name="Delete", exact=True).click()
        chosen.get_by_role("button", name="Delete 2 runs for good").click()
        expect(page.locator("#rs-runs-said")).to_contain_text("2 runs deleted.")
        assert not any(folder.path.exists() for folder in folders)
