"""The sidebar in a real browser: choices, folds of parameters, a start, and what is said when it cannot be."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from explorer.tabs import TABS
from tests.browser.conftest import Site
from tests.browser.pages import PHONE, WIDE, visit
from trainers.config import MAX_ARMS


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for tests that set what they ask about."""
    with visit(browser, site, site.at(site.finished)) as opened:
        expect(opened.locator("#rs-pause")).to_have_attribute("data-followed", "yes")
        yield opened


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with visit(browser, site, site.at(site.finished)) as opened:
        expect(opened.locator("#rs-pause")).to_have_attribute("data-followed", "yes")
        yield opened


def fold(page: Page, slot: int) -> None:
    head = page.locator(f".rs-slot-{slot}").get_by_role("button", name="Parameters")
    if head.get_attribute("aria-expanded") != "true":
        head.click()


def choose(page: Page, slot: int, title: str) -> None:
    field = page.locator(f".rs-slot-{slot} .rs-loss input")
    field.click()
    field.fill(title)
    field.press("Enter")


def loss(page: Page, slot: int) -> str:
    return page.locator(f".rs-slot-{slot} .rs-loss input").input_value()


def test_values_survive_the_change_of_a_choice(opened: Page):
    page = opened
    fold(page, 0)
    number = page.locator(".rs-slot-0 .rs-log-number").first
    number.fill("0.05")
    number.press("Tab")
    choose(page, 0, "SupCon")
    expect(page.locator(".rs-slot-0")).to_contain_text("Temperature")
    choose(page, 0, "Smooth-AP")
    expect(page.locator(".rs-slot-0").get_by_text("Tau")).to_be_visible()
    expect(page.locator(".rs-slot-0 .rs-log-number").first).to_have_value("0.05")


def test_losses_are_added_and_removed(page: Page):
    page.get_by_role("button", name="Add a loss").click()
    expect(page.locator(".rs-slot-2")).to_be_visible()
    third = loss(page, 2)
    fold(page, 1)
    page.locator(".rs-slot-1").get_by_role("button", name="Remove this loss").click()
    expect(page.locator(".rs-slot-2")).to_be_hidden()
    expect(page.locator(".rs-slot-1 .rs-loss input")).to_have_value(third)


@pytest.mark.long
def test_losses_are_added_until_there_are_as_many_as_may_be(page: Page):
    for slot in range(2, MAX_ARMS):
        page.get_by_role("button", name="Add a loss").click()
        expect(page.locator(f".rs-slot-{slot}")).to_be_visible()
    expect(page.get_by_role("button", name="Add a loss")).to_be_hidden()


def test_a_logarithmic_slider_obeys_the_arrow_keys(opened: Page):
    page = opened
    fold(page, 0)
    number = page.locator(".rs-slot-0 .rs-log-number").first
    number.fill("0.01")
    number.press("Tab")
    slider = page.locator(".rs-slot-0 .rs-log-range").first
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    assert float(number.input_value()) == pytest.approx(0.02, abs=0.002)
    assert slider.get_attribute("aria-valuetext") == number.input_value()


def test_a_number_typed_the_instant_a_fold_opens_is_kept(page: Page, site: Site):
    page.evaluate(
        """() => {
          [...document.querySelectorAll(".rs-foldhead")].at(-1).click();
          const seed = document.querySelector("[aria-label='Seed']");
          seed.value = "41";
          seed.dispatchEvent(new InputEvent("input", { bubbles: true }));
          document.querySelector("#rs-train").click();
        }"""
    )
    page.wait_for_function(f"window.rankscope.current() !== '{site.finished.id}'")
    config = json.loads((site.root / page.evaluate("window.rankscope.current()") / "config.json").read_text())
    assert config["seed"] == 41
    page.locator("#rs-stop").click()
    expect(page.locator("#rs-said")).to_contain_text("It left the queue.")


def test_a_removed_loss_leaves_no_values_behind(page: Page):
    choose(page, 1, "Smooth-AP")
    fold(page, 0)
    fold(page, 1)
    for slot, value in ((0, "0.05"), (1, "0.2")):
        number = page.locator(f".rs-slot-{slot} .rs-log-number").first
        number.fill(value)
        number.press("Tab")
    page.locator(".rs-slot-0").get_by_role("button", name="Remove this loss").click()
    expect(page.locator(".rs-slot-1")).to_be_hidden()
    expect(page.locator(".rs-slot-0 .rs-log-number").first).to_have_value("0.2")


def test_weight_decay_slides_to_exactly_nothing(page: Page, site: Site):
    page.get_by_role("button", name="Batch, learning rate and more").click()
    slider = page.get_by_role("slider", name="Weight decay, slider")
    number = page.get_by_role("spinbutton", name="Weight decay")
    assert (number.input_value(), slider.get_attribute("aria-valuetext")) == ("0.0001", "0.0001")
    slider.press("Home")
    assert (number.input_value(), slider.get_attribute("aria-valuetext")) == ("0", "0")
    slider.press("ArrowRight")
    assert float(number.input_value()) == 1e-6
    slider.press("End")
    assert number.input_value() == "1"
    for typed, place in (("1e-4", 34), ("0", 0), ("2e-9", 1)):
        number.fill(typed)
        number.press("Tab")
        assert float(number.input_value()) == float(typed)
        assert int(slider.input_value()) == place
    number.fill("0")
    number.press("Tab")
    page.locator("#rs-train").click()
    page.wait_for_function(f"window.rankscope.current() !== '{site.finished.id}'")
    config = json.loads((site.root / page.evaluate("window.rankscope.current()") / "config.json").read_text())
    assert config["weight_decay"] == 0
    page.locator("#rs-stop").click()
    expect(page.locator("#rs-said")).to_contain_text("It left the queue.")


_CUT = """() => [...document.querySelectorAll("#rs-sidebar input[type=number]")].flatMap((box) => {
  const style = getComputedStyle(box);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const tall = box.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  const frame = box.getBoundingClientRect();
  let seen = true;
  for (let outer = box.parentElement; outer && outer.id !== "rs-sidebar"; outer = outer.parentElement) {
    if (getComputedStyle(outer).overflowX === "visible") continue;
    const edge = outer.getBoundingClientRect();
    if (frame.left < edge.left - 0.5 || frame.right > edge.right + 0.5) seen = false;
  }
  const wide = Math.max(...["0.0001", "1e-05", "100000", "1000000"].map((text) => pen.measureText(text).width));
  const fits = seen && box.checkVisibility() && wide <= room && tall >= parseFloat(style.fontSize);
  return fits ? [] : [`${box.ariaLabel}: ${wide} in ${room}, ${tall} tall`];
})"""


@pytest.mark.parametrize("size", [pytest.param(WIDE, marks=pytest.mark.long), PHONE], ids=["wide", "phone"])
def test_no_number_is_cut_by_its_box(browser: Browser, site: Site, size: tuple[int, int]):
    with visit(browser, site, site.at(site.finished), size=size, touch=size == PHONE) as page:
        if size == PHONE:
            page.get_by_role("button", name="Toggle Sidebar").tap()
        expect(page.locator(".rs-slot-1 input[type=number]").first).to_be_attached()
        page.evaluate("() => document.querySelectorAll('.rs-foldhead').forEach((head) => head.click())")
        expect(page.get_by_role("spinbutton", name="Seed")).to_be_visible()
        assert page.locator("#rs-sidebar input[type=number]").count() > 15
        assert page.evaluate(_CUT) == []


def test_the_box_of_images_says_what_it_takes(opened: Page):
    page = opened
    box = page.locator("#rs-source input")
    assert box.get_attribute("placeholder") == "Type a Hub id, or a folder"
    inside = page.locator("#rs-source .container > .wrap")
    assert inside.evaluate("(node) => getComputedStyle(node, '::after').content") == '"or type a Hub id, or a folder"'
    assert inside.evaluate("(node) => node.scrollHeight <= node.clientHeight + 1")


def test_the_sidebar_shows_what_the_open_tab_starts(opened: Page):
    page = opened
    settings, go = page.locator("#rs-setup"), page.locator("#rs-go")
    for name, trains in (("Remove an object", False), ("Runs", True), ("Catalogue", False), ("Live", True)):
        page.get_by_role("tab", name=name).first.click()
        expect(settings).to_be_visible(visible=trains)
        expect(go).to_be_visible(visible=trains)
        asides = page.locator("#rs-aside p:visible")
        expect(asides).to_have_count(0 if trains else 1)
    tabs = {tab.title: tab for tab in TABS.values()}
    page.get_by_role("tab", name="Remove an object").first.click()
    expect(page.locator("#rs-aside p:visible")).to_have_text(tabs["Remove an object"].aside)
    assert "Losses" not in page.locator("#rs-sidebar").inner_text()
    page.get_by_role("tab", name="Live").first.click()


def test_what_is_wrong_stands_under_the_button(opened: Page):
    page = opened
    minutes = page.get_by_label("Budget in minutes")
    minutes.fill("-3")
    minutes.press("Tab")
    page.locator("#rs-train").click()
    expect(page.locator("#rs-note [role=alert]")).to_contain_text(
        "minutes needs a number above 0 and at most 10080; got -3"
    )


@pytest.mark.long
def test_batches_that_do_not_suit_a_loss_are_said_under_the_button(page: Page):
    choose(page, 0, "Contextual")
    page.get_by_role("button", name="Batch, learning rate and more").click()
    images = page.get_by_role("spinbutton", name="Images per class")
    images.fill("5")
    images.press("Tab")
    page.locator("#rs-train").click()
    expect(page.locator("#rs-note")).to_contain_text("k is 5, with 5 images per class and 32 classes. Leave k empty")
    page.locator("#rs-stop").click()
    expect(page.locator("#rs-said")).to_contain_text("It left the queue.")


def test_train_queues_the_run_and_opens_it(page: Page, site: Site):
    fold(page, 0)
    number = page.locator(".rs-slot-0 .rs-log-number").first
    number.fill("0.05")
    number.press("Tab")
    page.get_by_role("tab", name="Runs").click()
    page.locator("#rs-train").click()
    page.wait_for_function(f"window.rankscope.current() !== '{site.finished.id}'")
    run_id = page.evaluate("window.rankscope.current()")
    config = json.loads((site.root / run_id / "config.json").read_text())
    assert config["losses"][0] == {"name": "smooth_ap", "parameters": {"tau": 0.05}}
    expect(page.get_by_role("tab", name="Live")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#rs-pause")).to_be_disabled()
    expect(page.locator("#rs-status")).to_contain_text("in the queue")
    page.locator("#rs-stop").click()
    expect(page.locator("#rs-said")).to_contain_text("It left the queue.")
    expect(page.locator("#rs-stop")).to_be_disabled()
    expect(page.locator("#rs-resume")).to_be_enabled()


def test_a_finished_run_says_why_it_cannot_be_paused(opened: Page):
    page = opened
    for button in ("#rs-pause", "#rs-stop"):
        expect(page.locator(button)).to_be_disabled()
    expect(page.locator("#rs-status")).to_contain_text("cannot be paused or stopped")


def test_unreadable_images_are_explained_under_the_field(opened: Page):
    page = opened
    field = page.locator("#rs-source input")
    field.click()
    field.fill("/nowhere/at/all")
    field.press("Enter")
    alert = page.locator("#rs-found [role=alert]")
    expect(alert).to_contain_text("/nowhere/at/all")
    field.click()
    field.fill(f"/nowhere/{'x' * 80}")
    field.press("Enter")
    expect(alert).to_contain_text("/nowhere/xxx")
    assert alert.evaluate("(box) => box.scrollWidth <= box.clientWidth"), "a long word leaves its box"


def test_on_a_phone_the_settings_are_closed_at_first(browser: Browser, site: Site):
    with visit(browser, site, site.at(site.finished), size=PHONE, touch=True) as page:
        expect(page.locator("#rs-sidebar.open")).to_have_count(0)
        page.get_by_role("button", name="Toggle Sidebar").tap()
        expect(page.locator("#rs-train")).to_be_in_viewport()
        assert page.locator("#rs-train").bounding_box()["height"] >= 44
