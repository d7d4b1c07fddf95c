"""A kind of run from another folder in the page: it is started in the sidebar, watched, paused, listed, exported."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import sidebar
from tests.browser.pages import until, visit
from tests.browser.program import launched
from tests.waiting import wait

FOLDER = Path(__file__).resolve().parents[1] / "contracts" / "kind"
PREFIX = "/gradio_api/rankscope"


def begin(page: Page, steps: str, head: str) -> str:
    sidebar.fill(page, "Maximum steps", steps)
    sidebar.fill(page, "Head steps", head)
    return sidebar.train(page)


@pytest.mark.long
def test_it_is_started_watched_paused_listed_and_exported(browser: Browser, tmp_path: Path) -> None:
    with launched(tmp_path, RANKSCOPE_KINDS=str(FOLDER)) as program:
        site = program.site
        with visit(browser, site, site.at(site.finished)) as page:
            sidebar.choose(page, "Kind of run", "Toy clusters")
            expect(sidebar.named(page, "Images")).to_have_count(0)
            run = begin(page, "200", "1000000")
            until(page, "s.run === a && s.k !== null", run, timeout=60_000)
            expect(page.locator(".rs-card")).to_have_count(2)
            expect(page.locator(".rs-card").first).to_contain_text("rate 0.01")
            acts = page.locator(".rs-actions")
            acts.get_by_role("button", name="Pause", exact=True).click()
            expect(page.locator(".rs-runstatus")).to_contain_text("aused")
            acts.get_by_role("button", name="Stop", exact=True).click()
            expect(page.locator(".rs-runstatus")).to_contain_text("topped")
            done = begin(page, "20", "10")
            until(page, "s.run === a && s.phase === 'finished'", done, timeout=60_000)
            page.get_by_role("tab", name="Runs").click()
            expect(page.get_by_text("rate 0.01 vs rate 0.1 on Clusters").filter(visible=True).first).to_be_visible()
            for name, least in (("run.zip", 5000), ("curves.html", 10_000), ("replay.html", 10_000)):
                reply = page.request.get(f"{site.url}{PREFIX}/run/{done}/download/{name}")
                assert reply.ok and len(reply.body()) > least, name
            text = page.request.get(f"{site.url}{PREFIX}/run/{done}/download/metrics.csv").text()
            assert any("R_at_1" in row for row in csv.reader(io.StringIO(text)))
            wait(lambda: page.request.get(f"{site.url}{PREFIX}/run/{done}/poll").json()["phase"] == "finished")
