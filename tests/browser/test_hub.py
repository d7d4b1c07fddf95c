"""Images from the Hub, by the look-alike of it: searched as one types, looked at and corrected, trained on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import Site
from tests.browser.pages import LOOKS, Look, visit
from tests.browser.program import launched
from tests.browser.sidebar import FORM, config, enter, leave_queue, named, train, unfold
from tests.data.world import write_split
from tests.fake_hub import fake_hub
from tests.made_up_plan import make_plan, sweep
from tests.waiting import wait
from trainers.publishing.comparison import write_comparison

CARD = "---\nlicense: mit\ntags:\n- license:mit\n- modality:image\n- size_categories:n<1K\n---\n<b>Birds</b>\n"
CLASSES = {"species": [n // 3 for n in range(24)], "family": [n // 6 for n in range(24)]}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("seed")
    for name in ("birds", "birds_of_paradise", "slow_birds"):
        write_split(root / "datasets" / "some" / name, "train", CLASSES)
        (root / "datasets" / "some" / name / "README.md").write_text(CARD)
    plan = make_plan(root / "runs", sweep("smooth_ap", "happier"), gains={"HAPPIER": 0.05})
    (root / "files").mkdir()
    files = {name: path.read_bytes() for name, path in write_comparison(plan, "ada/seeds", root / "files").items()}
    with fake_hub(root) as server:
        for name in ("ada/seeds", "ada/slow", "ada/gated"):
            server.write("datasets", name, files)
        server.write("datasets", "ada/bad", files | {"comparison.safetensors": b"\x80\x04<b>pickle"})
        server.repos["datasets", "ada/gated"].gated = True
        server.fault(match="/api/datasets/ada/slow", delay=6, times=-1)
        server.fault(match="POST /api/datasets/bob/.*/preupload", delay=4, times=1)
        server.fault(match="/api/datasets[?].*search=busy", status=429, headers={"Retry-After": "120"}, times=-1)
        server.fault(match="/api/datasets/some/slow_birds", delay=4, times=-1)
        yield server


@pytest.fixture(scope="module")
def site(hub: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root: Path = tmp_path_factory.mktemp("app")
    environment = {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(root / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_OFFLINE": "0",
        "HF_TOKEN": "hf_denied",  # may write, and has no access to what is gated
    }
    with launched(root, **environment) as program:
        yield program.site


@LOOKS
def test_a_dataset_is_searched_looked_at_and_trained_on_and_what_is_slow_or_throttled_is_said(
    browser: Browser, site: Site, hub: Any, look: Look
) -> None:
    with visit(browser, site, site.url, **look) as page:
        enter(page)
        named(page, "Images").select_option("")
        line = page.locator(FORM).get_by_role("combobox", name="Hub id")
        found = page.get_by_role("listbox", name="On the Hub")
        line.press_sequentially("bird")
        expect(found.get_by_role("option")).to_have_count(3)
        expect(found).to_contain_text("some/birds_of_paradise")
        expect(found).to_contain_text("under 1K rows · mit")
        line.press("ArrowDown")
        line.press("Escape")
        expect(found).to_be_hidden()
        line.fill("")
        line.press_sequentially("busy")
        expect(page.locator(FORM)).to_contain_text("asked too often from here. Try again in 120 s")
        before = len(hub.log)
        line.fill("some/slow_birds")
        line.press("Tab")
        report = page.locator(".rs-report")
        report.get_by_role("button", name="Cancel").click()
        expect(report).to_have_text("Cancelled. Train looks again.")
        wait(lambda: any("some/slow_birds" in asked["line"] for asked in hub.log[before:]))
        expect(report).to_have_text("Cancelled. Train looks again.")
        line.fill("")
        line.press_sequentially("birds_of")
        expect(found.get_by_role("option")).to_have_count(1)
        line.press("ArrowDown")
        line.press("Enter")
        expect(line).to_have_value("some/birds_of_paradise")
        expect(report).to_contain_text("family › species")
        unfold(page)
        named(page, "Train split").select_option("train")
        started = config(site, train(page))["data"]
        leave_queue(page)
        assert (started["source"], started["train_split"]) == ("some/birds_of_paradise", "train")


REFUSED = {
    "ada/gated": "is gated: its owner grants access",
    "ada/bad": "holds no comparison that can be opened",
}


def test_a_comparison_is_opened_by_its_link_and_by_its_id(browser: Browser, site: Site, hub: Any) -> None:
    with visit(browser, site, f"{site.url}/?comparison=ada/seeds", ready=False) as other:
        view = other.locator("#rs-compare")
        expect(other.locator("#rs-conclusion")).to_contain_text("HAPPIER has the best R@1, ")
        expect(view).to_contain_text("from the Hub: ada/seeds at ")
        assert "comparison=ada%2Fseeds" in other.url and "run=" not in other.url
        for name in ("Stop", "Resume", "Delete", "Add seeds"):
            expect(view.get_by_role("button", name=name)).to_be_hidden()
        other.get_by_text("Open from the Hub").click()
        line, said = other.get_by_label("Comparison on the Hub"), other.locator("#rs-hub-said")
        for name, words in REFUSED.items():
            line.fill(name)
            line.press("Enter")
            expect(said).to_contain_text(words)
        line.fill("ada/slow")
        line.press("Enter")
        other.locator(".rs-work:visible").get_by_role("button", name="Stop").click()
        expect(said).to_contain_text("It was stopped")
        line.fill("ada/seeds")
        line.press("Enter")
        expect(said).to_be_empty()
        push(view, hub)
        other.locator("#rs-results [data-row='1'][data-col='1']:visible").last.click()
        other.locator("#rs-number-runs [data-row='0'][data-col='2']:visible").last.click()
        expect(other.locator(".rs-live h2").first).to_contain_text("Seed 0: Smooth-AP vs HAPPIER")


def push(view: Locator, hub: Any) -> None:
    """What was opened is pushed again, with the login of the machine; a push that is stopped commits nothing."""
    view.locator(".rs-takehome summary").click()
    view.get_by_role("button", name="Push to the Hub").click()
    panel = view.get_by_role("region", name="Push to the Hub")
    expect(panel).to_contain_text("With the login of this machine")
    line = panel.get_by_label("Repository")
    line.fill("bob/stopped")
    line.press("Enter")
    expect(panel).to_contain_text("Uploading 4 files")
    panel.get_by_role("button", name="Stop").click()
    expect(panel.get_by_role("alert")).to_have_text("It was stopped, and nothing was committed.")
    line.fill("bob/again")
    line.press("Enter")
    expect(panel).to_contain_text("Pushed: bob/again")
    assert panel.get_by_role("link", name="bob/again").get_attribute("href").startswith(f"{hub.url}/")
    repo = hub.repos["datasets", "bob/again"]
    assert repo.private and "comparison.safetensors" in repo.commits[repo.sha("main")]
    stopped = hub.repos["datasets", "bob/stopped"]
    assert not any(stopped.commits.values()), "it was made, and nothing was committed"
