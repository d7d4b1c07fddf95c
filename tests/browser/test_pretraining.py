"""Contrastive pretraining in the page: chosen, filled by a preset, previewed, started, watched to its second stage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.pages import settle_events, until, visit
from tests.browser.program import launched


def chosen(page: Page, menu: str, title: str) -> None:
    page.locator(f"{menu} input").click()
    page.get_by_role("option", name=title, exact=True).click()


def typed(page: Page, label: str, value: str) -> None:
    field = page.get_by_role("textbox", name=label).or_(page.get_by_role("spinbutton", name=label)).first
    field.fill(value)
    field.press("Tab")


@pytest.mark.long
def test_it_is_filled_by_a_preset_previewed_started_and_kept(browser: Browser, tmp_path: Path) -> None:
    with launched(tmp_path) as program:
        site = program.site
        with visit(browser, site, site.at(site.finished)) as page:
            page.wait_for_function("window.rankscopeRestored === true")
            chosen(page, "#rs-kind", "Contrastive pretraining")
            page.wait_for_function("window.rankscopeRestored_contrastive === true")
            chosen(page, "#rs-form-contrastive .rs-presets", "Two stages or one")
            expect(page.locator(".rs-slot-2 .rs-method input")).to_have_value("Cross-entropy")
            expect(page.locator("#rs-augmentation-contrastive .rs-menuvalue")).to_have_text("SimCLR")
            expect(page.locator("#rs-form-contrastive .rs-preset p")).to_contain_text("in a second stage")
            page.evaluate("() => document.querySelectorAll('.rs-foldhead').forEach((head) => head.click())")
            typed(page, "Image size", "4")
            page.get_by_role("button", name="Preview the views").click()
            expect(page.locator(".rs-views [role=alert]")).to_contain_text("image size from 16 to 256; got 4")
            typed(page, "Image size", "16")
            page.get_by_role("button", name="Preview the views").click()
            expect(page.locator(".rs-viewgroup")).to_have_count(6)
            sides = "(nodes) => nodes.map((image) => image.naturalWidth)"
            assert page.locator(".rs-viewgroup img").evaluate_all(sides) == [16] * 12
            page.locator(".rs-slot-0").get_by_role("button", name="Remove this method").click()
            expect(page.locator(".rs-slot-2")).to_be_hidden()
            values = {
                "Most images read per split": "200",
                "Most steps": "6",
                "Steps of the second stage": "4",
                "Label noise": "0.2",
            }
            for label, value in values.items():
                typed(page, label, value)
            typed(page, "Width", "8")
            settle_events(page)
            page.locator("#rs-train").click()
            page.wait_for_function(f"window.rankscope.current() !== '{site.finished.id}'")
            run = str(page.evaluate("window.rankscope.current()"))
            config = json.loads((site.root / run / "config.json").read_text())
            assert (config["kind"], config["data"]["held_out"]) == ("contrastive", "images")
            assert [method["name"] for method in config["methods"]] == ["supcon", "cross_entropy"]
            assert config["data"]["conditions"]["label_noise"] == 0.2
            until(page, "s.run === a && s.phase === 'finished' && s.k !== null", run, timeout=60_000)
            expect(page.locator(".rs-card")).to_have_count(2)
            expect(page.locator(".rs-live")).to_contain_text("linear classifier on the frozen encoder")
            expect(page.locator(".rs-live")).to_contain_text("20 % label noise")
            settle_events(page)
            page.reload()
            expect(page.locator("#rs-kind input")).to_have_value("Contrastive pretraining")
            expect(page.locator(".rs-slot-1 .rs-method input")).to_have_value("Cross-entropy")
            noise = "#rs-form-{} input[type=number][aria-label*='Label noise']"
            expect(page.locator(noise.format("contrastive"))).to_have_value("0.2")
            chosen(page, "#rs-kind", "Metric learning")
            expect(page.locator(".rs-slot-1 .rs-loss input")).to_have_value("HAPPIER")
            expect(page.locator("#rs-form-metric_learning [aria-label='Learning rate']")).to_have_value("0.004")
            expect(page.locator(noise.format("metric_learning"))).to_have_value("0")
            settle_events(page)
