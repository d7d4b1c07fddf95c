"""What was chosen in the sidebar survives a reload in this browser, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site, serve
from tests.browser.pages import open_tab, visit
from tests.browser.sidebar import FORM, choose, fill, images, named, shown, unfold
from tests.synthetic import make_run
from tests.tiny import write_images

KEY = "rankscope-form"


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with visit(browser, site, site.at(site.finished)) as opened:
        drawn(opened)
        yield opened


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page for strangers, on a machine without timm and transformers."""
    root = tmp_path_factory.mktemp("public")
    with pytest.MonkeyPatch.context() as patch:
        for module in ("trainers.encoders.timm_models", "trainers.data.hf_transformers"):
            patch.setattr(f"{module}.find_spec", lambda name: None)
        with serve(root, make_run(root, points=60, frames=2), public=True) as served:
            yield served


def drawn(page: Page) -> None:
    """Wait for the form and what it says of the images, and open its folds."""
    expect(page.locator(".rs-report p").first).not_to_have_text("Looking …")
    unfold(page)


def again(page: Page) -> None:
    page.reload()
    drawn(page)


def stored(page: Page) -> dict:
    return json.loads(page.evaluate("(key) => localStorage.getItem(key)", KEY))["forms"]


def keep(page: Page, text: str) -> None:
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, text])
    again(page)


def kept(**settings: object) -> str:
    return json.dumps({"version": 1, "kind": "metric_learning", "forms": {"metric_learning": {"settings": settings}}})


def test_choices_survive_a_reload_and_go_with_the_reset(page: Page, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "images", train=2, test=2, each=2)
    images(page, str(folder))
    expect(page.locator(".rs-report")).to_contain_text("class")
    choose(page, "Loss 1", "SupCon")
    unfold(page)
    tau = page.locator(".rs-arm").first.get_by_label("Temperature", exact=True)
    tau.fill("0.2")
    tau.press("Tab")
    page.get_by_role("button", name="Add a loss").click()
    third = shown(page, "Loss 3")
    choose(page, "Encoder", "timm model")
    expect(named(page, "Learning rate")).to_have_value("0.0001")
    fill(page, "Seed", "7")
    fill(page, "Budget in minutes", "1.5")
    fill(page, "More metrics", "R_at_10, AP_at_5_level1")
    named(page, "How often").select_option("sweep")
    fill(page, "Vary", "dim")
    fill(page, "Values 1", "32, 64")
    expect(named(page, "Vary 2")).to_be_visible()
    again(page)
    expect(page.locator(FORM).get_by_label("Hub id")).to_have_value(str(folder))
    expect(page.locator(".rs-report")).to_contain_text("class")
    assert [shown(page, f"Loss {arm}") for arm in (1, 3)] == ["SupCon", third]
    assert shown(page, "Encoder") == "timm model"
    values = {"Temperature": "0.2", "Seed": "7", "Budget in minutes": "1.5", "Learning rate": "0.0001"}
    values |= {"More metrics": "R_at_10, AP_at_5_level1", "Vary": "dim", "Values 1": "32, 64"}
    for label, value in values.items():
        expect(named(page, label).first).to_have_value(value)
    page.get_by_role("button", name="Reset to defaults").click()
    unfold(page)
    assert [shown(page, label) for label in ("Images", "Loss 1", "Encoder")] == ["Drawn world", "Smooth-AP", "Conv-4"]
    expect(page.locator(".rs-report")).to_contain_text("needs no network")
    expect(named(page, "Loss 3")).to_have_count(0)
    expect(named(page, "Learning rate")).to_have_value("0.004")
    assert stored(page)["metric_learning"]["settings"] == {}


@pytest.mark.long
def test_what_cannot_be_used_is_dropped_without_a_word(page: Page) -> None:
    hostile = kept(
        losses=[{"name": "of_another_version", "parameters": {}}],
        encoder={"name": "huge", "parameters": {}},
        seed={"$": 1},
        minutes=["<b>1</b>"],
        sampler="fair",
        unknown=1,
        dim=128,
    )
    keep(page, hostile)
    expect(named(page, "Embedding size")).to_have_value("128")
    assert [shown(page, label) for label in ("Loss 1", "Encoder")] == ["Smooth-AP", "Conv-4"]
    for label, value in {"Budget in minutes": "3", "Seed": "0"}.items():
        expect(named(page, label)).to_have_value(value)
    expect(page.locator("#rs-sidebar [role=alert]:visible")).to_have_count(0)
    keep(page, kept(**{"data.source": "<img src=x onerror='window.hacked=1'>"}))
    expect(page.locator(".rs-report [role=alert]")).to_contain_text("<img src=x")
    assert page.evaluate("window.hacked") is None
    for broken in ("no JSON", "[]", '{"version": 1, "forms": 3}', '{"version": 1, "forms": {"metric_learning": 3}}'):
        keep(page, broken)
        expect(named(page, "Embedding size")).to_have_value("64")


@pytest.mark.long
def test_another_visitor_sees_nothing_of_it(browser: Browser, page: Page, site: Site, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "mine", train=2, test=2, each=2)
    images(page, str(folder))
    with visit(browser, site, site.at(site.finished)) as other:
        drawn(other)
        assert shown(other, "Images") == "Drawn world"
        assert str(folder) not in other.content()


def test_in_public_it_is_said_before_a_start_that_a_run_is_too_large(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.at(public.finished)) as page:
        drawn(page)
        unfold(page)
        fill(page, "Classes per batch", "512")
        said = page.locator(".rs-go").get_by_role("alert").filter(has_text="images per batch at most")
        expect(said).to_be_visible()
        fill(page, "Classes per batch", "32")
        expect(said).to_have_count(0)


def test_in_public_no_folder_is_offered_or_taken_back(browser: Browser, public: Site, tmp_path: Path) -> None:
    with visit(browser, public, public.at(public.finished)) as page:
        drawn(page)
        named(page, "Images").select_option("")
        expect(page.locator(FORM).get_by_label("Hub id")).to_have_attribute("placeholder", "Hub id, or words")
        keep(page, kept(**{"data.source": str(tmp_path), "dim": 128}))
        expect(named(page, "Embedding size")).to_have_value("128")
        expect(page.locator(".rs-report")).to_contain_text("needs no network")
        assert shown(page, "Images") == "Drawn world"
        expect(page.get_by_text("Start from another run")).to_have_count(0)


@pytest.mark.long
def test_what_is_not_installed_is_grey_and_says_how_on_demand(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.at(public.finished)) as page:
        expect(named(page, "Encoder")).to_be_visible()
        disabled = named(page, "Encoder").locator("option:disabled")
        expect(disabled).to_have_text(["Frozen features + head (not installed)", "timm model (not installed)"])
        assert "pip" not in page.locator("#rs-sidebar").inner_text()
        page.locator(FORM).get_by_text("How to install the greyed-out choices").first.click()
        expect(page.locator(FORM)).to_contain_text("This encoder needs the timm library: pip install timm")
        keep(page, kept(encoder={"name": "timm", "parameters": {}}))
        assert shown(page, "Encoder") == "Conv-4"


@pytest.mark.long
def test_models_of_photos_that_are_not_installed_are_grey_too(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.at(public.finished)) as page:
        open_tab(page, "Remove an object")
        expect(page.locator(".rs-choices select").nth(1).locator("option:disabled")).not_to_have_count(0)
        how = page.locator(".rs-missing")
        expect(how).to_be_hidden()
        page.get_by_text("How to install the greyed-out choices").filter(visible=True).click()
        expect(how).to_contain_text("pip install transformers")
