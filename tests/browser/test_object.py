"""The tab "Remove an object" in a real browser: pressing, drawing, uploading, benchmark, fine-tuning."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from explorer.tabs.object_removal.bodies import K
from explorer.tabs.object_removal.first import CHOSEN, TAKEN
from explorer.tabs.object_removal.recorded import RECORD
from tests.browser.conftest import Site
from tests.browser.image_folder import HOSTILE, jpeg, write_dataset
from tests.browser.pages import PHONE, downloaded, findings, fits, open_tab, sound, visit
from tests.browser.test_retrieve import put
from trainers.config import SceneChoice
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.identity import read_config

FIRST = 60_000  # ms; the models are loaded and read the first captions
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
        expect(page.locator(".rs-caption .rs-words").first).to_be_visible(timeout=FIRST)
        yield page


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for the first test, and for those that do not depend on what stands in it at first."""
    with tab(browser, site) as page:
        yield page


def original(page: Page) -> Locator:
    return page.get_by_role("region", name="Original image")


def filled(page: Page) -> Locator:
    return page.get_by_role("region", name="Image without the object")


def without(page: Page, name: str) -> None:
    """Wait until this is what was taken out."""
    expect(filled(page).locator("h3")).to_have_text(f"Without the {name}")


def open_source(page: Page, source: str) -> None:
    page.get_by_text("Open another dataset, add a model").click()
    page.get_by_label("Hugging Face id or folder").fill(source)
    page.get_by_role("button", name="Open", exact=True).click()


def offered(page: Page) -> Locator:
    """The fills to choose from for the shown image."""
    return page.locator(".rs-choices select").last.locator("option")


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


def brush(page: Page, name: str) -> None:
    """Paint over a part of the image, and say what that is."""
    original(page).get_by_text("Brush", exact=True).first.click()
    original(page).get_by_label("What is drawn").fill(name)
    drag(page, 0.2, 0.5, 0.5, 0.8)
    without(page, name)


def test_the_tab_opens_with_something_already_removed(opened: Page) -> None:
    page = opened
    cards = page.locator(".rs-captioncard")
    expect(cards).to_have_count(2)
    for card in cards.all():
        expect(card.locator(".rs-captionlist").first.locator(".rs-caption")).to_have_count(5)
    expect(filled(page).locator("h3")).to_have_text(re.compile("^Without the [a-z]"))
    expect(filled(page).locator("header")).to_contain_text("% of the image filled")
    expect(original(page).locator(".rs-box[aria-pressed=true]").first).to_be_visible()
    expect(page.locator(".rs-place")).to_have_text("92 of 1,000")
    expect(offered(page).filter(has_text="Drawn again without it")).to_have_count(1)
    expect(page.locator(".rs-thumbs button[aria-pressed=true]")).to_be_in_viewport()
    for side in (original(page), filled(page)):
        image = side.locator(".rs-image").first
        assert image.evaluate("(node) => node.decode().then(() => node.naturalWidth)") > 0
    by_model = json.loads(RECORD.read_text(encoding="utf-8"))["models"]
    counts = [sum(caption["verdict"] == "names removed" for caption in model["removed"]) for model in by_model]
    said = "".join(f"{model['title']} {count} of {K}" for model, count in zip(by_model, counts, strict=True))
    expect(page.locator(".rs-outcome")).to_have_text(f"The {TAKEN} is gone. Captions that still name it:{said}")
    tops = [card.locator(".rs-caption").nth(3).bounding_box() for card in cards.all()]
    assert tops[0] and tops[1] and abs(tops[0]["y"] - tops[1]["y"]) < 1  # same rank, same row


def test_what_goes_on_behind_the_first_answer_is_said(browser: Browser, site: Site) -> None:
    going = {
        "model": CHOSEN[0],
        "dataset": "drawn_scenes",
        "message": "encoding captions: 512 of 20,000",
        "fraction": 0.25,
    }
    lists = [[going, going | {"model": CHOSEN[1]}], [going | {"fraction": 0.5}], []]
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))

    def told(route: Route) -> None:
        route.fulfill(json={"encoding": lists.pop(0) if len(lists) > 1 else lists[0]})

    def answered(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(json=reply.json() | {name: recorded[name] for name in ("models", "words")} | {"recorded": True})

    with visit(browser, site, site.at(site.finished, "&__theme=light")) as page:
        page.route("**/objects/encode", told)
        page.route("**/objects/encoding", told)
        page.route("**/objects/query", answered)
        open_tab(page, "Remove an object")
        line, bar = page.locator(".rs-background [role=status]"), page.locator(".rs-background progress")
        expect(line).to_contain_text(
            "Tiny CLIP and Tiny CLIP, fine-tuned: encoding captions: 512 of 20,000", timeout=FIRST
        )
        expect(bar).to_have_js_property("value", 0.25)
        expect(line).to_contain_text("own queries: Tiny CLIP: encoding captions", timeout=FIRST)
        expect(bar).to_have_js_property("value", 0.75)
        expect(line).to_contain_text("All captions are read")
        expect(bar).to_be_hidden()


def test_the_model_of_a_run_brings_its_images_along(browser: Browser, site: Site, tmp_path: Path) -> None:
    scenes = SceneChoice(source=str(write_dataset(tmp_path / "pictures")))
    run = RunFolder.create(site.root, FinetuningConfig(model=Choice(name="tiny_clip"), scenes=scenes))
    weights = MODELS["tiny_clip"].build({}).state_dict()
    run.write_checkpoint({f"arm0/model/{name}": value for name, value in weights.items()}, {"step": 1})
    with tab(browser, site) as page:
        choices = page.locator(".rs-choices select")
        before = choices.first.locator("option").count()
        choices.nth(2).select_option(f"run:{run.id}:0")
        without(page, "frisbee")
        expect(choices.first.locator("option")).to_have_count(before + 1)
        expect(choices.first.locator("option:checked")).to_contain_text("COCO")
        choices.first.select_option("drawn_scenes")
        expect(filled(page).locator("h3")).not_to_have_text("Without the frisbee")
        choices.nth(1).select_option(f"run:{run.id}:0")  # it is open now
        expect(choices.first.locator("option:checked")).to_contain_text("COCO")
        without(page, "frisbee")
        assert str(tmp_path) not in page.content()
    run.db.close()
    shutil.rmtree(run.path)


def test_objects_are_taken_out_by_mouse_by_key_and_by_drawing(browser: Browser, site: Site, tmp_path: Path) -> None:
    with tab(browser, site) as page:
        open_source(page, str(write_dataset(tmp_path / "images")))
        expect(page.locator(".rs-settings .rs-note[role=status]").last).to_contain_text("images")
        without(page, "frisbee")
        expect(page.locator(".rs-caption .rs-words").first).to_be_visible(timeout=FIRST)
        expect(page.locator(".rs-captions")).to_have_attribute("aria-busy", "false")
        expect(offered(page).filter(has_text="Telea")).to_have_count(1)
        expect(offered(page).filter(has_text="Drawn again without it")).to_have_count(0)
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
    expect(filled(page)).not_to_have_attribute("aria-busy", "true")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "1 % original")
    page.keyboard.press("End")
    expect(filled(page).get_by_role("button", name="Show the original")).to_have_attribute("aria-pressed", "true")
    original(page).locator(".rs-segments input:checked").focus()
    page.keyboard.press("ArrowRight")
    original(page).get_by_label("What is drawn").fill("frisbee")
    original(page).get_by_role("application").focus()
    for key in ("ArrowRight", "Shift+ArrowDown", "Enter"):
        page.keyboard.press(key)
    without(page, "frisbee")


def by_drawing(page: Page) -> None:
    """Paint with the brush, and draw a box that the model names."""
    brush(page, "cat")
    about = filled(page).locator(".rs-sideabout")
    brushed = about.text_content()
    original(page).get_by_role("button", name="Clear").click()
    original(page).get_by_text("Box", exact=True).click()
    drag(page, 0.1, 0.3, 0.6, 0.9)
    expect(original(page).locator(".rs-guess")).to_have_count(5, timeout=FIRST)
    expect(about).not_to_have_text(brushed or "")
    expect(about).to_contain_text(re.compile(r"^3[0-2] % of the image filled"))
    guess = original(page).locator(".rs-guess").nth(2)
    guess.click()
    expect(filled(page).locator("h3")).to_contain_text(f"Without the {guess.locator('span').first.text_content()}")


def test_own_images(browser: Browser, site: Site) -> None:
    with tab(browser, site, refusals=True) as page:
        place, image = page.locator(".rs-object"), original(page).locator(".rs-image")
        before = image.get_attribute("src")
        put(place, "x.jpeg", b"no picture")
        expect(page.locator(".rs-object > .rs-alert")).to_contain_text("not an image that can be read")
        expect(image).to_have_attribute("src", before or "")
        put(place, "möwe.jpeg", jpeg())
        expect(filled(page)).to_contain_text("Mark what to remove")
        expect(page.locator(".rs-captions .rs-unasked").first).to_contain_text("Mark something in the image above")
        expect(page.locator(".rs-captions .rs-placeholderline")).to_have_count(0)  # nothing is on its way
        original(page).get_by_label("What is drawn").fill("dog")
        drag(page, 0.1, 0.4, 0.5, 0.9)
        without(page, "dog")
        expect(page.locator(".rs-modelnote").first).to_contain_text("does not know photographs")
        with page.expect_download() as download:
            filled(page).get_by_role("button", name="Download the filled image").click()
        assert download.value.suggested_filename == "rankscope-without-the-dog.png"
        for name in ("cat", "dog"):  # a new image begins with nothing drawn
            before = image.get_attribute("src")
            put(place, "a.jpeg", jpeg())
            expect(image).not_to_have_attribute("src", before or "")
            canvas = original(page).get_by_role("application")
            page.wait_for_function(f"(c) => !({_INKED})(c)", arg=canvas.element_handle())
            brush(page, name)
            assert canvas.evaluate(_INKED)


@pytest.mark.long
def test_the_benchmark_over_a_dataset_and_a_failing_image(browser: Browser, site: Site) -> None:
    with tab(browser, site) as page:
        page.get_by_label("Removals at most").fill("20")
        page.get_by_role("button", name="Measure").click()
        section = page.get_by_role("region", name="Over a whole dataset")
        expect(section.locator(".rs-benchmarkfigures dt").first).to_have_text("ODmAP@1", timeout=FIRST)
        expect(section.locator(".rs-bar")).not_to_have_count(0)
        expect(section).to_contain_text("On 20 queries against 20,000 of 30,983 captions. Intervals: 95 % over")
        section.get_by_text("Numbers as a table").click()
        expect(section.locator("tbody tr").first).to_contain_text("to")
        reply = page.request.get(section.get_by_role("link", name="Every query").get_attribute("href") or "")
        assert reply.ok and reply.text().startswith("model,captions,dataset_captions,image,")
        assert findings(page, "#object-view") == []
        failing = section.locator(".rs-failure").first
        words = failing.locator(".rs-unseen").first.text_content() or ""
        failing.click()
        removed = words.removeprefix("Without ").rstrip(": ").split(", ")[0]
        expect(filled(page).locator("h3")).to_contain_text(removed)


def test_fine_tuning_is_filled_by_presets_started_followed_and_stopped(opened: Page, site: Site) -> None:
    page = opened
    section = page.get_by_role("region", name="Fine-tune on object-removed images")
    card, recipes = section.locator(".rs-recipe"), section.get_by_label("Recipes")
    another = section.get_by_role("button", name="Compare with another recipe")
    expect(card.first).to_contain_text("Removed pairs of image and caption: 0.08 for each original one")
    another.click()
    expect(card).to_have_count(2)
    expect(card.nth(1).get_by_label("Filled with")).to_be_disabled()
    recipes.select_option("figure4")
    expect(card).to_have_count(4)
    for index, ratio in enumerate(("0.02", "0.08", "0.20", "0.40")):
        expect(card.nth(index).locator("h3")).to_have_text(re.compile(f", {ratio} pairs for each original$"))
    recipes.select_option("paper")
    expect(section.get_by_label("Epochs", exact=True)).to_be_visible()
    for name, value in {"Steps": "", "Epochs": "10", "Batch": "256", "Weight decay": "0"}.items():
        expect(section.get_by_label(name, exact=True)).to_have_value(value)
    section.get_by_label("Batch", exact=True).fill("32")
    earlier = set(site.root.glob("*/config.json"))
    section.get_by_role("button", name="Fine-tune this model").click()
    expect(section.locator(".rs-followline")).to_contain_text("queue")  # nothing trains here
    expect(section.locator(".rs-follow .rs-armkey li")).to_have_count(2)
    (newest,) = set(site.root.glob("*/config.json")) - earlier
    config = read_config(newest.read_text())
    assert (config.epochs, config.steps, config.minutes, config.halve_every) == (10, None, None, 2)
    assert config.kind == "finetuning" and (config.batch, config.optimiser) == (32, "adam")
    assert findings(page, "#object-view") == []
    section.get_by_role("button", name="Stop", exact=True).click()
    expect(section.locator(".rs-followline")).to_contain_text("Stopped")


@pytest.mark.long
def test_a_phone_scrolls_down_only_and_a_machine_finds_nothing_serious(browser: Browser, site: Site) -> None:
    with tab(browser, site, size=PHONE, touch=True) as page:
        fits(page)
        sides = [side.bounding_box() for side in (original(page), filled(page))]
        assert sides[0] and sides[1] and sides[1]["y"] > sides[0]["y"] + sides[0]["height"]
        small = "(nodes) => nodes.filter((n) => n.offsetHeight && n.offsetHeight < 44).map((n) => n.outerHTML)"
        assert page.locator(".rs-settings select, .rs-images .rs-act, .rs-side .rs-act").evaluate_all(small) == []
        for fold in page.locator(".rs-object details > summary").all():
            fold.click()
        original(page).get_by_text("Brush", exact=True).first.click()
        sound(page, "#object-view", ".rs-object")
