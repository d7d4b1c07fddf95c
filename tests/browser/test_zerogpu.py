"""The page on a simulated ZeroGPU: it asks for slices in its visitor's name, and says when it gets none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import sidebar
from tests.browser.pages import until, visit
from tests.browser.program import ROOT, launched
from tests.tiny import write_images
from trainers.runs import RunFolder
from trainers.runs.slice_cost import read_cost


@pytest.mark.long
def test_a_page_trains_in_slices_as_its_visitor(browser: Browser, tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT / "tests" / "zerogpu"), os.environ.get("PYTHONPATH", "")])
    images = write_images(tmp_path / "images", each=8)
    with (
        launched(tmp_path, SPACES_ZERO_GPU="true", PYTHONPATH=path, RANKSCOPE_TEST_QUOTA="90") as program,
        visit(browser, program.site, program.site.at(program.site.finished)) as page,
    ):
        sidebar.images(page, str(images))
        expect(page.locator(".rs-report")).to_contain_text("class")
        sidebar.unfold(page)
        for label, value in (("Budget in minutes", "0.1"), ("Classes per batch", "4"), ("Images per class", "3")):
            sidebar.fill(page, label, value)
        run_id = sidebar.train(page)
        slices = page.locator("#rs-slices")
        expect(slices.get_by_role("alert")).to_contain_text("GPU limit", timeout=60_000)  # nobody is known to ask
        expect(slices.get_by_role("button", name="Go on on the CPU")).to_be_visible()
        until(page, "s.phase === 'between slices'")
        page.set_extra_http_headers({"x-ip-token": "somebody"})
        slices.get_by_role("button", name="Try again").click()
        expect(slices.get_by_role("alert")).to_be_hidden()
        until(page, "s.phase === 'finished'", timeout=120_000)
        expect(slices.get_by_role("button", name="Try again")).to_be_hidden()
        assert read_cost(RunFolder.open(program.site.root, run_id).path).lent > 5
