"""Photographs that come through Gradio's component: what is taken, kept, served and opened."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import httpx
import numpy as np
import pytest
from PIL import Image

from explorer.page import parts
from explorer.page.tab import Shared, Tab
from explorer.server import photographs
from explorer.server.http import GoneError, RequestError
from explorer.server.native_uploads import UPLOAD, one_file
from explorer.server.photographs import LARGEST, Photographs
from explorer.server.turns import Turns
from explorer.tabs import TABS
from tests.data.world import encode
from tests.explorer.page import error
from tests.explorer.served_page import GRADIO_WARNINGS, Served, served

COLOURS = np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)
PNG = encode(COLOURS)


def build(shared: Shared) -> None:
    """A tab that says how large a photograph is."""
    photo = parts.photograph("Yours")

    def size(path: str) -> str:
        picture = shared.photographs.opened(path)
        return f"{picture.width} x {picture.height}"

    photo.upload(size, photo, gr.Textbox(), api_name="size")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    own = Tab(name="own", title="Own", order=99, build=build)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("explorer.explorer.TABS", {**TABS, "own": own})
        with served(tmp_path_factory.mktemp("page"), public=True) as page:
            yield page


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Photographs]:
    made = Photographs(tmp_path, Turns(strict=False))
    yield made
    made.close()
    assert list(tmp_path.iterdir()) == []


def sent(page: Served, data: bytes, name: str = "photo.png", **headers: str) -> httpx.Response:
    return page.client.post(UPLOAD, files={"files": (name, data)}, headers=headers)


def asked(page: Served, path: object, **more: object) -> httpx.Response:
    return page.run("size", {"path": path, "meta": {"_type": "gradio.FileData"}, **more})


# ---------------------------------------------------------------------- what is taken

pytestmark = GRADIO_WARNINGS


@pytest.mark.parametrize("name", ["photo.png", "PHOTO.JPG", "blob", "", "../../../x.png", 'a"b\r\n.png', "x" * 300])
def test_a_photograph_is_kept_under_a_name_of_ours_and_shown(page: Served, name: str) -> None:
    (path,) = sent(page, PNG, name or "blob").json()
    assert Path(path).name == "photograph.png" and Path(path).read_bytes() == PNG
    reply = page.client.get(f"/gradio_api/file={path}")
    assert (reply.content, reply.headers["content-type"]) == (PNG, "image/png")
    assert asked(page, path).json()["data"] == ["64 x 48"]


@pytest.mark.parametrize("name", ["x.exe", "x.html", "x.svg", "x.png.html", "x.HTM"])
def test_the_name_is_a_pictures(page: Served, name: str) -> None:
    reply = sent(page, PNG, name)
    assert reply.status_code == 400 and reply.text.startswith("This file is not an image that can be read.")


@pytest.mark.parametrize("data", [b"", b"MZ\0\0", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<html>", PNG[:90]])
def test_the_content_is_a_pictures(page: Served, data: bytes) -> None:
    reply = sent(page, data)
    assert (
        reply.status_code == 400 and reply.text.endswith(".") and reply.headers["content-type"].startswith("text/plain")
    )


def test_a_larger_file_is_refused_before_it_is_received(page: Served) -> None:
    assert sent(page, bytes(LARGEST + 10_000)).text == "At most 30 MB can be sent here. Send less."


def test_only_one_file_is_taken_and_nothing_beside_it(page: Served) -> None:
    one = ("files", ("a.png", PNG))
    for given in ({"files": [one, one]}, {"files": [one], "data": {"x": "1"}}, {"files": [("file", ("a.png", PNG))]}):
        reply = page.client.post(UPLOAD, **given)  # type: ignore[arg-type]
        assert (reply.status_code, reply.text[:14]) == (400, "One image file"), given.keys()
    assert page.client.post(UPLOAD, json={}).status_code == 415


def test_what_is_sent_is_read_as_browsers_write_it() -> None:
    kind = "multipart/form-data; boundary=xyz"
    body = b'--xyz\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n\r\n--x\r\n--xyz--\r\n'
    assert one_file(kind, body) == ("a.png", b"\r\n--x")
    for broken in (b"", body[:-6], body[2:], body.replace(b"filename", b"name")):
        with pytest.raises(RequestError, match="One image file"):
            one_file(kind, broken)
    with pytest.raises(RequestError, match="One image file"):
        one_file("multipart/form-data", body)


def test_another_sites_page_sends_nothing_to_a_public_page_either(page: Served) -> None:
    for header in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert "Another site's page" in error(sent(page, PNG, **header))
    assert sent(page, PNG, origin=page.url).status_code == 200


# ------------------------------------------------------------------------ what is opened


def test_an_event_opens_photographs_alone(page: Served) -> None:
    (path,) = sent(page, PNG).json()
    folder = Path(path).parent
    (folder.parent / "other.png").write_bytes(PNG)
    for odd in (
        "/etc/passwd",
        str(folder),
        f"{folder}/original",
        f"{folder.parent}/other.png",
        f"{folder}/../other.png",
    ):
        assert asked(page, odd).status_code == 400, odd
    for odd in ("https://example.org/a.png", "http://127.0.0.1/", "ftp://x/", "file:///etc/passwd", " https://x/"):
        assert "got the address of another one" in error(asked(page, odd)), odd
    assert asked(page, None, url="data:image/png;base64,AAAA").status_code == 400
    assert page.run("size", None).status_code == 400


def test_pixels_are_upright_and_on_white(kept: Photographs) -> None:
    out, turned = io.BytesIO(), Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(COLOURS).save(out, "PNG", exif=turned)
    picture = kept.opened(str(kept.add(out.getvalue(), "a.png")))
    assert np.array_equal(picture.pixels, np.rot90(COLOURS, -1)) and (picture.width, picture.height) == (48, 64)
    clear = encode(np.zeros((20, 20, 4), np.uint8))
    assert kept.opened(str(kept.add(clear))).pixels.min() == 255


def test_what_browsers_cannot_show_is_shown_as_png_and_read_as_it_is(kept: Photographs) -> None:
    deep = encode(np.arange(4096, dtype=np.uint16).reshape(64, 64), "TIFF")
    path = kept.add(deep, "scan.tif")
    assert path.suffix == ".png" and Image.open(path).size == (64, 64)
    assert kept.data(str(path)) == deep


def test_of_a_large_file_a_smaller_one_is_kept(kept: Photographs) -> None:
    large = encode(np.full((3000, 2000, 3), 128, np.uint8), "BMP")
    path = kept.add(large, "a.bmp")
    assert Image.open(path).size == (1024, 1536) and len(kept.data(str(path))) < 1_000_000


def test_what_is_not_used_is_removed(kept: Photographs, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept.add(PNG)
    kept.sweep()
    assert path.exists()
    monkeypatch.setattr(photographs, "AGE", 0.0)
    kept.sweep()
    assert not path.exists()
    with pytest.raises(GoneError, match="no longer kept"):
        kept.opened(str(path))
