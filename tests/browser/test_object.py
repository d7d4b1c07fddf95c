"""The tab "Remove an object" in a real browser: pressing, drawing, uploading, benchmark, fine-tuning."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from explorer.tabs.object_removal.bodies import K
from explorer.tabs.object_removal.first import CHOSEN, TAKEN
from explorer.tabs.object_removal.recorded import RECORD
from tests.browser.conftest import Site
from tests.browser.image_folder import HOSTILE, jpeg, write_dataset
from tests.browser.pages import PHONE, downloaded, fits, open_tab, sound, visit
from tests.data.world import encode
from trainers.config import SceneChoice
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.identity import read_config

_INKED = "(c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value > 0)"

_SEEN = """(node) => {
  const copy = node.cloneNode(true);
  copy.querySelectorAll(".rs-unseen").forEach((one) => one.remove());
  return copy.textContent;
}"""


@contextlib.contextmanager
def tab(browser: Browser, site: Site, **how: object) -> Iterator[Page]:
    """The tab with its first answers."""
    with visit(browser, site, site.at(site.finished, "&__theme=light"), **how) as page:  # type: ignore[arg-type]
        open_tab(page, "Remove an object")
        expect(page.locator(".rs-caption .rs-words").first).to_be_visible()
        yield page


def original(page: Page) -> Locator:
    return page.get_by_role("region", name="Original image")


def filled(page: Page) -> Locator:
    return page.get_by_role("region", name="Image without the object")


def without(page: Page, name: str) -> None:
    """Wait until this is what was taken out."""
    expect(filled(page).locator("h3")).to_have_text(f"Without the {name}")
    expect(filled(page).locator("header")).to_contain_text("of the image filled")


def offered(page: Page, menu: str) -> list[str]:
    """The choices of a menu."""
    page.get_by_role("tabpanel").get_by_label(menu, exact=True).first.click()
    choices = page.get_by_test_id("dropdown-option")
    expect(choices.first).to_be_visible()
    names = [choice.get_attribute("aria-label") or "" for choice in choices.all()]
    page.keyboard.press("Escape")
    return names


def choose(page: Page, menu: str, choice: str) -> None:
    named = page.get_by_role("tabpanel").get_by_label(menu, exact=True).first
    named.blur()
    named.click()
    page.locator(f"[data-testid=dropdown-option][aria-label='{choice}']").click()


def name_it(page: Page, name: str) -> None:
    """Say what is drawn."""
    line = page.locator("#rs-object-what input")
    line.fill(name)
    line.press("Enter")


def open_source(page: Page, source: str) -> None:
    page.get_by_role("button", name="Open another dataset, add a model").click()
    line = page.get_by_label("Hugging Face id or folder")
    line.fill(source)
    line.press("Enter")
    page.get_by_role("tabpanel").get_by_role("button", name="Open", exact=True).click()


def make_room(page: Page) -> None:
    """Take an image of one's own away, if there is one."""
    remove = page.locator("#rs-object-own").get_by_role("button", name="Remove Image")
    if remove.count():
        remove.click()
        expect(remove).to_have_count(0)
        page.wait_for_timeout(500)  # as long as a hand takes: Gradio passes over a file that is chosen at once


def send(page: Page, name: str, data: bytes) -> None:
    """Choose an image of one's own; one that is there makes room."""
    make_room(page)
    own = page.locator("#rs-object-own")
    own.locator("input[type=file]").set_input_files({"name": name, "mimeType": "image/jpeg", "buffer": data})


def drag(page: Page, x0: float, y0: float, x1: float, y1: float) -> None:
    """Draw from one point of the image to another, in fractions of it."""
    canvas = original(page).get_by_role("application")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x0 * box["width"], box["y"] + y0 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + x1 * box["width"], box["y"] + y1 * box["height"], steps=4)
    page.mouse.up()


def test_what_goes_on_behind_the_first_answer_is_said(browser: Browser, site: Site) -> None:
    """It comes first: for later tests all captions of the scenes may have been read."""
    going = {
        "model": CHOSEN[0],
        "dataset": "drawn_scenes",
        "message": "encoding captions: 512 of 20,000",
        "fraction": 0.25,
    }
    lists = [[going, going | {"model": CHOSEN[1]}], [going | {"fraction": 0.5}], []]

    def told(route: Route) -> None:
        route.fulfill(json={"encoding": lists.pop(0) if len(lists) > 1 else lists[0]})

    with visit(browser, site, site.at(site.finished, "&__theme=light")) as page:
        page.route("**/objects/encoding", told)
        open_tab(page, "Remove an object")
        line, bar = page.locator(".rs-background [role=status]"), page.locator(".rs-background progress")
        expect(page.locator(".rs-caption .rs-words").first).to_be_visible()
        expect(line).to_contain_text("own queries: Tiny CLIP: encoding captions")
        expect(bar).to_have_js_property("value", 0.75)
        expect(line).to_contain_text("All captions are read")
        expect(bar).to_be_hidden()


def test_the_tab_opens_with_something_already_removed(browser: Browser, site: Site) -> None:
    with tab(browser, site) as page:
        something_is_removed(page)


def something_is_removed(page: Page) -> None:
    """What stands in the tab at first."""
    cards = page.locator(".rs-captioncard")
    expect(cards).to_have_count(2)
    for card in cards.all():
        expect(card.locator(".rs-captionlist").first.locator(".rs-caption")).to_have_count(5)
    expect(filled(page).locator("h3")).to_have_text(re.compile("^Without the [a-z]"))
    expect(filled(page).locator("header")).to_contain_text("% of the image filled")
    expect(original(page).locator(".rs-box[aria-pressed=true]").first).to_be_visible()
    expect(page.locator("#rs-object-steps input")).to_have_value("92")
    expect(page.locator("#rs-object-steps")).to_contain_text("of 1,000")
    expect(page.locator("#rs-object-images .thumbnail-item.selected")).to_be_in_viewport()
    assert "Drawn again without it" in offered(page, "Fill")
    for side in (original(page), filled(page)):
        image = side.locator(".rs-image").first
        assert image.evaluate("(node) => node.decode().then(() => node.naturalWidth)") > 0
    by_model = json.loads(RECORD.read_text(encoding="utf-8"))["models"]
    counts = [sum(caption["verdict"] == "names removed" for caption in model["removed"]) for model in by_model]
    said = "".join(f"{model['title']} {count} of {K}" for model, count in zip(by_model, counts, strict=True))
    expect(page.locator(".rs-outcome")).to_have_text(f"The {TAKEN} is gone. Captions that still name it:{said}")
    tops = [card.locator(".rs-caption").nth(3).bounding_box() for card in cards.all()]
    assert tops[0] and tops[1] and abs(tops[0]["y"] - tops[1]["y"]) < 1  # same rank, same row
    fits(page)


def test_what_is_drawn_on_a_scene_is_named_by_the_model(browser: Browser, site: Site) -> None:
    with tab(browser, site) as page:
        page.get_by_role("button", name="Next ›").click()
        original(page).get_by_text("Box", exact=True).click()  # before the scene is there: it stays chosen
        expect(page.locator("#rs-object-steps input")).to_have_value("93")
        expect(filled(page).locator("header")).to_contain_text("of the image filled")
        expect(original(page).locator(".rs-box[aria-pressed=true]").first).to_be_attached()
        expect(original(page).locator("input[value=box]")).to_be_checked()
        drag(page, 0.1, 0.3, 0.6, 0.9)
        named = page.locator("#rs-object-what input")
        expect(named).not_to_have_value("")
        expect(filled(page).locator("h3")).to_contain_text(named.input_value())
        page.locator("#rs-object-images .thumbnail-item").nth(2).click()
        expect(page.locator("#rs-object-steps input")).to_have_value("87")
        expect(named).to_be_hidden()


def test_the_model_of_a_run_brings_its_images_along(browser: Browser, site: Site, tmp_path: Path) -> None:
    scenes = SceneChoice(source=str(write_dataset(tmp_path / "pictures")))
    run = RunFolder.create(site.root, FinetuningConfig(model=Choice(name="tiny_clip"), scenes=scenes))
    weights = MODELS["tiny_clip"].build({}).state_dict()
    run.write_checkpoint({f"arm0/model/{name}": value for name, value in weights.items()}, {"step": 1})
    with tab(browser, site) as page:
        (title,) = (name for name in offered(page, "Compared with") if re.match("Tiny CLIP, (?!fine-tuned)", name))
        choose(page, "Compared with", title)
        without(page, "frisbee")
        images = page.get_by_role("tabpanel").get_by_label("Images", exact=True).first
        expect(images).to_have_value(re.compile("COCO"))
        choose(page, "Images", "Drawn scenes")
        expect(filled(page).locator("h3")).not_to_have_text("Without the frisbee")
        choose(page, "Model", title)  # it is open now
        expect(images).to_have_value(re.compile("COCO"))
        without(page, "frisbee")
        assert str(tmp_path) not in page.content()
    run.db.close()
    shutil.rmtree(run.path)


def test_objects_are_taken_out_by_mouse_by_key_and_by_drawing(browser: Browser, site: Site, tmp_path: Path) -> None:
    with tab(browser, site) as page:
        open_source(page, str(write_dataset(tmp_path / "images")))
        without(page, "frisbee")
        expect(page.get_by_text(re.compile(r": 3 images\."))).to_be_visible()
        fills = offered(page, "Fill")
        assert "Telea" in fills and "Drawn again without it" not in fills
        expect(page.locator(".rs-captionlist .rs-words", has_text="onerror").first).to_be_visible()
        captions_are_text(page)
        before = filled(page).locator(".rs-image").first.get_attribute("src")
        dog = original(page).get_by_role("button", name="dog")
        dog.hover()
        expect(original(page).locator(".rs-hint")).to_contain_text("of the image")
        dog.click()
        without(page, "dog")
        expect(dog).to_have_attribute("aria-pressed", "true")
        expect(filled(page).locator("header")).to_contain_text("16 % of the image filled")
        expect(filled(page).locator(".rs-image").first).not_to_have_attribute("src", before or "")
        expect(page.locator(".rs-captioncard .rs-removed").first).to_contain_text("dog")
        page.get_by_text("for the original", exact=True).click()
        expect(page.locator(".rs-captioncard .rs-captionlist:not(.rs-before-removal) .rs-removed")).to_have_count(0)
        expect(page.locator(".rs-captioncard header").first).to_contain_text("for the original image")
        original(page).locator(".rs-box .rs-boxname", has_text="frisbee").click()  # its name is pressed like its box
        without(page, "frisbee")
        by_key(page)
        original(page).get_by_role("button", name="Clear").click()
        by_drawing(page)


def captions_are_text(page: Page) -> None:
    """Captions that try to be HTML stay text, and are saved as CSV."""
    line = page.locator(".rs-captionlist:not(.rs-before-removal) .rs-words", has_text="onerror").first
    assert line.evaluate(_SEEN) == HOSTILE
    expect(page.locator(".rs-words img, .rs-words b")).to_have_count(0)
    assert page.evaluate("window.hacked") is None
    lines = downloaded(page.get_by_role("button", name="Captions CSV")).decode().splitlines()
    assert lines[0].startswith("image,removed,fill,model,for,rank,similarity,verdict,change,caption")
    assert len(lines) == 1 + 2 * 2 * 5 and ",frisbee,Telea,Tiny CLIP,filled image,1," in lines[1]


def by_key(page: Page) -> None:
    """Press a box, fade to the original, and draw, with the keyboard alone."""
    original(page).get_by_role("button", name="dog").focus()
    page.keyboard.press("Enter")
    without(page, "dog")
    slider = filled(page).get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "1 % original")
    page.keyboard.press("End")
    expect(filled(page).get_by_role("button", name="Show the original")).to_have_attribute("aria-pressed", "true")
    original(page).locator(".rs-segments input:checked").focus()
    page.keyboard.press("ArrowRight")
    name_it(page, "frisbee")
    original(page).get_by_role("application").focus()
    for key in ("ArrowRight", "Shift+ArrowDown", "Enter"):
        page.keyboard.press(key)
    without(page, "frisbee")


def by_drawing(page: Page) -> None:
    """Paint with the brush, and draw a box: a photograph is named by whoever drew, not by a model of drawn scenes."""
    original(page).get_by_text("Brush", exact=True).first.click()
    name_it(page, "cat")
    drag(page, 0.2, 0.5, 0.5, 0.8)
    without(page, "cat")
    about = filled(page).locator(".rs-sideabout")
    brushed = about.text_content()
    original(page).get_by_role("button", name="Clear").click()
    original(page).get_by_text("Box", exact=True).click()
    drag(page, 0.1, 0.3, 0.6, 0.9)
    expect(about).not_to_have_text(brushed or "")
    expect(about).to_contain_text(re.compile(r"^3[0-2] % of the image filled"))


def test_own_images(browser: Browser, site: Site) -> None:
    with tab(browser, site, refusals=True) as page:
        image = original(page).locator(".rs-image")
        before = image.get_attribute("src")
        send(page, "x.jpeg", b"no picture")
        expect(page.get_by_test_id("toast-body").first).to_contain_text("not an image that can be read")
        expect(image).to_have_attribute("src", before or "")
        send(page, "möwe.jpeg", jpeg())
        expect(filled(page)).to_contain_text("Mark what to remove")
        expect(page.locator("#rs-object-warning")).to_contain_text("not photographs")
        expect(page.locator(".rs-captions .rs-unasked").first).to_contain_text("Mark something in the image above")
        expect(page.locator(".rs-captions .rs-placeholderline")).to_have_count(0)  # nothing is on its way
        drag(page, 0.1, 0.4, 0.5, 0.9)
        expect(filled(page)).to_contain_text("What is it?")
        expect(page.locator("#rs-object-what input")).to_have_value("")
        name_it(page, "dog")
        without(page, "dog")
        expect(page.locator(".rs-modelnote").first).to_contain_text("does not know photographs")
        with page.expect_download() as download:
            filled(page).get_by_role("button", name="Download the filled image").click()
        assert download.value.suggested_filename == "rankscope-without-the-dog.png"
        before = image.get_attribute("src")
        send(page, "a.jpeg", jpeg())
        expect(image).not_to_have_attribute("src", before or "")
        canvas = original(page).get_by_role("application")
        page.wait_for_function(f"(c) => !({_INKED})(c)", arg=canvas.element_handle())  # nothing is drawn on a new one
        expect(page.locator("#rs-object-what input")).to_have_value("")
        paste(page, encode(np.full((40, 30, 3), 9, np.uint8)))
        page.wait_for_function("(image) => image.naturalWidth === 30", arg=image.element_handle())


def paste(page: Page, data: bytes) -> None:
    """Take an image of one's own out of the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(
        """async (bytes) => {
          const item = new Blob([new Uint8Array(bytes)], { type: "image/png" });
          await navigator.clipboard.write([new ClipboardItem({ "image/png": item })]);
        }""",
        list(data),
    )
    make_room(page)
    page.locator("#rs-object-own").get_by_role("button", name="Paste from clipboard").click()


@pytest.mark.long
def test_the_benchmark_over_a_dataset_and_a_failing_image(browser: Browser, site: Site) -> None:
    with tab(browser, site) as page:
        page.get_by_label("Removals at most").fill("20")
        page.get_by_role("button", name="Measure").click()
        expect(page.locator("#rs-object-figures")).to_contain_text("ODmAP@1")
        scope = page.locator("#rs-object-scope")
        expect(scope).to_contain_text("20 queries against 20,000 of 30,983 captions.")
        expect(scope).to_contain_text("Intervals: 95 % over")
        page.get_by_role("button", name="Numbers as a table").click()
        expect(page.locator("#rs-object-numbers [data-row='0'][data-col='1']")).to_contain_text("to")
        table = downloaded(page.get_by_role("button", name="Every query")).decode()
        assert table.startswith("model,captions,dataset_captions,image,")
        failing = page.locator(".rs-failing .thumbnail-item").first
        words = failing.text_content() or ""
        assert "⊘" in words.partition(":")[2]
        failing.click()
        expect(filled(page).locator("h3")).to_contain_text(
            words.strip().removeprefix("Without the ").split(":")[0].split(",")[0]
        )


def test_fine_tuning_is_filled_by_presets_started_followed_and_stopped(browser: Browser, site: Site) -> None:
    with tab(browser, site) as page:
        fine_tuned(page, site)


def fine_tuned(page: Page, site: Site) -> None:
    """Compare recipes, fill one in, start it and take it out of the queue."""
    titles = page.locator("label:has(input[type=radio])", has_text="emoved").or_(
        page.locator("label", has_text="Originals")
    )
    expect(titles.first).to_be_visible()
    page.get_by_role("button", name="Compare with another recipe").click()
    expect(page.get_by_text("Nothing is removed: the comparison that shows what removal changes.")).to_be_visible()
    choose(page, "Recipes", "Figure 4")
    for ratio in ("0.02", "0.08", "0.20", "0.40"):
        expect(page.get_by_text(re.compile(f", {ratio} pairs for each original$"))).to_be_visible()
    expect(page.get_by_role("button", name="Compare with another recipe")).to_be_disabled()
    choose(page, "Recipes", "As published")
    page.get_by_role("button", name="Epochs, batch, optimiser, learning rate, seed").click()
    for name, value in {"Steps": "", "Epochs": "10", "Batch": "256", "Weight decay": "0"}.items():
        expect(page.get_by_label(name, exact=True)).to_have_value(value)
    page.get_by_label("Batch", exact=True).fill("32")
    earlier = set(site.root.glob("*/config.json"))
    page.get_by_role("button", name="Fine-tune this model").click()
    expect(page.locator(".rs-followline")).to_contain_text("queue")  # nothing trains here
    expect(page.locator(".rs-follow .rs-armkey li")).to_have_count(2)
    (newest,) = set(site.root.glob("*/config.json")) - earlier
    config = read_config(newest.read_text())
    assert (config.epochs, config.steps, config.minutes, config.halve_every) == (10, None, None, 2)
    assert config.kind == "finetuning" and (config.batch, config.optimiser) == (32, "adam")
    page.locator(".rs-follow").get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".rs-followline")).to_contain_text("Stopped")


@pytest.mark.long
def test_a_phone_scrolls_down_only_and_a_machine_finds_nothing_serious(browser: Browser, site: Site) -> None:
    with tab(browser, site, size=PHONE, touch=True) as page:
        fits(page)
        sides = [side.bounding_box() for side in (original(page), filled(page))]
        assert sides[0] and sides[1] and sides[1]["y"] > sides[0]["y"] + sides[0]["height"]
        original(page).get_by_text("Brush", exact=True).first.click()
        for view in ("#rs-object-picker", "#rs-object-without", "#rs-object-captions"):
            sound(page, view, ".rs-object")
