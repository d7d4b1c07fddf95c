"""Contrastive pretraining in the page: chosen, filled by a preset, previewed, started, watched to its second stage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import until, visit
from tests.browser.program import launched
from tests.browser.sidebar import choose, fill, named, shown, train, unfold


@pytest.mark.long
def test_it_is_filled_by_a_preset_previewed_started_and_kept(browser: Browser, tmp_path: Path) -> None:
    with launched(tmp_path) as program:
        site = program.site
        with visit(browser, site, site.at(site.finished)) as page:
            choose(page, "Kind of run", "Contrastive pretraining")
            choose(page, "Start from a preset", "Two stages or one")
            assert (shown(page, "Method 3"), shown(page, "Augmentation")) == ("Cross-entropy", "MoCo v2")
            expect(page.locator(".rs-runform")).to_contain_text("in a second stage")
            unfold(page)
            fill(page, "Image size", "4")
            page.get_by_role("button", name="Preview the views").click()
            expect(page.get_by_role("alert").filter(has_text="image size from 16 to 256; got 4").first).to_be_visible()
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
            config = json.loads((site.root / run / "config.json").read_text())
            assert (config["kind"], config["data"]["held_out"]) == ("contrastive", "images")
            assert [method["name"] for method in config["methods"]] == ["supcon", "cross_entropy"]
            assert config["data"]["conditions"]["label_noise"] == 0.2
            until(page, "s.run === a && s.phase === 'finished' && s.k !== null", run, timeout=60_000)
            expect(page.locator(".rs-card")).to_have_count(2)
            expect(page.locator(".rs-live")).to_contain_text("linear classifier on the frozen encoder")
            expect(page.locator(".rs-live")).to_contain_text("20 % label noise")
            page.reload()
            expect(named(page, "Method 2")).to_be_visible()
            unfold(page)
            assert (shown(page, "Kind of run"), shown(page, "Method 2")) == ("Contrastive pretraining", "Cross-entropy")
            expect(named(page, "Label noise")).to_have_value("0.2")
            choose(page, "Kind of run", "Metric learning")
            unfold(page)
            assert shown(page, "Loss 2") == "HAPPIER"
            for label, value in {"Learning rate": "0.004", "Label noise": "0"}.items():
                expect(named(page, label)).to_have_value(value)
