"""The form in the sidebar: choices, folds of parameters, a start, what is kept of it, and what strangers may not do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import open_tab, visit
from tests.browser.sidebar import FORM, choose, config, fill, images, leave_queue, named, row, shown, train, unfold
from tests.tiny import write_images
from trainers.config import MAX_ARMS
from trainers.losses import LOSSES

KEY = "rankscope-form"
_CUT = """() => [...document.querySelectorAll(".rs-setup .rs-number")].flatMap((box) => {
  const style = getComputedStyle(box);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const wide = Math.max(...["0.0001", "1e-05", "100000"].map((text) => pen.measureText(text).width));
  return box.checkVisibility() && wide <= room ? [] : [`${box.id}: ${wide} in ${room}`];
})"""
"""Boxes of numbers that cut one."""


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with visit(browser, site, site.at(site.finished)) as opened:
        drawn(opened)
        yield opened


def drawn(page: Page) -> None:
    """Wait for the form and what it says of the images, and open its folds."""
    expect(page.locator(".rs-report p").first).not_to_have_text("Looking …")
    unfold(page)


def parameter(page: Page, arm: int, label: str, value: str = "") -> str:
    """What a parameter of an arm is, once it was set to a value if there is one."""
    unfold(page)
    field = page.locator(".rs-arm").nth(arm).get_by_label(label, exact=True)
    if value:
        field.fill(value)
        field.press("Tab")
    return field.input_value()


def test_losses_are_chosen_added_and_removed_with_their_values(page: Page) -> None:
    offered = [loss for loss in LOSSES.values() if loss.alias_of is None]
    labels = named(page, "Loss 1").locator("optgroup").evaluate_all("(all) => all.map((one) => one.label)")
    assert labels == list(dict.fromkeys(loss.family for loss in offered))
    expect(named(page, "Loss 1").locator("option")).to_have_count(len(offered))
    parameter(page, 0, "Tau", "0.05")
    choose(page, "Loss 1", "SupCon")
    assert parameter(page, 0, "Temperature") == "0.1"
    choose(page, "Loss 1", "Smooth-AP")
    assert parameter(page, 0, "Tau") == "0.05"
    add = page.get_by_role("button", name="Add a loss")
    add.click()
    expect(named(page, "Loss 3")).to_be_focused()
    third = shown(page, "Loss 3")
    named(page, "Remove loss 2").click()
    assert (shown(page, "Loss 1"), shown(page, "Loss 2")) == ("Smooth-AP", third)
    expect(named(page, "Loss 3")).to_have_count(0)
    assert parameter(page, 0, "Tau") == "0.05"
    named(page, "Remove loss 2").click()
    expect(named(page, "Remove loss 1")).to_be_hidden()
    for _ in range(1, MAX_ARMS):
        add.click()
    expect(add).to_be_hidden()
    choose(page, "Kind of run", "Contrastive pretraining")  # it is changed at once
    expect(named(page, "Method 1")).to_be_visible()
    expect(named(page, "Loss 1")).to_have_count(0)
    assert page.locator(".rs-setup *").count() < 400  # folds are made when they are opened
    choose(page, "Kind of run", "Metric learning")
    choose(page, "Loss 1", "SupCon")
    page.get_by_role("button", name="Use the settings of the run on screen").click()
    expect(page.locator(".rs-go")).to_contain_text("The form holds the settings of this run.")
    assert [shown(page, f"Loss {arm}") for arm in (1, 2)] == ["Smooth-AP", "HAPPIER"]


def test_models_and_images_are_described_and_what_is_wrong_stands_under_the_button(page: Page) -> None:
    choose(page, "Encoder", "Frozen features + head")
    unfold(page)
    # nothing of the Hub is on this machine, and it is not asked
    grey = [named(page, label).locator("option:disabled") for label in ("Images", "Published, for model")]
    expect(grey[0].first).to_have_text("CIFAR-100 (not available)")
    expect(page.locator(FORM)).to_contain_text("Not on this machine, and HF_HUB_OFFLINE forbids downloads.")
    name = grey[1].locator("xpath=self::*[parent::optgroup/@label='DINOv3']").first.get_attribute("value")
    named(page, "Model").fill(str(name))
    named(page, "Model").press("Tab")
    said = "ViT-S/16: 21.6 M weights, 6.2 GMACs an image of 256 px, dinov3-license"
    expect(page.locator(FORM)).to_contain_text(said)
    alert = page.locator(".rs-go [role=alert]:visible")
    fill(page, "Budget in minutes", "-3")
    page.locator(FORM).get_by_role("button", name="Train", exact=True).click()
    expect(alert).to_contain_text("minutes needs a number above 0 and at most 10080; got -3")
    fill(page, "Budget in minutes", "90")
    page.locator(FORM).get_by_role("button", name="Train", exact=True).click()
    expect(page.locator(".rs-go")).to_contain_text("1 run, at most 1 h 30 min in all. Press the button again to begin.")
    expect(page.get_by_role("button", name="Begin", exact=True)).to_be_enabled()
    fill(page, "Budget in minutes", "3")
    expect(page.locator(FORM).get_by_role("button", name="Train", exact=True)).to_be_enabled()
    report = page.locator(".rs-report")
    images(page, "/nowhere/at/all")
    expect(report.get_by_role("alert")).to_contain_text("/nowhere/at/all")
    named(page, "Images").select_option("")
    expect(report).to_have_text("No images are chosen yet.")
    choose(page, "Images", "Drawn world")
    expect(report).to_contain_text("needs no network")


def test_numbers_are_set_by_slider_and_key_and_reach_the_run(page: Page, site: Site) -> None:
    assert page.locator(".rs-setup .rs-number").count() > 8
    assert page.evaluate(_CUT) == []
    slider, number = named(page, "Weight decay, slider"), named(page, "Weight decay")
    assert (number.input_value(), slider.get_attribute("aria-valuetext")) == ("0.0001", "0.0001")
    slider.press("Home")
    assert (number.input_value(), slider.get_attribute("aria-valuetext")) == ("0", "0")
    slider.press("ArrowRight")
    assert float(number.input_value()) == 1e-6
    slider.press("End")
    assert number.input_value() == "1"
    for typed, place in (("1e-4", 34), ("2e-9", 1), ("0", 0)):
        fill(page, "Weight decay", typed)
        assert (number.input_value(), int(slider.input_value())) == (typed, place)
    fill(page, "Seed", "41")
    choose(page, "Loss 2", "Contextual")
    fill(page, "Images per class", "5")
    parameter(page, 0, "Tau", "0.05")
    open_tab(page, "Runs")
    made = config(site, train(page))
    assert (made["weight_decay"], made["seed"]) == (0, 41)
    assert made["losses"][0] == {"name": "smooth_ap", "parameters": {"tau": 0.05}}
    expect(page.locator(".rs-go")).to_contain_text("k is 5, with 5 images per class and 32 classes. Leave k empty")
    expect(page.get_by_role("tab", name="Live")).to_have_attribute("aria-selected", "true")
    acts = row(page)
    expect(acts.locator(".rs-runstatus")).to_contain_text("in the queue")
    expect(acts.get_by_role("button", name="Pause")).to_be_hidden()
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_focused()
    leave_queue(page)
    expect(acts.get_by_role("button", name="Stop")).to_be_hidden()
    expect(acts.get_by_role("button", name="Resume")).to_be_focused()


# ---------------------------------------------------------------------- what is kept


def keep(page: Page, text: str) -> None:
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, text])
    page.reload()
    drawn(page)


def kept(**settings: object) -> str:
    return json.dumps({"version": 1, "kind": "metric_learning", "forms": {"metric_learning": {"settings": settings}}})


def test_choices_survive_a_reload_here_alone_and_go_with_the_reset(
    browser: Browser, page: Page, site: Site, tmp_path: Path
) -> None:
    folder = write_images(tmp_path / "images", train=2, test=2, each=2)
    images(page, str(folder))
    expect(page.locator(".rs-report")).to_contain_text("class")
    choose(page, "Loss 1", "SupCon")
    parameter(page, 0, "Temperature", "0.2")
    page.get_by_role("button", name="Add a loss").click()
    third = shown(page, "Loss 3")
    choose(page, "Encoder", "timm model")
    expect(named(page, "Learning rate")).to_have_value("0.0001")
    named(page, "How often").select_option("sweep")
    expect(named(page, "Maximum steps")).to_have_value("200")  # equal trainings, on a busy machine too
    expect(page.locator(".rs-plan")).to_contain_text("Each ends after 200 steps.")
    values = {"Seed": "7", "Budget in minutes": "1.5", "More metrics": "R_at_10, AP_at_5_level1"}
    values |= {"Vary": "dim", "Values 1": "32, 64"}
    for label, value in values.items():
        fill(page, label, value)
    expect(named(page, "Vary 2")).to_be_visible()
    page.reload()
    drawn(page)
    expect(page.locator(FORM).get_by_label("Hub id")).to_have_value(str(folder))
    expect(page.locator(".rs-report")).to_contain_text("class")
    assert [shown(page, label) for label in ("Loss 1", "Loss 3", "Encoder")] == ["SupCon", third, "timm model"]
    for label, value in (values | {"Temperature": "0.2", "Learning rate": "0.0001"}).items():
        expect(named(page, label).first).to_have_value(value)
    with visit(browser, site, site.at(site.finished)) as other:
        drawn(other)
        assert shown(other, "Images") == "Groceries"
        assert str(folder) not in other.content()
    page.get_by_role("button", name="Reset to defaults").click()
    unfold(page)
    first = ["Groceries", "Smooth-AP", "Frozen features + head"]
    assert [shown(page, label) for label in ("Images", "Loss 1", "Encoder")] == first
    expect(page.locator(".rs-report")).to_contain_text("Classes: 3 › 27 › 54 (category › kind › product).")
    expect(named(page, "Loss 3")).to_have_count(0)
    expect(named(page, "Learning rate")).to_have_value("0.0001")
    expect(named(page, "Image size")).to_have_value("128")
    stored = json.loads(page.evaluate("(key) => localStorage.getItem(key)", KEY))
    assert stored["forms"]["metric_learning"]["settings"] == {}
    choose(page, "Images", "Drawn world")
    expect(named(page, "Learning rate")).to_have_value("0.004")
    expect(named(page, "Image size")).to_have_value("")
    assert shown(page, "Encoder") == "Conv-4"


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
    assert [shown(page, label) for label in ("Loss 1", "Encoder")] == ["Smooth-AP", "Frozen features + head"]
    for label, value in {"Budget in minutes": "3", "Seed": "0", "Embedding size": "128"}.items():
        expect(named(page, label)).to_have_value(value)
    expect(page.locator("#rs-sidebar [role=alert]:visible")).to_have_count(0)
    keep(page, kept(**{"data.source": "<img src=x onerror='window.hacked=1'>"}))
    expect(page.locator(".rs-report [role=alert]")).to_contain_text("<img src=x")
    assert page.evaluate("window.hacked") is None
    for broken in ("no JSON", "[]", '{"version": 1, "forms": 3}', '{"version": 1, "forms": {"metric_learning": 3}}'):
        keep(page, broken)
        expect(named(page, "Embedding size")).to_have_value("")


def test_in_public_nothing_too_large_no_folder_and_nothing_that_is_not_installed_is_offered(
    browser: Browser, public: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = ("trainers.encoders.timm_models", "trainers.encoders.published", "trainers.data.hf_transformers")
    for module in modules:
        monkeypatch.setattr(f"{module}.find_spec", lambda name: None)
    with visit(browser, public, public.at(public.finished)) as page:
        expect(named(page, "Encoder")).to_be_visible()
        disabled = named(page, "Encoder").locator("option:disabled")
        expect(disabled).to_have_text(["Frozen features + head (not available)", "timm model (not available)"])
        assert "pip" not in page.locator("#rs-sidebar").inner_text()
        page.locator(FORM).get_by_text("Why some choices are grey").nth(1).click()
        expect(page.locator(FORM)).to_contain_text(
            "Frozen features + head, timm model: This encoder needs the timm library: pip install timm"
        )
        drawn(page)
        fill(page, "Classes per batch", "512")
        said = page.locator(".rs-go").get_by_role("alert").filter(has_text="images per batch at most")
        expect(said).to_be_visible()
        fill(page, "Classes per batch", "32")
        expect(said).to_have_count(0)
        named(page, "Images").select_option("")
        expect(page.locator(FORM).get_by_label("Hub id")).to_have_attribute("placeholder", "Hub id, or words")
        expect(page.get_by_text("Start from other weights")).to_have_count(0)
        keep(page, kept(**{"data.source": str(tmp_path), "dim": 128, "encoder": {"name": "timm", "parameters": {}}}))
        expect(named(page, "Embedding size")).to_have_value("128")
        expect(page.locator(".rs-report")).to_contain_text("Classes: 3 › 27 › 54 (category › kind › product).")
        assert [shown(page, label) for label in ("Images", "Encoder")] == ["Groceries", "Conv-4"]
