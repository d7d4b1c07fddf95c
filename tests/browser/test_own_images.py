"""Images of one's own: dropped or chosen, seen, refused in a sentence, and trained on by the whole program."""

from __future__ import annotations

import base64
import io
import zipfile
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import until, visit
from tests.browser.program import launched
from tests.browser.sidebar import config, fill, leave_queue, named, row, train, train_on, unfold
from tests.tiny import write_images
from tests.waiting import wait
from trainers.runs import RunFolder, list_runs
from trainers.runs.lock import is_locked

# what a person drags from their desktop: files by name and content in base64
_DROP = """(box, files) => {
  const given = new DataTransfer();
  for (const [name, content] of files)
    given.items.add(new File([Uint8Array.from(atob(content), (one) => one.charCodeAt(0))], name));
  for (const type of ["dragover", "drop"])
    box.dispatchEvent(new DragEvent(type, { dataTransfer: given, bubbles: true, cancelable: true }));
}"""


def zipped(folder: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(folder.rglob("*.png")):
            archive.write(path, path.relative_to(folder))
    return made.getvalue()


def drop(page: Page, **files: bytes) -> None:
    given = [[name.replace("__", "."), base64.b64encode(content).decode()] for name, content in files.items()]
    page.locator(".rs-imagesbox").evaluate(_DROP, given)


def drag(page: Page, path: Path, over: Locator, *events: str) -> None:
    """Drag a file or folder of the disk as the browser itself would."""
    box = over.bounding_box()
    assert box
    session = page.context.new_cdp_session(page)
    dragged = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for event in events:
        session.send(
            "Input.dispatchDragEvent", {"type": event, "x": box["x"] + 20, "y": box["y"] + 20, "data": dragged}
        )
    session.detach()


def test_the_whole_way_to_the_end_and_a_kill(browser: Browser, tmp_path: Path) -> None:
    """``python app.py``, a folder of images, Train, moving maps, and a killed page, which takes its trainer along."""
    images = write_images(tmp_path / "images", each=8)
    with launched(tmp_path) as program:
        site = program.site
        with visit(browser, site, site.at(site.finished)) as page:
            run_id = train_on(page, images, "0.15")
            until(page, "s.run === a && s.k !== null", run_id, timeout=120_000)
            expect(page.locator(".rs-card")).to_have_count(2)
            until(page, "s.frames > 1 && s.k > 0", timeout=120_000)
            until(page, "s.phase === 'finished'", timeout=90_000)
            expect(row(page)).to_be_hidden()
            grey, found = (page.locator(f"{part} .rs-untrainedrow") for part in (".rs-untrained", ".rs-neighbours"))
            expect(grey.nth(1)).to_contain_text("Colour")
            expect(page.locator(".rs-levelname", has_text="Colour").first).to_be_attached()
            page.locator(".rs-neighbours summary", has_text="Without training").click()
            expect(found).to_have_count(grey.count())
            folder = RunFolder.open(site.root, run_id)
            wait(lambda: folder.frames()[-1:] == [folder.snapshots()[-1][0]])
            keys = {scalar.key for scalar in folder.scalars()}
            assert {"loss", "R_at_1", "HAP", "test/R_at_1", "train_R_at_1"} <= keys
            assert folder.state().step > 5
            fill(page, "Budget in minutes", "5")
            killed = RunFolder.open(site.root, train(page))
            wait(lambda: killed.state().step > 3)
        program.process.kill()
        program.process.wait()
        wait(lambda: not is_locked(killed.path), 2)
        checkpoint = killed.read_checkpoint()
        assert checkpoint is not None and checkpoint[1]["step"] > 3
        assert killed.state().phase == "interrupted"
        assert killed.id in {run.id for run in list_runs(site.root)}


def test_zips_and_folders_are_dropped_seen_and_trained_on(browser: Browser, public: Site, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "pears")
    with visit(browser, public, public.at(public.finished)) as page:
        report, own = page.locator(".rs-report"), page.locator(".rs-ownimages")
        drop(page, fruit__zip=zipped(write_images(tmp_path / "images", groups=2)))
        expect(report).to_contain_text("fruit.")
        expect(report).to_contain_text("Classes: 2 › 14")
        images = report.get_by_role("list", name="Some of the images")
        expect(images.get_by_role("listitem")).to_have_count(5)
        expect(images).to_contain_text("group0 › colour00")
        assert images.locator("img").first.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 56
        images.get_by_role("button", name="colour00").first.press("Enter")
        original = page.get_by_role("dialog", name="The original image")
        expect(original).to_contain_text("group0/colour00/0.png: 24 x 24 pixels")
        page.keyboard.press("Escape")
        expect(original).to_be_hidden()
        expect(images.get_by_role("button", name="colour00").first).to_be_focused()
        fill(page, "Name of the level group", "aisle")
        expect(report).to_contain_text("(aisle › class)")
        unfold(page)
        for label, value in (("Classes per batch", "4"), ("Images per class", "3")):
            fill(page, label, value)
        run = train(page)
        leave_queue(page)
        chosen = config(public, run)["data"]
        assert chosen["source"].startswith("dropped/") and chosen["level_names"] == ["", "aisle"]
        drop(page, train__zip=zipped(folder), test__zip=zipped(folder))  # the two splits
        expect(report).to_contain_text("Read as folders: test.zip (84 images), train.zip (84 images).")
        expect(report).to_contain_text("Classes: 2 › 14 (group › class)")
        named(page, "Images").select_option("")
        page.locator(".rs-ownimages input[webkitdirectory]").set_input_files(folder)
        expect(report).to_contain_text("pears.")
        expect(own).to_contain_text("84 files")
        drop(page, notes__docx=b"no image")
        expect(own.get_by_role("alert")).to_contain_text("No image or zip file")
        drop(page, broken__zip=b"PK no zip")
        expect(report.get_by_role("alert")).to_contain_text("broken.zip")


def test_files_dropped_beside_the_box_replace_no_page(browser: Browser, public: Site, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "plums")
    (tmp_path / "empty").mkdir()
    with visit(browser, public, public.at(public.finished)) as page:
        report, box, plot = (page.locator(name) for name in (".rs-report", ".rs-imagesbox", ".rs-plot >> nth=0"))
        dragging = page.locator(".rs-dragging")
        drag(page, tmp_path / "empty", box, "dragEnter", "dragOver", "drop")
        expect(box.get_by_role("alert")).to_contain_text("No image or zip file")
        photo = folder / "train" / "colour00" / "0.png"
        drag(page, photo, plot, "dragEnter", "dragOver")
        expect(dragging).to_be_visible()
        expect(box).to_have_css("outline-style", "dashed")
        drag(page, photo, plot, "drop")
        expect(dragging).to_have_count(0)
        expect(report).to_contain_text("sub-folder per class")
        assert page.url == public.at(public.finished) and len(page.context.pages) == 1
