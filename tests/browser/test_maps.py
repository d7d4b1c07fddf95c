"""The maps: drawn, linked, chosen by mouse, key and lasso, and true to what they say; without WebGL as well."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from explorer.tabs import TABS
from tests.browser.conftest import Site
from tests.browser.pages import PHONE, downloaded, fits, hover, lasso, place, rest, show, state, until, visit
from tests.synthetic import make_run
from trainers.metrics.catalogue import maps
from trainers.runs import RunFolder
from trainers.runs.records import REFINED, Attribute, Frame

FLOOR = 0.2
_RING = """([arm, i]) => {
  const d = window.debug, [x, y] = d.place(arm, i);
  const round = [...Array(24).keys()].map((n) => n * Math.PI / 12);
  return round.filter((a) => { const p = d.pixel(x + 9 * Math.cos(a), y + 9 * Math.sin(a));
    return p[3] > 150 && p[0] + p[1] + p[2] < 150; }).length;
}"""
"""Number of dark pixels around a point's place: the ring that marks a chosen image."""
_LONELY = """() => {
  const d = window.debug, at = [...Array(600).keys()].map((i) => d.place(0, i));
  const far = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
  const gap = (i) => Math.min(...at.map((p, j) => (j === i ? 1e9 : far(p, at[i]))));
  const free = at.map((_, i) => i).filter((i) => !document.elementFromPoint(...at[i])?.closest("button"));
  return free.reduce((best, i) => gap(i) > gap(best) ? i : best, free[0]);
}"""
"""A point that no other covers on the first map, and no badge or button, so that a click there means it."""
_LOUD = "() => window.debug.painted(0, 200)"
"""Share of strongly painted pixels on the first map."""


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for the tests that begin on the last frame with everything in view."""
    with visit(browser, site, site.at(site.finished), motion="no-preference") as page:
        yield page


@pytest.fixture
def page(opened: Page, site: Site) -> Page:
    """That page at rest: whole maps, nothing chosen by hand, no filter, no lasso."""
    show(opened, site.finished, "(s.k === 0 || s.playing)")  # it is opened anew and played from its start
    rest(opened)
    opened.evaluate("scrollTo(0, 0)")  # a tile that was pointed at may have scrolled the maps away
    opened.mouse.move(0, 0)
    until(opened, "s.hovered === null && s.zoom === 1 && s.lassoed === 0")
    return opened


@pytest.mark.parametrize("renderer", ["webgl2", "2d"])
def test_a_finished_run_is_drawn_plays_once_and_rests(browser: Browser, site: Site, renderer: str) -> None:
    url = site.at(site.finished, f"&renderer={renderer}")
    with visit(browser, site, url, motion="no-preference") as page:
        until(page, "s.playing && s.renderer === a", renderer)
        until(page, "window.debug.painted(0) > 0.005 && window.debug.painted(1) > 0.005")
        expect(page.locator("canvas")).to_have_count(1)
        assert page.locator(".rs-value").first.text_content() != ""
        until(page, "!s.playing && s.k === 5")
        expect(page.get_by_role("button", name="Play again")).to_be_visible()
        if renderer == "2d":
            return
        page.evaluate("() => { window.gone = window.debug.lose(); window.gone.loseContext(); }")
        page.wait_for_function("() => window.debug.painted(0) === 0")
        page.evaluate("() => window.gone.restoreContext()")
        page.wait_for_function("() => window.debug.painted(0) > 0.005")


def test_an_image_is_pointed_at_and_chosen_on_every_map_with_its_neighbours(page: Page) -> None:
    point = page.evaluate(_LONELY)
    hover(page, 0, point)
    expect(page.locator(".rs-hover")).to_be_visible()
    assert f"product {point % 24}" in (page.locator(".rs-hover").text_content() or "")
    before = page.evaluate(_RING, [1, point])
    page.mouse.click(*place(page, 0, point))
    until(page, "s.chosen === a && s.neighbours === a", point)
    page.wait_for_function("() => document.querySelectorAll('.rs-row .rs-tile[data-severity]').length === 20")
    assert page.evaluate(_RING, [1, point]) > before  # the same image is ringed on the other map
    tile = page.locator(".rs-row .rs-tile").first
    assert "Rank 1" in (tile.get_attribute("aria-label") or "")
    assert tile.locator(".rs-mark").text_content() in "✓≈~✕"
    tile.hover()
    until(page, "s.hovered !== null")
    assert page.locator(".rs-tile.rs-same").count() >= 1
    tile.click()
    until(page, "s.chosen !== a", point)


def test_zoom_and_pan_are_linked_and_reset(page: Page) -> None:
    apart = place(page, 1, 5)[0] - place(page, 1, 80)[0]
    x, y = place(page, 0, 5)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -600)
    until(page, "s.zoom > 2")
    # the other map zooms by the same factor
    assert place(page, 1, 5)[0] - place(page, 1, 80)[0] == pytest.approx(apart * state(page)["zoom"], rel=0.01)
    assert place(page, 0, 5) == pytest.approx((x, y), abs=2)
    page.mouse.wheel(0, -600)
    until(page, "s.zoom > 4")
    # and is centred on the images that are in view in the first one
    held = state(page)["held"]
    box = page.locator(".rs-plot").nth(1).bounding_box()
    assert 5 in held and box is not None
    middle = [sorted(at)[len(held) // 2] for at in zip(*(place(page, 1, i) for i in held), strict=True)]
    assert middle == pytest.approx([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2], abs=2)
    before = place(page, 0, 5)
    page.mouse.down()
    page.mouse.move(x + 40, y + 25, steps=4)
    page.mouse.up()
    assert place(page, 0, 5) == pytest.approx((before[0] + 40, before[1] + 25), abs=2)
    page.mouse.dblclick(x, y)
    until(page, "s.zoom === 1 && s.held.length === 0")
    # zoomed far enough it shows images in place of dots
    images = page.locator(".rs-plot").first.locator(".rs-sprite:visible")
    expect(images).to_have_count(0)
    page.mouse.move(*place(page, 0, page.evaluate(_LONELY)))
    for _ in range(4):
        page.mouse.wheel(0, -800)
    until(page, "s.zoom > 20")
    images.first.wait_for()
    assert images.count() <= 40
    page.get_by_role("button", name="Show everything").click()
    page.wait_for_function("() => !document.querySelector('.rs-sprite:not([hidden])')")


def test_the_maps_can_be_walked_with_the_keyboard(page: Page) -> None:
    page.locator(".rs-plot").nth(1).focus()
    chosen = state(page)["chosen"]
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):  # at an edge some lead nowhere
        page.keyboard.press(key)
        hovered = state(page)["hovered"]
        if hovered not in (None, chosen):
            break
    assert hovered not in (None, chosen)
    expect(page.locator("[aria-live=polite].rs-unseen")).to_contain_text(f"Image {hovered + 1}")
    for key, then in (
        ("Enter", f"s.chosen === {hovered}"),
        ("Escape", "s.chosen === null && s.hovered === null"),
        ("+", "s.zoom > 1"),
        ("0", "s.zoom === 1"),
    ):
        page.keyboard.press(key)
        until(page, then)


def test_a_lasso_collects_images_and_saves_where_they_come_from(page: Page) -> None:
    lasso(page)
    until(page, "s.lassoed === 600")
    expect(page.get_by_role("heading", name="in the lasso")).to_contain_text("600 images")
    panel = page.get_by_role("region", name="Images in the lasso")
    panel.get_by_label("Tag", exact=True).fill("odd ones")
    panel.get_by_role("button", name="Tag", exact=True).click()
    lines = downloaded(panel.get_by_role("button", name="Download (CSV)")).decode().splitlines()
    assert lines[:2] == ["point,split,row,product,kind,aisle,tags", "0,test,0,product 0,kind 0,aisle 0,odd ones"]
    assert len(lines) == 601
    panel.get_by_role("button", name="Clear").click()
    until(page, "s.lassoed === 0")
    page.reload()
    until(page, "!s.moving && s.neighbours !== null")
    rest(page)
    panel.get_by_role("button", name="odd ones · 600", exact=True).click()
    until(page, "s.lassoed === 600")
    names = page.locator(".rs-taglabels .rs-classlabel:visible")
    expect(names).to_have_text(["odd ones"] * 2)
    for count in (0, 2):
        panel.get_by_role("button", name="On the maps").click()
        expect(names).to_have_count(count)
    panel.get_by_role("button", name="Mistakes of these").click()
    counted = page.get_by_role("region", name="What is compared")
    expect(counted).to_contain_text("Only the 600 selected images are queries.")
    counted.get_by_role("button", name="All images").click()
    expect(counted).not_to_contain_text("selected")
    page.get_by_role("tab", name="Live").first.click()
    panel.get_by_role("button", name="Remove the tag odd ones").click()
    expect(names).to_have_count(0)
    panel.get_by_role("button", name="Clear").click()
    expect(panel).to_be_hidden()


def test_levels_colour_and_classes_filter(page: Page) -> None:
    page.get_by_role("button", name="aisle", exact=True).click()
    until(page, "s.level === 2")
    whole = page.evaluate(_LOUD)
    aisle = page.locator(".rs-classes button", has_text="aisle 1")
    assert "200" in (aisle.text_content() or "")
    aisle.click()
    expect(page.locator('.rs-classes [aria-pressed="true"]')).to_have_count(1)
    page.wait_for_function(f"(whole) => ({_LOUD})() < whole / 2", arg=whole)
    aisle.click()
    page.wait_for_function(f"(whole) => ({_LOUD})() === whole", arg=whole)
    page.get_by_role("button", name="product", exact=True).click()
    page.get_by_role("button", name="+12 more").click()
    page.get_by_role("searchbox", name="Find a class").fill("23")
    expect(page.locator(".rs-classes button")).to_have_count(1)


@pytest.mark.long
def test_on_a_phone_the_maps_stack_and_nothing_overflows(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished), size=PHONE, touch=True, motion="no-preference") as page:
        rest(page)
        fits(page)
        ends = [tab.bounding_box() for tab in page.locator("#rs-tabs > .tab-wrapper [role=tab]").all()]
        assert len(ends) == len(TABS) and all(box and box["x"] + box["width"] <= PHONE[0] for box in ends)
        first, second = (page.locator(".rs-plot").nth(arm).bounding_box() for arm in (0, 1))
        assert first and second and second["x"] == first["x"]
        assert second["y"] > first["y"] + first["height"]
        point = page.evaluate(_LONELY)
        page.locator(".rs-plot").first.scroll_into_view_if_needed()
        page.touchscreen.tap(*place(page, 0, point))
        until(page, "s.chosen === a", point)
        small = page.evaluate(
            """() => [...document.querySelectorAll('.rs-live button:not(.rs-word)')].filter((b) => b.offsetParent)
              .map((b) => [b.textContent || b.ariaLabel, b.getBoundingClientRect().height]).filter(([, h]) => h < 44)"""
        )
        assert small == []


def moved_a_little_and_refined(site: Site) -> RunFolder:
    """Two frames and a refined one; between the first two, images 0..29 move by less than the floor, others by more."""
    folder = make_run(site.root, points=60, frames=2, arms=1)
    first = folder.frame(0)
    xy = first.arms[0].xy.astype(np.int64)
    size = np.sqrt(xy.var(axis=0).mean())
    moved = xy + np.array([1, 0]) * (np.where(np.arange(60) < 30, 0.5, 1.5) * FLOOR * size)[:, None]
    shifted = xy + np.array([0, round(0.05 * size)])
    for k, places, floor in ((0, xy, None), (1, moved, FLOOR), (REFINED + 1, shifted, None)):
        folder.add_frame(_frame(first, k, places, floor))
    return folder


def _frame(frame: Frame, k: int, xy: np.ndarray, floor: float | None) -> Frame:
    measures = {
        maps.at_level(maps.TRUSTWORTHINESS, 0): 0.93,
        maps.at_level(maps.CONTINUITY, 0): 0.55 + k % REFINED / 100,
    }
    more = {} if floor is None else {maps.NOISE_FLOOR: floor, maps.AGREEMENT: 0.31}
    arm = dataclasses.replace(frame.arms[0], xy=np.clip(xy, 0, 65535).astype(np.uint16), measures=measures | more)
    return dataclasses.replace(frame, k=k, arms=(arm,))


def _at(page: Page, point: int) -> list[float]:
    """Where a point is on the first map, in its own unit, which does not change when the map is fitted anew."""
    at: list[float] = page.evaluate("(i) => window.rankscope.live.maps.scene.at(0, i, performance.now())", point)
    return at


def test_a_map_says_what_is_true_of_it_and_shows_classes(browser: Browser, site: Site) -> None:
    folder = moved_a_little_and_refined(site)
    with visit(browser, site, site.at(folder, "&k=0")) as page:
        until(page, "s.k === 0")
        truth = page.locator(".rs-truth")
        expect(truth).to_contain_text("0.93")
        page.locator(".rs-truthbadge").first.focus()
        expect(page.get_by_text("Classes look further apart than they are")).to_be_visible()
        before = [_at(page, i) for i in (3, 45)]
        page.get_by_role("button", name="One frame on").click()
        until(page, "s.k === 1")
        after = [_at(page, i) for i in (3, 45)]
        assert after[0] == before[0] and after[1][0] > before[1][0]
        expect(truth).to_contain_text("0.31")
        # a jump shows the frame as it is stored
        page.get_by_role("slider", name="Frame").press("End")
        until(page, "s.k === a", REFINED + 1)
        expect(page.locator(".rs-steptext")).to_contain_text("refined")
        expect(truth).to_contain_text("(±0.00)")
        page.get_by_role("button", name="One frame back").click()
        until(page, "s.k === 1")
        assert _at(page, 3)[0] > before[0][0]
        rest(page)
        # classes: each at the mean of its images
        members = [i for i, label in enumerate(folder.probe().labels[:, state(page)["level"]]) if label == 0]
        mean = np.mean([place(page, 0, i) for i in members], axis=0)
        page.get_by_role("button", name="Classes").click()
        assert np.allclose(place(page, 0, 0), mean, atol=0.01)
        page.mouse.move(*place(page, 0, 0))
        expect(page.locator(".rs-hover")).to_contain_text(f"{len(members)} images")
        assert page.locator(".rs-classlabel:not([hidden])").count() > 3
        page.mouse.click(*place(page, 0, 0))
        until(page, "s.lassoed === a", len(members))
        expect(page.get_by_role("heading", name=f"{len(members)} images of")).to_be_visible()
        page.locator(".rs-plot").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        until(page, "s.lassoed > 0")
        page.get_by_role("button", name="Images", exact=True).click()
        page.get_by_role("button", name="Class names").click()
        expect(page.locator(".rs-classlabel:not([hidden])")).to_have_count(0)


def test_wrong_labels_are_ringed_named_and_coloured(browser: Browser, site: Site) -> None:
    """Every fifth of 60 images was given the class after its own."""
    folder = make_run(site.root, points=60, frames=2, arms=1, seed=8)
    probe = folder.probe()
    assert probe is not None
    names, true = probe.hierarchy.names[0], probe.labels[:, 0]
    changed = np.arange(60) % 5 == 0
    noise = Attribute(name="label noise", names=("kept", "changed"), values=changed.astype(np.int32), ringed=1)
    given = np.where(changed, (true + 1) % len(names), true)
    attributes = (noise, Attribute(name="given product", names=names, values=given, level=0))
    folder.write_probe(dataclasses.replace(probe, attributes=attributes, part="train", sheets=0), ())
    with visit(browser, site, site.at(folder)) as page:
        rest(page)
        legend, images = page.locator(".rs-legend"), "window.rankscope.live.images"
        expect(legend.locator(".rs-ringed")).to_have_text("ringed: label noise changed, 12 of 60 images")
        rings = "marks(0, (i) => [i, 0], 8).filter((one) => one.size === 11).map(({ x }) => x)"
        assert page.evaluate(f"{images}.{rings}") == list(range(0, 60, 5))
        page.mouse.move(*place(page, 0, 10))
        until(page, "s.hovered !== null")
        page.evaluate("window.rankscope.live.float(0, 10)")
        card = page.locator(".rs-hover")
        expect(card).to_contain_text("label noise: changed · given product: ")
        expect(card.locator("strong")).to_have_text(names[10])
        expect(card).to_contain_text(names[11])
        page.get_by_role("button", name="given product").click()
        assert page.evaluate("window.rankscope.live.legend.classes.names") == list(names)
        legend.get_by_role("button").filter(has_text=names[11]).first.click()
        shown = page.evaluate(f"[...Array(60).keys()].filter((i) => {images}.highlighted(i))")
        assert 10 in shown and 11 in shown
        kept = page.evaluate(f"{images}.ringed.filter((i) => {images}.highlighted(i))")
        assert kept == [i for i in shown if i % 5 == 0]
