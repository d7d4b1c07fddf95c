"""The sidebar in a real browser: choices, folds of parameters, a start, and what is said when it cannot be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from explorer.tabs import TABS
from tests.browser.conftest import Site
from tests.browser.pages import PHONE, WIDE, open_tab, visit
from tests.browser.sidebar import FORM, choose, config, fill, images, leave_queue, named, shown, train, unfold
from trainers.config import MAX_ARMS
from trainers.losses import LOSSES

MORE = "Batch, learning rate and more"


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for tests that set what they ask about."""
    with visit(browser, site, site.at(site.finished)) as opened:
        expect(named(opened, "Loss 1")).to_be_visible()
        yield opened


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with visit(browser, site, site.at(site.finished)) as opened:
        expect(named(opened, "Loss 1")).to_be_visible()
        yield opened


def parameters(page: Page, arm: int) -> None:
    """Open the parameters of an arm."""
    page.locator(".rs-arm").nth(arm).locator("details").first.evaluate("(fold) => { fold.open = true; }")


def parameter(page: Page, arm: int, label: str) -> str:
    return page.locator(".rs-arm").nth(arm).get_by_label(label, exact=True).input_value()


def set_parameter(page: Page, arm: int, label: str, value: str) -> None:
    field = page.locator(".rs-arm").nth(arm).get_by_label(label, exact=True)
    field.fill(value)
    field.press("Tab")


def test_a_published_model_is_chosen_by_family_and_told_in_figures(opened: Page) -> None:
    choose(opened, "Encoder", "Frozen features + head")
    unfold(opened)
    menu = named(opened, "Published, for model")
    name = menu.locator("optgroup[label='DINOv3'] option").first.get_attribute("value")
    menu.select_option(name)
    expect(named(opened, "Model")).to_have_value(str(name))
    expect(opened.locator(FORM)).to_contain_text(
        "ViT-S/16: 21.6 M weights, 6.2 GMACs an image of 256 px, dinov3-license"
    )
    choose(opened, "Encoder", "Conv-4")


def test_values_survive_the_change_of_a_choice(opened: Page) -> None:
    parameters(opened, 0)
    set_parameter(opened, 0, "Tau", "0.05")
    choose(opened, "Loss 1", "SupCon")
    parameters(opened, 0)
    assert parameter(opened, 0, "Temperature") == "0.1"
    choose(opened, "Loss 1", "Smooth-AP")
    parameters(opened, 0)
    assert parameter(opened, 0, "Tau") == "0.05"


def test_losses_stand_by_family(opened: Page) -> None:
    groups = named(opened, "Loss 1").locator("optgroup")
    offered = [loss for loss in LOSSES.values() if loss.alias_of is None]
    labels = groups.evaluate_all("(all) => all.map((one) => one.label)")
    assert labels == list(dict.fromkeys(loss.family for loss in offered))
    expect(named(opened, "Loss 1").locator("option")).to_have_count(len(offered))


def test_losses_are_added_and_removed_with_their_values(page: Page) -> None:
    page.get_by_role("button", name="Add a loss").click()
    expect(named(page, "Loss 3")).to_be_focused()
    third = shown(page, "Loss 3")
    parameters(page, 0)
    parameters(page, 2)
    set_parameter(page, 0, "Tau", "0.2")
    named(page, "Remove loss 2").click()
    assert (shown(page, "Loss 1"), shown(page, "Loss 2")) == ("Smooth-AP", third)
    expect(named(page, "Loss 3")).to_have_count(0)
    parameters(page, 0)
    assert parameter(page, 0, "Tau") == "0.2"
    named(page, "Remove loss 2").click()
    expect(named(page, "Remove loss 1")).to_be_hidden()
    for _ in range(1, MAX_ARMS):
        page.get_by_role("button", name="Add a loss").click()
    expect(page.get_by_role("button", name="Add a loss")).to_be_hidden()


def test_a_slider_obeys_the_arrow_keys_and_reaches_nothing(page: Page, site: Site) -> None:
    unfold(page)
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
    made = config(site, train(page))
    assert (made["weight_decay"], made["seed"]) == (0, 41)
    leave_queue(page)


_CUT = """() => [...document.querySelectorAll(".rs-setup .rs-number")].flatMap((box) => {
  const style = getComputedStyle(box);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const wide = Math.max(...["0.0001", "1e-05", "100000"].map((text) => pen.measureText(text).width));
  return box.checkVisibility() && wide <= room ? [] : [`${box.id}: ${wide} in ${room}`];
})"""


@pytest.mark.parametrize("size", [pytest.param(WIDE, marks=pytest.mark.long), PHONE], ids=["wide", "phone"])
def test_no_number_is_cut_by_its_box(browser: Browser, site: Site, size: tuple[int, int]) -> None:
    with visit(browser, site, site.at(site.finished), size=size, touch=size == PHONE) as page:
        if size == PHONE:
            expect(page.locator("#rs-sidebar.open")).to_have_count(0)
            page.get_by_role("button", name="Toggle Sidebar").tap()
            button = page.locator(FORM).get_by_role("button", name="Train", exact=True)
            expect(button).to_be_in_viewport()
            box = button.bounding_box()
            assert box is not None and box["height"] >= 40
        unfold(page)
        expect(named(page, "Seed")).to_be_visible()
        assert page.locator(".rs-setup .rs-number").count() > 8
        assert page.evaluate(_CUT) == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]


def test_the_sidebar_shows_what_the_open_tab_starts_and_gives_place_to_the_others(opened: Page) -> None:
    for name, trains in (("Remove an object", False), ("Runs", True), ("Catalogue", False), ("Live", True)):
        open_tab(opened, name)
        expect(opened.locator("#rs-sidebar.open")).to_have_count(int(trains))
        expect(opened.locator("#rs-settings")).to_be_visible(visible=trains)
    tabs = {tab.title: tab for tab in TABS.values()}
    open_tab(opened, "Remove an object")
    opened.get_by_role("button", name="Toggle Sidebar").click()
    expect(opened.locator("#rs-aside p:visible")).to_have_text(tabs["Remove an object"].aside)
    open_tab(opened, "Live")


def test_what_is_wrong_stands_under_the_button(opened: Page) -> None:
    fill(opened, "Budget in minutes", "-3")
    opened.locator(FORM).get_by_role("button", name="Train", exact=True).click()
    alert = opened.locator(".rs-go [role=alert]:visible")
    expect(alert).to_contain_text("minutes needs a number above 0 and at most 10080; got -3")
    fill(opened, "Budget in minutes", "soon")
    opened.locator(FORM).get_by_role("button", name="Train", exact=True).click()
    expect(alert).to_contain_text("got 'soon'")


@pytest.mark.long
def test_batches_that_do_not_suit_a_loss_are_said_under_the_button(page: Page) -> None:
    choose(page, "Loss 1", "Contextual")
    unfold(page)
    fill(page, "Images per class", "5")
    train(page)
    expect(page.locator(".rs-go")).to_contain_text("k is 5, with 5 images per class and 32 classes. Leave k empty")
    leave_queue(page)


def test_train_queues_the_run_and_opens_it(page: Page, site: Site) -> None:
    expect(page.locator(".rs-actions")).to_be_hidden()  # nothing trains
    parameters(page, 0)
    set_parameter(page, 0, "Tau", "0.05")
    open_tab(page, "Runs")
    run = train(page)
    assert config(site, run)["losses"][0] == {"name": "smooth_ap", "parameters": {"tau": 0.05}}
    expect(page.get_by_role("tab", name="Live")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".rs-runstatus")).to_contain_text("in the queue")
    expect(page.locator(".rs-actions").get_by_role("button", name="Pause")).to_be_hidden()
    leave_queue(page)
    expect(page.locator(".rs-actions").get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.locator(".rs-actions").get_by_role("button", name="Resume")).to_be_visible()


def test_the_settings_of_the_run_on_screen_are_taken(page: Page, site: Site) -> None:
    wanted = config(site, site.finished.id)
    choose(page, "Loss 1", "SupCon")
    page.get_by_role("button", name="Use the settings of the run on screen").click()
    expect(page.locator(".rs-go")).to_contain_text("The form holds the settings of this run.")
    made = config(site, train(page))
    assert (made["losses"], made["data"]["source"]) == (wanted["losses"], wanted["data"]["source"])
    leave_queue(page)


def test_images_are_described_under_the_field(opened: Page) -> None:
    images(opened, "/nowhere/at/all")
    alert = opened.locator(".rs-report [role=alert]")
    expect(alert).to_contain_text("/nowhere/at/all")
    images(opened, f"/nowhere/{'x' * 80}")
    expect(alert).to_contain_text("/nowhere/xxx")
    assert alert.evaluate("(box) => box.scrollWidth <= box.clientWidth"), "a long word leaves its box"
    named(opened, "Images").select_option("")
    expect(opened.locator(".rs-report")).to_have_text("No images are chosen yet.")
    choose(opened, "Images", "Drawn world")
    expect(opened.locator(".rs-report")).to_contain_text("needs no network")


def test_arrow_keys_move_among_the_tabs(opened: Page) -> None:
    tabs = opened.get_by_role("tab")
    tabs.first.focus()
    for key, tab in (("ArrowRight", tabs.nth(1)), ("End", tabs.last), ("ArrowRight", tabs.first)):
        opened.keyboard.press(key)
        expect(tab).to_be_focused()


def test_a_kind_of_run_is_changed_at_once(opened: Page) -> None:
    choose(opened, "Kind of run", "Contrastive pretraining")
    expect(named(opened, "Method 1")).to_be_visible()
    expect(named(opened, "Loss 1")).to_have_count(0)
    assert opened.locator(".rs-setup *").count() < 400  # folds are made when they are opened
    choose(opened, "Kind of run", "Metric learning")
    expect(named(opened, "Loss 1")).to_be_visible()
