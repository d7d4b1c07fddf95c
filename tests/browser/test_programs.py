"""``python app.py`` with another kind of run, another tab, a simulated ZeroGPU, and contrastive pretraining."""

from __future__ import annotations

import os
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.pages import until, visit
from tests.browser.program import launched
from tests.browser.sidebar import choose, config, fill, named, shown, train, train_on, unfold
from tests.campaigns._page import ROOT, call
from tests.examples import copied
from tests.tiny import write_images
from trainers.runs import RunFolder
from trainers.runs.slice_cost import read_cost

pytestmark = pytest.mark.long


def begin(page: Page, steps: str, head: str) -> str:
    fill(page, "Maximum steps", steps)
    fill(page, "Head steps", head)
    return train(page)


def test_a_kind_from_another_folder_is_started_and_watched(browser: Browser, tmp_path: Path) -> None:
    with launched(tmp_path, RANKSCOPE_KINDS=str(ROOT / "tests" / "contracts" / "kind")) as program:
        site = program.site
        with visit(browser, site, site.at(site.finished)) as page:
            choose(page, "Kind of run", "Toy clusters")
            expect(named(page, "Images")).to_have_count(0)
            run = begin(page, "200", "1000000")
            until(page, "s.run === a && s.k !== null", run)
            expect(page.locator(".rs-card")).to_have_count(2)
            expect(page.locator(".rs-card").first).to_contain_text("rate 0.01")
            acts = page.locator(".rs-trainingrow")
            acts.get_by_role("button", name="Pause", exact=True).click()
            expect(page.locator(".rs-runstatus")).to_contain_text("aused")
            acts.get_by_role("button", name="Stop", exact=True).click()
            expect(page.locator(".rs-runstatus")).to_contain_text("topped")
            done = begin(page, "20", "10")
            until(page, "s.run === a && s.phase === 'finished'", done)
            page.get_by_role("tab", name="Runs").click()
            expect(page.get_by_text("rate 0.01 vs rate 0.1 on Clusters").filter(visible=True).first).to_be_visible()


def test_the_examples_of_the_docs_are_tabs(browser: Browser, tmp_path: Path) -> None:
    with launched(tmp_path, copied(tmp_path / "program")) as program:
        site = program.site
        with visit(browser, site, site.at(site.finished)) as page:
            names = page.locator("#rs-tabs [role=tab]").all_inner_texts()
            assert names.index("Recall") == names.index("Totals") + 1 == names.index("Runs") + 2
            page.get_by_role("tab", name="Totals").click()
            total = page.locator(".rs-total")
            expect(total).to_have_text(re.compile(r"Runs: \d+"))
            expect(total).to_have_css("font-size", "32px")
            expect(page.locator("#rs-aside p:visible")).to_have_text("Nothing is started here.")
            shown = int(total.inner_text().removeprefix("Runs: "))
            page.get_by_role("tab", name="Recall").click()
            tab = page.locator("[role=tabpanel]:visible")
            tab.get_by_label("Run").click()
            page.get_by_role("option", name="Smooth-AP vs HAPPIER").first.click()
            for loss in ("Smooth-AP", "HAPPIER"):
                expect(tab.locator("#rs-recall").get_by_text(loss, exact=True).filter(visible=True)).to_be_visible()
            expect(tab.locator(".rs-chart .js-plotly-plot")).to_be_visible()
        with httpx.Client(base_url=site.url, timeout=60) as client:
            assert shown >= 1 and call(client, "count_runs") == shown


def test_a_page_trains_in_slices_as_its_visitor(browser: Browser, tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT / "tests" / "zerogpu"), os.environ.get("PYTHONPATH", "")])
    images = write_images(tmp_path / "images", each=8)
    with (
        launched(tmp_path, SPACES_ZERO_GPU="true", PYTHONPATH=path, RANKSCOPE_TEST_QUOTA="90") as program,
        visit(browser, program.site, program.site.at(program.site.finished)) as page,
    ):
        run_id = train_on(page, images, "0.1")
        slices = page.locator("#rs-slices")
        expect(slices.get_by_role("alert")).to_contain_text("GPU limit")  # nobody is known to ask
        expect(slices.get_by_role("button", name="Go on on the CPU")).to_be_visible()
        until(page, "s.phase === 'between slices'")
        page.set_extra_http_headers({"x-ip-token": "somebody"})
        slices.get_by_role("button", name="Try again").click()
        expect(slices.get_by_role("alert")).to_be_hidden()
        until(page, "s.phase === 'finished'", timeout=120_000)
        expect(slices.get_by_role("button", name="Try again")).to_be_hidden()
        assert read_cost(RunFolder.open(program.site.root, run_id).path).lent > 5


def test_contrastive_pretraining_is_previewed_started_and_kept(browser: Browser, tmp_path: Path) -> None:
    with launched(tmp_path) as program:
        site = program.site
        with visit(browser, site, site.at(site.finished)) as page:
            choose(page, "Kind of run", "Contrastive pretraining")
            choose(page, "Start from a preset", "Two stages or one")
            assert (shown(page, "Method 3"), shown(page, "Augmentation")) == ("Cross-entropy", "MoCo v2")
            expect(page.locator(".rs-runform")).to_contain_text("in a second stage")
            unfold(page)
            fill(page, "Image size", "16")
            page.get_by_role("button", name="Preview the views").click()
            expect(page.locator(".rs-viewgroup")).to_have_count(6)
            sides = "(nodes) => nodes.map((image) => image.naturalWidth)"
            assert page.locator(".rs-viewgroup img").evaluate_all(sides) == [16] * 12
            named(page, "Remove method 1").click()
            expect(named(page, "Method 3")).to_have_count(0)
            values = {
                "Maximum images per split": "200",
                "Maximum steps": "6",
                "Steps of the second stage": "4",
                "Label noise": "0.2",
                "Width": "8",
            }
            for label, value in values.items():
                fill(page, label, value)
            run = train(page)
            made = config(site, run)
            assert (made["kind"], made["data"]["held_out"]) == ("contrastive", "images")
            assert [method["name"] for method in made["methods"]] == ["supcon", "cross_entropy"]
            assert made["data"]["conditions"]["label_noise"] == 0.2
            until(page, "s.run === a && s.phase === 'finished' && s.k !== null", run)
            expect(page.locator(".rs-card")).to_have_count(2)
            expect(page.locator(".rs-live")).to_contain_text("linear classifier on the frozen encoder")
            expect(page.locator(".rs-live")).to_contain_text("20 % label noise")
