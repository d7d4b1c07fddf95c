"""A contrastive run in the Live view: the dictionary by age, the number over a parameter, both stages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.contrastive_run import trained
from tests.browser.pages import LOOKS, Look, fits, rest, seek, visit
from trainers.parameters import Choice
from trainers.runs import RunFolder

SHOWN = ".rs-chart:visible"
TICKS = "[aria-label='x-axis tick label'] text"


@pytest.fixture
def momenta(site: Site, tmp_path: Path) -> RunFolder:
    """Two momenta; the queue of 80 fills in step 5."""
    methods = (Choice(name="moco_v1", parameters={"queue": 80, "momentum": momentum}) for momentum in (0.5, 0.9))
    run = trained(tmp_path, *methods, snapshot_steps=2)
    shutil.move(run.path, site.root)
    return RunFolder.open(site.root, run.id)


def told(page: Page, name: str) -> str:
    """What a chart says of itself to those who cannot see it."""
    return str(page.locator(name).first.get_attribute("aria-label"))


@LOOKS
def test_the_dictionary_a_number_over_a_parameter_and_both_stages(
    browser: Browser, site: Site, momenta: RunFolder, look: Look
) -> None:
    newest = momenta.newest("knn_accuracy", "test/knn_accuracy")
    last = len(momenta.frames()) - 1
    with visit(browser, site, site.at(momenta), **look) as page:
        rest(page)
        profile = page.locator(".rs-profile")
        expect(profile.locator(SHOWN)).to_have_count(2)
        seek(page, last)
        expect(profile.locator(SHOWN).first).to_contain_text("Queue filled 100 %")
        expect(profile.locator(".rs-profilebar rect")).to_have_count(16)
        expect(profile.locator(".rs-unfilled rect")).to_have_count(0)
        full = told(page, ".rs-profile [role=img]")
        assert full.startswith("Keys in the dictionary, by age, MoCo v1 (momentum 0.5") and "4 batches ago" in full
        plots = page.locator(".rs-ablation .rs-chart")
        expect(plots).to_have_count(2)
        expect(page.locator(".rs-ablation h3")).to_have_text("Over momentum")
        expect(plots.first.locator(TICKS)).to_have_text(["0.5", "0.9"])
        expect(plots.first.locator(".rs-shown circle")).to_have_count(2)
        expect(plots.first.locator(".rs-final circle")).to_have_count(2)
        for arm, momentum in enumerate(("0.5", "0.9")):
            shown, final = (f"{newest[arm, key] + 1e-9:.3f}" for key in ("knn_accuracy", "test/knn_accuracy"))
            assert f"{momentum}: {shown}, at the end {final}" in told(page, ".rs-ablation [role=img]")

        expect(page.locator(".rs-key")).to_contain_text("linear classifier on the frozen encoder from step 12")
        page.locator(".rs-curves summary").filter(visible=True).first.click()
        expect(page.locator(".rs-curve", has_text="Classifier accuracy").locator("svg").first).to_be_visible()
        page.locator(".rs-curves summary").filter(visible=True).nth(1).click()
        expect(page.locator(".rs-curves table")).to_contain_text("k-NN accuracy")
        expect(page.locator(".rs-curves table")).not_to_contain_text("Stage:")

        seek(page, 1)
        expect(profile.locator(SHOWN).first).to_contain_text("Queue filled 40 %")
        expect(profile.locator(SHOWN).first).to_contain_text("60 % still random")
        expect(profile.locator(".rs-unfilled rect")).to_have_count(2)
        fits(page)
        seek(page, 0)  # equal weights at first: the dots lie level
        expect(profile).to_be_hidden()
        dots = plots.first.locator(".rs-shown circle")
        level = dots.evaluate_all("dots => dots.map((dot) => dot.getAttribute('cy'))")
        assert len(level) == 2 and level[0] == level[1]
        expect(plots.first.locator(".rs-final circle")).to_have_count(2)
