"""A photograph of the visitor's own, sent through Gradio's component."""

from __future__ import annotations

from collections.abc import Iterator

import gradio as gr
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from explorer.page import parts
from explorer.page.blocks import QUIET
from explorer.page.tab import Shared, Tab
from explorer.server.visitors import caller
from explorer.tabs import TABS
from tests.browser.conftest import Site, serve
from tests.browser.pages import new_page, profile
from tests.data.bombs import BOMBS
from tests.data.world import encode
from tests.synthetic import make_run

PHOTO = encode(np.tile(np.arange(96, dtype=np.uint8)[None, :, None], (64, 1, 3)), "JPEG")


def build(shared: Shared) -> None:
    photo = parts.photograph("A photograph of your own", elem_id="own")
    said = gr.Markdown(elem_id="said")

    def read(path: str, request: gr.Request) -> str:
        height, width, _ = shared.photographs.opened(path, caller(request).address).pixels.shape
        return f"{width} x {height}"

    photo.upload(read, photo, said, **QUIET)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        own = Tab(name="own", title="Own", order=99, build=build)
        patch.setattr("explorer.explorer.TABS", {**TABS, "own": own})
        with serve(root, make_run(root, points=60, frames=2), public=True) as served:
            yield served


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    with profile(browser, site.url) as context:
        page = new_page(context)
        page.goto(site.url)
        page.get_by_role("tab", name="Own").click()
        yield page


def send(page: Page, name: str, data: bytes) -> None:
    page.locator("#own input[type=file]").set_input_files({"name": name, "mimeType": "image/png", "buffer": data})


def test_a_file_is_shown_and_read(page: Page) -> None:
    send(page, "holiday.jpg", PHOTO)
    expect(page.locator("#said")).to_have_text("96 x 64")
    expect(page.locator("#own img")).to_be_visible()
    assert page.evaluate("() => document.querySelector('#own img').naturalWidth") == 96


@pytest.mark.parametrize("name", ["scans", "TIFF"])
def test_what_is_refused_is_said(page: Page, name: str) -> None:
    data, words = BOMBS[name]
    send(page, "x.png", data)
    expect(page.get_by_test_id("toast-body")).to_contain_text(words)


def test_a_picture_is_pasted(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(
        """async (bytes) => {
          const item = new Blob([new Uint8Array(bytes)], { type: "image/png" });
          await navigator.clipboard.write([new ClipboardItem({ "image/png": item })]);
        }""",
        list(encode(np.full((40, 30, 3), 9, np.uint8))),
    )
    page.locator("#own").get_by_role("button", name="Paste from clipboard").click()
    expect(page.locator("#said")).to_have_text("30 x 40")
