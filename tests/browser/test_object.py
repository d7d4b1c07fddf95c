"""The tab "Remove an object" in a real browser: pressing, drawing, uploading, benchmark, fine-tuning."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from explorer.tabs.object_removal.bodies import FILL, K
from explorer.tabs.object_removal.first import CHOSEN, TAKEN
from explorer.tabs.object_removal.recorded import RECORD
from tests.browser.conftest import Site
from tests.browser.image_folder import HOSTILE, jpeg, write_dataset
from tests.browser.pages import PHONE, WIDE, open_tab, visit
from tests.browser.test_access import darken, findings
from trainers.config import SceneChoice
from trainers.image_text.models import MODELS
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.runs.identity import read_config

FIRST = 60_000  # ms; the models are loaded and read the first captions


@contextlib.contextmanager
def tab(browser: Browser, site: Site, size: tuple[int, int] = WIDE, **more: object) -> Iterator[Page]:
    """The tab with its first answers."""
    theme = f"&__theme={more.get('scheme', 'light')}"
    with visit(browser, site, site.at(site.finished, theme), size=size, **more) as page:  # type: ignore[arg-type]
        open_tab(page, "Remove an object")
        expect(page.locator(".rs-caption .rs-words").first).to_be_visible(timeout=FIRST)
        yield page


def original(page: Page) -> Locator:
    return page.get_by_role("region", name="Original image")


def filled(page: Page) -> Locator:
    return page.get_by_role("region", name="Image without the object")


def open_folder(page: Page, folder: Path) -> None:
    page.get_by_text("Open another dataset, add a model").click()
    page.get_by_label("Hugging Face id or folder").fill(str(folder))
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator(".rs-settings .rs-note[role=status]").last).to_contain_text("images")
    expect(filled(page).locator("h3")).to_have_text("Without the frisbee")
    expect(page.locator(".rs-caption .rs-words").first).to_be_visible(timeout=FIRST)


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Iterator[Page]:
    """One page for the first test, and for those that do not depend on what stands in it at first."""
    with tab(browser, site) as page:
        yield page


@pytest.fixture(scope="module")
def folder_page(browser: Browser, site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One page with a small dataset open."""
    with tab(browser, site) as page:
        open_folder(page, write_dataset(tmp_path_factory.mktemp("images") / "images"))
        yield page


@pytest.fixture
def folder(folder_page: Page) -> Page:
    """That page as it was when the dataset was opened: the first image, the same object removed."""
    page = folder_page
    image = original(page).locator(".rs-image")
    for at in (1, 0):
        before = image.get_attribute("src") or ""
        page.locator(".rs-thumbs button").nth(at).click()
        expect(image).not_to_have_attribute("src", before)
    page.get_by_text("for the image without it", exact=True).click()
    expect(filled(page).locator("h3")).to_have_text("Without the frisbee")
    expect(filled(page)).not_to_have_attribute("aria-busy", "true")
    expect(page.locator(".rs-captions")).to_have_attribute("aria-busy", "false")
    return page


def offered(page: Page) -> Locator:
    """The fills to choose from for the shown image."""
    return page.locator(".rs-choices select").last.locator("option")


def drag(page: Page, canvas: Locator, ends: tuple[float, float, float, float]) -> None:
    """Draw from one point of the image to another, in fractions of it."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    x0, y0, x1, y1 = ends
    page.mouse.move(box["x"] + x0 * box["width"], box["y"] + y0 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + x1 * box["width"], box["y"] + y1 * box["height"], steps=4)
    page.mouse.up()


def loaded(image: Locator) -> None:
    image.evaluate("(node) => node.decode()")
    assert image.evaluate("(node) => node.naturalWidth") > 0


def test_the_tab_opens_with_something_already_removed(opened: Page) -> None:
    page = opened
    expect(page.locator(".rs-captioncard")).to_have_count(2)
    for card in page.locator(".rs-captioncard").all():
        expect(card.locator(".rs-captionlist").first.locator(".rs-caption")).to_have_count(5)
    expect(filled(page).locator("h3")).to_have_text(re.compile("^Without the [a-z]"))
    expect(filled(page).locator("header")).to_contain_text("% of the image filled")
    expect(original(page).locator(".rs-box[aria-pressed=true]").first).to_be_visible()
    expect(page.locator(".rs-place")).to_have_text("92 of 1,000")
    expect(offered(page).filter(has_text="Drawn again without it")).to_have_count(1)
    expect(page.locator(".rs-thumbs button[aria-pressed=true]")).to_be_in_viewport()
    loaded(original(page).locator(".rs-image"))
    loaded(filled(page).locator(".rs-image").first)
    by_model = json.loads(RECORD.read_text(encoding="utf-8"))["models"]
    counts = [sum(caption["verdict"] == "names removed" for caption in model["removed"]) for model in by_model]
    said = "".join(f"{model['title']} {count} of {K}" for model, count in zip(by_model, counts, strict=True))
    expect(page.locator(".rs-outcome")).to_have_text(f"The {TAKEN} is gone. Captions that still name it:{said}")
    tops = [card.locator(".rs-caption").nth(3).bounding_box() for card in page.locator(".rs-captioncard").all()]
    assert tops[0] and tops[1] and abs(tops[0]["y"] - tops[1]["y"]) < 1  # same rank, same row


@pytest.mark.long
def test_the_recorded_answer_is_what_the_models_say(browser: Browser, site: Site) -> None:
    """The page's first answer once more, by the models themselves over all captions."""
    with tab(browser, site) as page:
        place = f"{site.url}/gradio_api/rankscope/objects"
        first = page.request.get(f"{place}/start").json()["first"]
        page.request.post(f"{place}/encode", data={"models": list(CHOSEN)})
        end = time.monotonic() + 2 * FIRST / 1000
        while page.request.get(f"{place}/encoding").json()["encoding"] and time.monotonic() < end:
            page.wait_for_timeout(200)
        asked = {"image": first, "remove": {"classes": [TAKEN]}, "fill": FILL, "models": list(CHOSEN), "k": K}
        reply = page.request.post(f"{place}/query", data=asked).json()
        record = json.loads(RECORD.read_text(encoding="utf-8"))
        assert reply["recorded"] is False and set(record["notes"]) <= set(reply["notes"])
        for live, kept in zip(reply["models"], record["models"], strict=True):
            for side in ("original", "removed"):
                near = [one.pop("similarity") for one in kept[side]]
                assert [one.pop("similarity") for one in live[side]] == pytest.approx(near, abs=2e-4)
        assert (reply["models"], reply["words"]) == (record["models"], record["words"]), "make the record anew"


def test_the_first_answer_says_what_goes_on_behind_it(browser: Browser, site: Site) -> None:
    going = {
        "model": CHOSEN[0],
        "dataset": "drawn_scenes",
        "message": "encoding captions: 512 of 20,000",
        "fraction": 0.25,
    }
    lists = [[going, going | {"model": CHOSEN[1]}], [going | {"fraction": 0.5}], []]

    def told(route: Route) -> None:
        route.fulfill(json={"encoding": lists.pop(0) if len(lists) > 1 else lists[0]})

    recorded = json.loads(RECORD.read_text(encoding="utf-8"))

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
        assert findings(page, "#object-view") == []


@pytest.mark.long
def test_a_dataset_that_takes_long_says_so_and_can_be_left(browser: Browser, site: Site) -> None:
    state = {"phase": "running", "message": "reading the captions of train2017", "fraction": 0.25}
    with tab(browser, site) as page:
        page.route("**/objects/open", lambda route: route.fulfill(json={"job": "a1"}))
        page.route("**/objects/open/a1", lambda route: route.fulfill(json=state))
        page.route("**/objects/open/a1/stop", lambda route: route.fulfill(json={}))
        page.get_by_text("Open another dataset, add a model").click()
        page.get_by_label("Hugging Face id or folder").fill("somebody/photos")
        page.get_by_role("button", name="Open", exact=True).click()
        line = page.locator(".rs-folds .rs-moving")
        expect(line).to_contain_text("Reading the captions of train2017")
        expect(line.locator("progress")).to_have_js_property("value", 0.25)
        assert findings(page, "#object-view") == []
        line.get_by_role("button", name="Stop").click()
        state["phase"] = "stopped"
        expect(line).to_be_hidden()
        expect(page.locator(".rs-folds .rs-alert").first).to_contain_text("nothing was opened")
        expect(page.get_by_role("button", name="Open", exact=True)).to_be_enabled()


def test_the_model_of_a_run_brings_its_images_along(browser: Browser, site: Site, tmp_path: Path) -> None:
    scenes = SceneChoice(source=str(write_dataset(tmp_path / "pictures")))
    run = RunFolder.create(site.root, FinetuningConfig(model=Choice(name="tiny_clip"), scenes=scenes))
    weights = MODELS["tiny_clip"].build({}).state_dict()
    run.write_checkpoint({f"arm0/model/{name}": value for name, value in weights.items()}, {"step": 1})
    with tab(browser, site) as page:
        choices = page.locator(".rs-choices select")
        before = choices.first.locator("option").count()
        choices.nth(2).select_option(f"run:{run.id}:0")
        expect(filled(page).locator("h3")).to_have_text("Without the frisbee")
        expect(choices.first.locator("option")).to_have_count(before + 1)
        expect(choices.first.locator("option:checked")).to_contain_text("COCO")
        choices.first.select_option("drawn_scenes")
        expect(filled(page).locator("h3")).not_to_have_text("Without the frisbee")
        choices.nth(1).select_option(f"run:{run.id}:0")  # it is open now
        expect(choices.first.locator("option:checked")).to_contain_text("COCO")
        expect(filled(page).locator("h3")).to_have_text("Without the frisbee")
        assert str(tmp_path) not in page.content()
    run.db.close()
    shutil.rmtree(run.path)


def test_pressing_an_object_takes_it_out(folder: Page) -> None:
    page = folder
    expect(offered(page).filter(has_text="Telea")).to_have_count(1)
    expect(offered(page).filter(has_text="Drawn again without it")).to_have_count(0)
    before = filled(page).locator(".rs-image").first.get_attribute("src")
    dog = original(page).get_by_role("button", name="dog")
    dog.hover()
    expect(original(page).locator(".rs-hint")).to_contain_text("of the image")
    dog.click()
    expect(filled(page).locator("h3")).to_have_text("Without the dog")
    expect(dog).to_have_attribute("aria-pressed", "true")
    expect(filled(page).locator("header")).to_contain_text("16 % of the image filled")
    expect(filled(page).locator(".rs-image").first).not_to_have_attribute("src", before or "")
    expect(page.locator(".rs-captioncard .rs-removed").first).to_contain_text("dog")
    page.get_by_text("for the original", exact=True).click()
    expect(page.locator(".rs-captioncard .rs-captionlist:not(.rs-before-removal) .rs-removed")).to_have_count(0)
    expect(page.locator(".rs-captioncard header").first).to_contain_text("for the original image")


def test_the_name_of_an_object_is_pressed_like_its_box(opened: Page) -> None:
    page = opened
    name = original(page).locator(".rs-box:not([aria-pressed=true]) .rs-boxname").first
    told = name.inner_text()
    name.click()
    expect(filled(page).locator("h3")).to_have_text(f"Without the {told}")


@pytest.mark.long
def test_the_image_does_not_wait_for_captions_that_are_still_read(browser: Browser, site: Site) -> None:
    late = {"waiting": {"message": "loading the model", "fraction": 0.25}, "original": [], "removed": []}
    held: list[str] = []
    asked_again: list[Route] = []

    def told(route: Route) -> None:
        assert json.loads(route.request.post_data or "")["patience"] == 1
        if held:  # answered when the first answer has been looked at
            asked_again.append(route)
            return
        reply = route.fetch(timeout=FIRST).json()
        held.append(reply["removed"][0])
        route.fulfill(json=reply | {"models": [model | late for model in reply["models"]]})

    with tab(browser, site) as page:
        page.route("**/objects/query", told)
        before = filled(page).locator(".rs-image").first.get_attribute("src")
        original(page).locator(".rs-box:not([aria-pressed=true])").first.click()
        page.wait_for_function("() => document.querySelectorAll('.rs-captioncard .rs-placeholderline').length === 10")
        heights = [bone.bounding_box()["height"] for bone in page.locator(".rs-caption:has(.rs-placeholderline)").all()]
        assert min(heights) > 20, "each line of what is to come has its place"
        assert "loading the model, 25 %" in page.locator(".rs-captioncard header").first.inner_text()
        assert page.locator(".rs-captionlist .rs-words:visible").count() == 0, "those were about another picture"
        expect(filled(page).locator("h3")).to_have_text(f"Without the {held[0]}")
        expect(filled(page).locator("header")).to_contain_text("of the image filled")
        expect(filled(page).locator(".rs-image").first).not_to_have_attribute("src", before or "")
        while not asked_again:
            page.wait_for_timeout(50)
        asked_again[0].continue_()
        page.unroute("**/objects/query")
        expect(page.locator(".rs-captioncard header").first).to_contain_text("for the filled image", timeout=FIRST)
        expect(page.locator(".rs-placeholderline")).to_have_count(0)


def test_hostile_captions_stay_text(folder: Page) -> None:
    page = folder
    line = page.locator(".rs-captionlist:not(.rs-before-removal) .rs-words", has_text="onerror").first
    line.locator(".rs-unseen").evaluate_all("(nodes) => nodes.forEach((node) => node.remove())")
    assert line.text_content() == HOSTILE
    expect(page.locator(".rs-words img, .rs-words b")).to_have_count(0)
    assert page.evaluate("window.hacked") is None


def test_everything_by_key(folder: Page) -> None:
    page = folder
    original(page).get_by_role("button", name="dog").focus()
    page.keyboard.press("Enter")
    expect(filled(page).locator("h3")).to_have_text("Without the dog")
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
    expect(filled(page).locator("h3")).to_have_text("Without the frisbee")


@pytest.mark.long
def test_brush_and_box(folder: Page) -> None:
    page = folder
    canvas = original(page).get_by_role("application")
    original(page).get_by_text("Brush", exact=True).first.click()
    original(page).get_by_label("What is drawn").fill("cat")
    drag(page, canvas, (0.2, 0.5, 0.5, 0.8))
    expect(filled(page).locator("h3")).to_have_text("Without the cat")
    brushed = filled(page).locator(".rs-sideabout").text_content()
    original(page).get_by_role("button", name="Clear").click()
    original(page).get_by_text("Box", exact=True).click()
    drag(page, canvas, (0.1, 0.3, 0.6, 0.9))  # named by the model itself
    expect(original(page).locator(".rs-guess")).to_have_count(5, timeout=FIRST)
    expect(filled(page).locator(".rs-sideabout")).not_to_have_text(brushed or "")
    expect(filled(page).locator(".rs-sideabout")).to_contain_text(re.compile(r"^3[0-2] % of the image filled"))
    guess = original(page).locator(".rs-guess").nth(2)
    guess.click()
    name = guess.locator("span").first.text_content()
    expect(filled(page).locator("h3")).to_contain_text(f"Without the {name}")


def test_an_own_image(opened: Page) -> None:
    page = opened
    file = page.locator(".rs-object input[type=file]")
    file.set_input_files({"name": "möwe.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
    expect(filled(page)).to_contain_text("Mark what to remove")
    expect(page.locator(".rs-captions .rs-unasked").first).to_contain_text("Mark something in the image above")
    expect(page.locator(".rs-captions .rs-placeholderline")).to_have_count(0)  # nothing is on its way
    original(page).get_by_label("What is drawn").fill("dog")
    drag(page, original(page).get_by_role("application"), (0.1, 0.4, 0.5, 0.9))
    expect(filled(page).locator("h3")).to_have_text("Without the dog")
    expect(page.locator(".rs-modelnote").first).to_contain_text("does not know photographs")
    with page.expect_download() as download:
        filled(page).get_by_role("button", name="Download the filled image").click()
    assert download.value.suggested_filename == "rankscope-without-the-dog.png"


def test_a_new_image_begins_with_nothing_drawn(opened: Page) -> None:
    inked = "(c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value > 0)"
    page = opened
    for _ in range(2):
        file = page.locator(".rs-object input[type=file]")
        before = original(page).locator(".rs-image").get_attribute("src") or ""
        file.set_input_files({"name": "a.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
        expect(original(page).locator(".rs-image")).not_to_have_attribute("src", before)
        canvas = original(page).get_by_role("application")
        page.wait_for_function(f"(c) => !({inked})(c)", arg=canvas.element_handle())
        original(page).get_by_text("Brush", exact=True).first.click()
        original(page).get_by_label("What is drawn").fill("dog")
        drag(page, canvas, (0.2, 0.5, 0.5, 0.8))
        expect(filled(page).locator("h3")).to_have_text("Without the dog")
        assert canvas.evaluate(inked)


@pytest.mark.long
def test_a_broken_image_is_refused_in_a_sentence(browser: Browser, site: Site) -> None:
    refused = False
    with contextlib.suppress(AssertionError), tab(browser, site) as page:  # the browser logs the refusal as an error
        file = page.locator(".rs-object input[type=file]")
        before = original(page).locator(".rs-image").get_attribute("src")
        file.set_input_files({"name": "x.jpg", "mimeType": "image/jpeg", "buffer": b"no picture"})
        expect(page.locator(".rs-object > .rs-alert")).to_contain_text("not an image that can be read")
        expect(original(page).locator(".rs-image")).to_have_attribute("src", before or "")
        refused = True
    assert refused


def test_captions_are_saved_as_csv(folder: Page) -> None:
    page = folder
    with page.expect_download() as download:
        page.get_by_role("button", name="Captions CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("image,removed,fill,model,for,rank,similarity,verdict,change,caption")
    assert len(lines) == 1 + 2 * 2 * 5 and ",frisbee,Telea,Tiny CLIP,filled image,1," in lines[1]


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


def test_fine_tuning_is_started_followed_and_stopped(opened: Page) -> None:
    page = opened
    section = page.get_by_role("region", name="Fine-tune on object-removed images")
    section.get_by_role("button", name="Compare with another recipe").click()
    expect(section.locator(".rs-recipe")).to_have_count(2)
    expect(section.locator(".rs-recipe").nth(1).get_by_label("Filled with")).to_be_disabled()
    section.get_by_label("Steps").fill("30")
    section.get_by_role("button", name="Fine-tune this model").click()
    expect(section.locator(".rs-followline")).to_contain_text("queue")  # nothing trains here
    expect(section.locator(".rs-follow .rs-armkey li")).to_have_count(2)
    assert findings(page, "#object-view") == []
    section.get_by_role("button", name="Stop", exact=True).click()
    expect(section.locator(".rs-followline")).to_contain_text("Stopped")


def test_a_preset_says_how_it_trains_and_a_recipe_counts_pairs(opened: Page, site: Site) -> None:
    page = opened
    section = page.get_by_role("region", name="Fine-tune on object-removed images")
    card = section.locator(".rs-recipe")
    expect(card.first).to_contain_text("Removed pairs of image and caption: 0.08 for each original one")
    section.get_by_label("Recipes").select_option("figure4")
    expect(card).to_have_count(4)
    for index, ratio in enumerate(("0.02", "0.08", "0.20", "0.40")):
        expect(card.nth(index)).to_contain_text(f"{ratio} for each original one")
        expect(card.nth(index).locator("h3")).to_have_text(re.compile(f", {ratio} pairs for each original$"))
        expect(card.nth(index).get_by_label("Captions each")).to_have_value("5")
    for name in ("figure4", "table3_fills", "table3_texts", "appendix_b", "compare"):
        section.get_by_label("Recipes").select_option(name)
        titles = card.locator("h3").all_text_contents()
        assert len(set(titles)) == len(titles), titles
    section.get_by_role("button", name="Compare with another recipe").click()
    section.get_by_role("button", name="Compare with another recipe").click()
    assert len(set(card.locator("h3").all_text_contents())) == 4  # equal ones are numbered
    section.get_by_label("Recipes").select_option("paper")
    expect(section.get_by_label("Epochs", exact=True)).to_be_visible()
    for name, value in {"Steps": "", "Epochs": "10", "Batch": "256", "Weight decay": "0"}.items():
        expect(section.get_by_label(name, exact=True)).to_have_value(value)
    expect(section.get_by_label("Optimiser")).to_have_value("adam")
    expect(section.get_by_label("Learning rate")).to_have_value("0.0002")
    section.get_by_label("Batch", exact=True).fill("32")
    earlier = set(site.root.glob("*/config.json"))
    section.get_by_role("button", name="Fine-tune this model").click()
    while not (made := set(site.root.glob("*/config.json")) - earlier):  # the line may still tell of an earlier run
        page.wait_for_timeout(100)
    expect(section.locator(".rs-followline")).to_contain_text("queue")
    (newest,) = made
    config = read_config(newest.read_text())
    assert (config.epochs, config.steps, config.minutes, config.halve_every) == (10, None, None, 2)
    assert config.kind == "finetuning" and (config.batch, config.optimiser) == (32, "adam")
    section.get_by_role("button", name="Stop", exact=True).click()
    expect(section.locator(".rs-followline")).to_contain_text("Stopped")


@pytest.mark.long
def test_a_phone_scrolls_down_only(browser: Browser, site: Site) -> None:
    with tab(browser, site, size=PHONE, touch=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        sides = [side.bounding_box() for side in (original(page), filled(page))]
        assert sides[0] and sides[1] and sides[1]["y"] > sides[0]["y"] + sides[0]["height"]
        small = "(nodes) => nodes.filter((n) => n.offsetHeight && n.offsetHeight < 44).map((n) => n.outerHTML)"
        assert page.locator(".rs-settings select, .rs-images .rs-act, .rs-side .rs-act").evaluate_all(small) == []


@pytest.mark.long
@pytest.mark.parametrize("size", [PHONE], ids=["phone"])
def test_no_serious_finding(browser: Browser, site: Site, size: tuple[int, int]) -> None:
    with tab(browser, site, size=size) as page:
        for fold in page.locator(".rs-object details > summary").all():
            fold.click()
        original(page).get_by_text("Brush", exact=True).first.click()
        assert findings(page, "#object-view") == []
        darken(page, ".rs-object")
        assert findings(page, "#object-view") == []
