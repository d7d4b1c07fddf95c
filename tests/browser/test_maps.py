"""The maps: drawn, linked, chosen by mouse, key and lasso; the same without WebGL and after losing it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from explorer.tabs import TABS
from tests.browser.conftest import Site
from tests.browser.pages import PHONE, hover, lasso, place, rest, state, until, visit


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for the tests that begin on the last frame with everything in view."""
    with visit(browser, site, site.at(site.finished), motion="no-preference") as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    """That page at rest: whole maps, nothing chosen by hand, no filter, no lasso."""
    opened.evaluate("(id) => window.rankscope.open(id)", state(opened)["run"])
    until(opened, "s.k === 0 || s.playing")  # the run is opened anew and played from its start
    rest(opened)
    opened.evaluate("scrollTo(0, 0)")  # a tile that was pointed at may have scrolled the maps away
    opened.mouse.move(0, 0)
    until(opened, "s.hovered === null && s.zoom === 1 && s.lassoed === 0")
    return opened


def _lonely(page: Page) -> int:
    """A point that no other covers on the first map, and no badge or button, so that a click there means it."""
    return page.evaluate(
        """() => {
          const d = window.debug, at = [...Array(600).keys()].map((i) => d.place(0, i));
          const far = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
          const gap = (i) => Math.min(...at.map((p, j) => (j === i ? 1e9 : far(p, at[i]))));
          const free = at.map((_, i) => i).filter((i) => !document.elementFromPoint(...at[i])?.closest("button"));
          return free.reduce((best, i) => gap(i) > gap(best) ? i : best, free[0]);
        }"""
    )


def drawn(page: Page, renderer: str) -> None:
    """Check that both maps are drawn, by this renderer, on one canvas."""
    assert state(page)["renderer"] == renderer
    until(page, "window.debug.painted(0) > 0.005 && window.debug.painted(1) > 0.005")
    expect(page.locator("canvas")).to_have_count(1)
    assert page.locator(".rs-value").first.text_content() != ""


def test_the_first_frame_is_drawn(page: Page) -> None:
    drawn(page, "webgl2")


def test_the_first_frame_is_drawn_without_webgl(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished, "&renderer=2d"), motion="no-preference") as page:
        drawn(page, "2d")


def test_a_finished_run_plays_once_and_rests_on_its_last_frame(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished), motion="no-preference") as page:
        until(page, "s.playing")
        until(page, "!s.playing && s.k === 5")
        expect(page.get_by_role("button", name="Play again")).to_be_visible()


def test_reduced_motion_shows_the_last_frame_at_once(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished), motion="reduce") as page:
        assert state(page)["k"] == 5
        assert not state(page)["playing"]
        page.get_by_role("button", name="One frame back").click()
        until(page, "s.k === 4")
        assert not state(page)["moving"]


def test_a_click_chooses_the_point_on_every_map_and_brings_its_neighbours(page: Page) -> None:
    point = _lonely(page)
    before = _ring(page, 1, point)
    page.mouse.click(*place(page, 0, point))
    until(page, "s.chosen === a && s.neighbours === a", point)
    page.wait_for_function("() => document.querySelectorAll('.rs-row .rs-tile[data-severity]').length === 20")
    assert _ring(page, 1, point) > before  # the same image is ringed on the other map
    tile = page.locator(".rs-row .rs-tile").first
    assert "Rank 1" in (tile.get_attribute("aria-label") or "")
    assert tile.locator(".rs-mark").text_content() in "✓≈~✕"
    tile.hover()
    until(page, "s.hovered !== null")
    assert page.locator(".rs-tile.rs-same").count() >= 1
    tile.click()
    until(page, "s.chosen !== a", point)


def _ring(page: Page, arm: int, point: int) -> int:
    """Number of dark pixels around a point's place: the ring that marks a chosen image."""
    return page.evaluate(
        """([arm, i]) => {
          const d = window.debug, [x, y] = d.place(arm, i);
          const round = [...Array(24).keys()].map((n) => n * Math.PI / 12);
          return round.filter((a) => { const p = d.pixel(x + 9 * Math.cos(a), y + 9 * Math.sin(a));
            return p[3] > 150 && p[0] + p[1] + p[2] < 150; }).length;
        }""",
        [arm, point],
    )


def test_zoom_and_pan_are_linked_and_reset(page: Page) -> None:
    apart = place(page, 1, 5)[0] - place(page, 1, 80)[0]
    x, y = place(page, 0, 5)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -600)
    until(page, "s.zoom > 2")
    zoom = state(page)["zoom"]
    # the other map zooms by the same factor
    assert place(page, 1, 5)[0] - place(page, 1, 80)[0] == pytest.approx(apart * zoom, rel=0.01)
    assert place(page, 0, 5) == pytest.approx((x, y), abs=2)
    page.mouse.down()
    page.mouse.move(x + 40, y + 25, steps=4)
    page.mouse.up()
    assert place(page, 0, 5) == pytest.approx((x + 40, y + 25), abs=2)
    page.mouse.dblclick(x, y)
    until(page, "s.zoom === 1 && s.centre[0] === 0 && s.centre[1] === 0")


def test_a_zoomed_map_shows_images_instead_of_dots(page: Page) -> None:
    images = page.locator(".rs-plot").first.locator(".rs-sprite:visible")
    expect(images).to_have_count(0)
    page.mouse.move(*place(page, 0, _lonely(page)))
    for _ in range(4):
        page.mouse.wheel(0, -800)
    until(page, "s.zoom > 20")
    images.first.wait_for()
    assert images.count() <= 40
    page.get_by_role("button", name="Show everything").click()
    page.wait_for_function("() => !document.querySelector('.rs-sprite:not([hidden])')")


def test_hover_shows_the_image_and_its_classes(page: Page) -> None:
    point = _lonely(page)
    hover(page, 0, point)
    card = page.locator(".rs-hover")
    expect(card).to_be_visible()
    assert f"product {point % 24}" in (card.text_content() or "")


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
    page.keyboard.press("Enter")
    until(page, "s.chosen === a", hovered)
    page.keyboard.press("Escape")
    until(page, "s.chosen === null && s.hovered === null")
    page.keyboard.press("+")
    until(page, "s.zoom > 1")
    page.keyboard.press("0")
    until(page, "s.zoom === 1")


def test_a_lasso_collects_images_and_saves_where_they_come_from(page: Page) -> None:
    lasso(page)
    until(page, "s.lassoed === 600")
    expect(page.get_by_role("heading", name="in the lasso")).to_contain_text("600 images")
    panel = page.get_by_role("region", name="Images in the lasso")
    panel.get_by_label("Tag", exact=True).fill("odd ones")
    panel.get_by_role("button", name="Tag", exact=True).click()
    with page.expect_download() as saved:
        panel.get_by_role("button", name="Download (CSV)").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0] == "point,split,row,product,kind,aisle,tags"
    assert lines[1] == "0,test,0,product 0,kind 0,aisle 0,odd ones"
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
    panel.get_by_role("button", name="On the maps").click()
    expect(names).to_have_count(0)
    panel.get_by_role("button", name="On the maps").click()
    expect(names).to_have_count(2)
    panel.get_by_role("button", name="Retrieve with these").click()
    asking = page.get_by_role("region", name="The image to search with")
    expect(asking).to_contain_text("Only the 600 selected images are offered.")
    expect(asking).to_contain_text("1 of 600")
    asking.get_by_label("Search with an image of").fill("product 23")
    expect(asking).to_contain_text("of 25")
    asking.get_by_role("button", name="All images").click()
    expect(asking).not_to_contain_text("selected")
    page.get_by_role("tab", name="Live").first.click()
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
    whole = _loud(page)
    aisle = page.locator(".rs-classes button", has_text="aisle 1")
    assert "200" in (aisle.text_content() or "")
    aisle.click()
    expect(page.locator('.rs-classes [aria-pressed="true"]')).to_have_count(1)
    assert _loud(page) < whole / 2
    aisle.click()
    assert _loud(page) == whole
    page.get_by_role("button", name="product", exact=True).click()
    page.get_by_role("button", name="+12 more").click()
    page.get_by_role("searchbox", name="Find a class").fill("23")
    expect(page.locator(".rs-classes button")).to_have_count(1)


def _loud(page: Page) -> float:
    """Share of strongly painted pixels on the first map."""
    return page.evaluate("() => window.debug.painted(0, 200)")


def test_a_lost_context_comes_back(page: Page) -> None:
    rest(page)
    page.evaluate("() => { window.gone = window.debug.lose(); window.gone.loseContext(); }")
    page.wait_for_function("() => window.debug.painted(0) === 0")
    page.evaluate("() => window.gone.restoreContext()")
    page.wait_for_function("() => window.debug.painted(0) > 0.005")


def test_on_a_phone_the_maps_stack_and_nothing_overflows(browser: Browser, site: Site) -> None:
    with visit(browser, site, site.at(site.finished), size=PHONE, touch=True, motion="no-preference") as page:
        rest(page)
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
        ends = [tab.bounding_box() for tab in page.locator("#rs-tabs > .tab-wrapper [role=tab]").all()]
        assert len(ends) == len(TABS) and all(box and box["x"] + box["width"] <= PHONE[0] for box in ends)
        first, second = (page.locator(".rs-plot").nth(arm).bounding_box() for arm in (0, 1))
        assert first and second
        assert second["y"] > first["y"] + first["height"]
        assert second["x"] == first["x"]
        point = _lonely(page)
        page.locator(".rs-plot").first.scroll_into_view_if_needed()
        page.touchscreen.tap(*place(page, 0, point))
        until(page, "s.chosen === a", point)
        small = page.evaluate(
            """() => [...document.querySelectorAll('.rs-live button:not(.rs-word)')].filter((b) => b.offsetParent)
              .map((b) => [b.textContent || b.ariaLabel, b.getBoundingClientRect().height]).filter(([, h]) => h < 44)"""
        )
        assert small == []
        card, track = (page.locator(one).first.bounding_box() for one in (".rs-card", ".rs-scrubber .rs-range"))
        lasso = page.get_by_role("button", name="Lasso").bounding_box()
        assert card and track and lasso
        assert track["width"] == pytest.approx(card["width"], abs=1)
        assert lasso["x"] == pytest.approx(card["x"], abs=1)


def test_thumbnails_of_the_last_sheet_are_cut_at_its_own_rows(page: Page) -> None:
    script = """async (ids) => {
      const base = "gradio_api/rankscope";
      const { thumbnail } = await import(`${location.origin}/${base}/assets/common/thumbnails.js`);
      const id = new URL(location.href).searchParams.get("run");
      const run = await (await fetch(`${base}/run/${id}`)).json();
      const cut = (i) => thumbnail(document.createElement("span"), run, i).style;
      const shown = ids.map((i) => [cut(i).backgroundImage, parseFloat(cut(i).backgroundPosition.split(" ")[1])]);
      return [run.points, run.columns, shown];
    }"""
    points, columns, shown = page.evaluate(script, [0, 12, 599])
    assert (points, columns) == (600, 12)  # four sheets of 144 and one of 24: two rows
    (_, first), (_, second), (url, last) = shown
    assert first == 0 and second == pytest.approx(100 / 11, abs=0.01)
    assert "/sheet/4.webp" in url and last == 100
