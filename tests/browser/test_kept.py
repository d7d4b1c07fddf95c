"""What was chosen in the sidebar survives a reload in this browser, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from explorer.page.remembered import KEY, VERSION
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site, serve
from tests.browser.pages import settle_events, visit
from tests.synthetic import make_run
from tests.tiny import write_images

_LOSS = ".rs-slot-{} .rs-loss input"


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with visit(browser, site, site.at(site.finished)) as opened:
        settled(opened)
        yield opened


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page for strangers, on a machine without timm and transformers."""
    root = tmp_path_factory.mktemp("public")
    with pytest.MonkeyPatch.context() as patch:
        for module in ("trainers.encoders.timm_models", "trainers.hf_transformers"):
            patch.setattr(f"{module}.find_spec", lambda name: None)
        with serve(root, make_run(root, points=60, frames=2), public=True) as served:
            yield served


def settled(page: Page) -> None:
    """Wait until the page has asked what was kept, and the folds are drawn."""
    page.wait_for_function("window.rankscopeRestored === true")
    expect(page.locator(".rs-slot-0 .rs-log-number").first).to_be_attached()


def again(page: Page) -> None:
    settle_events(page)
    page.reload()
    settled(page)


def stored(page: Page) -> dict:
    text = page.evaluate("(key) => localStorage.getItem(key)", KEY)
    return json.loads(text)["values"] if text else {}


def keep(page: Page, text: str) -> None:
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, text])
    again(page)


def choose(page: Page, field: str, text: str) -> None:
    page.locator(field).click()
    page.locator(field).fill(text)
    page.locator(field).press("Enter")


def number(page: Page, name: str, value: str) -> None:
    field = page.get_by_role("spinbutton", name=name)
    field.fill(value)
    field.press("Tab")


def test_choices_survive_a_reload_and_go_with_the_reset(page: Page, site: Site, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "images", train=2, test=2, each=2)
    training = page.get_by_role("button", name="Batch, learning rate and more")
    training.click()
    choose(page, "#rs-source input", str(folder))
    expect(page.locator("#rs-found")).to_contain_text("class")
    choose(page, _LOSS.format(0), "SupCon")
    expect(page.locator(".rs-slot-0")).to_contain_text("Temperature")
    page.get_by_role("button", name="Add a loss").click()
    expect(page.locator(".rs-slot-2")).to_be_visible()
    third = page.locator(_LOSS.format(2)).input_value()
    page.locator("#rs-encoder [role=combobox]").click()
    page.locator("#rs-encoder [role=option]", has_text="timm model").click()
    expect(page.get_by_role("spinbutton", name="Learning rate")).to_have_value("0.0001")
    number(page, "Weight decay", "0")
    number(page, "Seed", "7")
    page.get_by_label("Budget in minutes").fill("1.5")
    page.get_by_label("Budget in minutes").press("Tab")
    page.wait_for_function('(key) => localStorage.getItem(key)?.includes(\'"minutes":"1.5"\')', arg=KEY)
    again(page)
    page.wait_for_function("(id) => window.rankscope?.current() === id", arg=site.finished.id)  # as the link says
    expect(page.locator("#rs-source input")).to_have_value(str(folder))
    expect(page.locator("#rs-found")).to_contain_text("class")
    expect(page.locator(_LOSS.format(0))).to_have_value("SupCon")
    expect(page.locator(_LOSS.format(2))).to_have_value(third)
    expect(page.locator("#rs-encoder .rs-menuvalue")).to_have_text("timm model")
    expect(page.get_by_label("Budget in minutes")).to_have_value("1.5")
    training.click()
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7")
    expect(page.get_by_role("spinbutton", name="Weight decay")).to_have_value("0")
    expect(page.get_by_role("spinbutton", name="Learning rate")).to_have_value("0.0001")
    page.get_by_role("button", name="Reset to defaults").click()
    expect(page.locator("#rs-source input")).to_have_value("Drawn world")
    expect(page.locator("#rs-found")).to_contain_text("needs no network")
    expect(page.locator(".rs-slot-2")).to_be_hidden()
    expect(page.locator(_LOSS.format(0))).to_have_value("Smooth-AP")
    expect(page.locator("#rs-encoder .rs-menuvalue")).to_have_text("Conv-4")
    expect(page.get_by_role("spinbutton", name="Learning rate")).to_have_value("0.004")
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("0")
    page.wait_for_function("(key) => localStorage.getItem(key) === null", arg=KEY)


def test_parameters_of_a_loss_survive_a_reload(page: Page) -> None:
    page.locator(".rs-slot-0 .rs-foldhead").click()
    tau = page.locator(".rs-slot-0 .rs-log-number").first
    tau.fill("0.05")
    tau.press("Tab")
    page.wait_for_function("(key) => localStorage.getItem(key)?.includes('0.05')", arg=KEY)
    again(page)
    expect(page.locator(".rs-slot-0 .rs-log-number").first).to_have_value("0.05")
    assert stored(page) == {"loss_0_parameters": '{"smooth_ap":{"tau":0.05}}'}


def test_what_cannot_be_used_is_dropped_without_a_word(page: Page) -> None:
    hostile = {
        "source": "<img src=x onerror='window.hacked=1'>",
        "loss_0": "of_another_version",
        "encoder": "huge",
        "seed": -5,
        "minutes": "<b>1</b>",
        "weight_decay": 1e9,
        "dim": 128,
    }
    keep(page, json.dumps({"version": VERSION, "values": hostile}))
    expect(page.get_by_role("spinbutton", name="Embedding size", include_hidden=True)).to_have_value("128")
    expect(page.locator("#rs-source input")).to_have_value("Drawn world")
    expect(page.locator(_LOSS.format(0))).to_have_value("Smooth-AP")
    expect(page.locator("#rs-encoder .rs-menuvalue")).to_have_text("Conv-4")
    expect(page.get_by_label("Budget in minutes")).to_have_value("3")
    expect(page.get_by_role("spinbutton", name="Seed", include_hidden=True)).to_have_value("0")
    expect(page.locator("#rs-sidebar [role=alert]")).to_have_count(0)
    assert page.evaluate("window.hacked") is None
    keep(page, "no JSON")
    expect(page.get_by_role("spinbutton", name="Embedding size", include_hidden=True)).to_have_value("64")


def test_another_visitor_sees_nothing_of_it(browser: Browser, page: Page, site: Site, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "mine", train=2, test=2, each=2)
    choose(page, "#rs-source input", str(folder))
    page.wait_for_function("(key) => localStorage.getItem(key)?.includes('mine')", arg=KEY)
    with visit(browser, site, site.at(site.finished)) as other:
        settled(other)
        expect(other.locator("#rs-source input")).to_have_value("Drawn world")
        assert str(folder) not in other.content()
        assert str(folder) not in other.evaluate("() => JSON.stringify(window.gradio_config)")


def test_in_public_no_folder_is_offered_or_taken_back(browser: Browser, public: Site, tmp_path: Path) -> None:
    with visit(browser, public, public.at(public.finished)) as page:
        settled(page)
        assert page.locator("#rs-source input").get_attribute("placeholder") == "Type a Hub id"
        inside = page.locator("#rs-source .container > .wrap")
        assert inside.evaluate("(node) => getComputedStyle(node, '::after').content") == '"or type a Hub id"'
        keep(page, json.dumps({"version": VERSION, "values": {"source": str(tmp_path), "dim": 128}}))
        expect(page.get_by_role("spinbutton", name="Embedding size", include_hidden=True)).to_have_value("128")
        expect(page.locator("#rs-source input")).to_have_value("Drawn world")
        expect(page.locator("#rs-found [role=alert]")).to_have_count(0)


def test_what_is_not_installed_is_grey_and_says_how_on_demand(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.at(public.finished)) as page:
        settled(page)
        box = page.get_by_role("combobox", name="Encoder")
        shown = page.locator("#rs-encoder .rs-menuvalue")
        how = page.locator("#rs-encoder .rs-menuhow")
        box.click()
        options = page.locator("#rs-encoder [role=option]")
        assert options.evaluate_all("all => all.map((one) => one.ariaDisabled)") == [None, "true", "true", None]
        assert "pip" not in page.locator("#rs-sidebar").inner_text()
        colours = options.evaluate_all("all => all.map((one) => getComputedStyle(one).color)")
        assert colours[0] != colours[1] == colours[2]
        options.nth(2).click(force=True)  # the driver waits for what can be chosen
        expect(how).to_have_text("This encoder needs the timm library: pip install timm")
        expect(shown).to_have_text("Conv-4")
        expect(box).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Escape")
        expect(how).to_be_hidden()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(how).to_have_text("This encoder needs the timm library: pip install timm")
        active = page.locator(f"#{box.get_attribute('aria-activedescendant')}")
        assert active.get_attribute("aria-description") == f"Not installed. {how.inner_text()}"
        page.keyboard.press("Enter")
        expect(shown).to_have_text("Conv-4")
        page.keyboard.press("Home")
        page.keyboard.press("Enter")
        expect(options.first).to_be_hidden()
        assert stored(page) == {}


def test_the_menu_of_encoders_obeys_the_keys(page: Page) -> None:
    page.get_by_role("combobox", name="Encoder").focus()
    page.keyboard.type("ti")
    page.keyboard.press("Enter")
    expect(page.locator("#rs-encoder .rs-menuvalue")).to_have_text("timm model")
    expect(page.locator("#rs-encoder .rs-menupopup")).to_be_hidden()
    page.locator("#rs-encoder + * .rs-foldhead, #rs-encoder ~ .rs-fold .rs-foldhead").first.click()
    expect(page.get_by_role("textbox", name="Model")).to_have_value("resnet18")
    page.get_by_role("combobox", name="Encoder").click()
    page.locator("#rs-title").click()
    expect(page.locator("#rs-encoder .rs-menupopup")).to_be_hidden()


def test_models_of_photos_that_are_not_installed_are_grey_too(browser: Browser, public: Site) -> None:
    with visit(browser, public, public.at(public.finished)) as page:
        page.get_by_role("tab", name="Remove an object").first.click()
        expect(page.locator(".rs-choices select").nth(1).locator("option:disabled")).not_to_have_count(0)
        how = page.locator(".rs-missing")
        expect(how).to_be_hidden()
        page.get_by_text("How to get what is grey").click()
        expect(how).to_contain_text("pip install transformers")
