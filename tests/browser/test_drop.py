"""Images of one's own, dropped on the images box or chosen there: seen, trained on, refused in a sentence."""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import sidebar
from tests.browser.conftest import Site, serve
from tests.browser.pages import visit
from tests.synthetic import make_run
from tests.tiny import write_images

# what a person drags from their desktop: files by name and content in base64
_DROP = """(box, files) => {
  const given = new DataTransfer();
  for (const [name, content] of files)
    given.items.add(new File([Uint8Array.from(atob(content), (one) => one.charCodeAt(0))], name));
  for (const type of ["dragover", "drop"])
    box.dispatchEvent(new DragEvent(type, { dataTransfer: given, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("public")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKSCOPE_CACHE", str(root / "cache"))
        with serve(root, make_run(root, points=60, frames=2), public=True) as served:
            yield served


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


def test_a_dropped_zip_is_seen_and_trained_on(browser: Browser, public: Site, tmp_path: Path) -> None:
    content = zipped(write_images(tmp_path / "images", groups=2))
    with visit(browser, public, public.at(public.finished)) as page:
        drop(page, fruit__zip=content)
        report = page.locator(".rs-report")
        expect(report).to_contain_text("fruit.")
        expect(report).to_contain_text("Classes: 14 › 2")
        images = report.get_by_role("list", name="Some of the images")
        expect(images.get_by_role("listitem")).to_have_count(5)
        expect(images).to_contain_text("colour00 › group0")
        assert images.locator("img").first.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 56
        sidebar.unfold(page)
        for label, value in (("Classes per batch", "4"), ("Images per class", "3")):
            sidebar.fill(page, label, value)
        run = sidebar.train(page)
        sidebar.leave_queue(page)
    assert sidebar.config(public, run)["data"]["source"].startswith("dropped/")


def test_two_dropped_zips_are_the_splits(browser: Browser, public: Site, tmp_path: Path) -> None:
    content = zipped(write_images(tmp_path / "images"))
    with visit(browser, public, public.at(public.finished)) as page:
        drop(page, train__zip=content, test__zip=content)
        report = page.locator(".rs-report")
        expect(report).to_contain_text("Read as folders: test.zip (84 images), train.zip (84 images).")
        expect(report).to_contain_text("Classes: 14")


def test_a_folder_is_chosen_and_one_without_classes_is_a_sentence(
    browser: Browser, public: Site, tmp_path: Path
) -> None:
    folder = write_images(tmp_path / "pears")
    with visit(browser, public, public.at(public.finished)) as page:
        sidebar.named(page, "Images").select_option("")
        page.locator(".rs-ownimages input[webkitdirectory]").set_input_files(folder)
        expect(page.locator(".rs-report")).to_contain_text("pears.")
        expect(page.locator(".rs-ownimages")).to_contain_text("84 files")
        drop(page, **{"notes__docx": b"no image"})
        expect(page.locator(".rs-ownimages").get_by_role("alert")).to_contain_text("No image or zip file")
        drop(page, broken__zip=b"PK no zip")
        expect(page.locator(".rs-report").get_by_role("alert")).to_contain_text("broken.zip")


def test_a_folder_dropped_on_a_map_is_opened_in_the_settings(browser: Browser, public: Site, tmp_path: Path) -> None:
    folder = write_images(tmp_path / "plums")
    with visit(browser, public, public.at(public.finished)) as page:
        plot = page.locator(".rs-plot").first
        expect(page.locator(".rs-imagesbox")).to_be_visible()
        page.locator("#rs-sidebar .toggle-button").click()
        plot.hover()  # once it has moved to its place
        drag(page, folder, plot, "dragEnter", "dragOver", "drop")
        expect(page.locator(".rs-report")).to_contain_text("plums.")
        expect(page.locator(".rs-imagesbox")).to_be_in_viewport()


def test_an_empty_folder_is_a_sentence_and_a_file_beside_the_box_does_not_replace_the_page(
    browser: Browser, public: Site, tmp_path: Path
) -> None:
    photo = write_images(tmp_path / "photos") / "train" / "colour00" / "0.png"
    (tmp_path / "empty").mkdir()
    with visit(browser, public, public.at(public.finished)) as page:
        box, plot, dragging = (
            page.locator(".rs-imagesbox"),
            page.locator(".rs-plot").first,
            page.locator(".rs-dragging"),
        )
        drag(page, tmp_path / "empty", box, "dragEnter", "dragOver", "drop")
        expect(box.get_by_role("alert")).to_contain_text("No image or zip file")
        drag(page, photo, plot, "dragEnter", "dragOver")
        expect(dragging).to_be_visible()
        expect(box).to_have_css("outline-style", "dashed")
        drag(page, photo, plot, "drop")
        expect(dragging).to_have_count(0)
        expect(page.locator(".rs-report")).to_contain_text("sub-folder per class")
        assert page.url == public.at(public.finished) and len(page.context.pages) == 1
