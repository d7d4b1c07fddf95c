"""What other sites, and requests that make no sense, may do to a page that is served to this machine alone."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from explorer.server.guard import LARGEST
from explorer.server.hosts import ANOTHER_SITE, from_another_site, given_host, is_own
from explorer.server.root import given_root
from explorer.settings import Settings
from tests.campaigns._malformed import Malformed, calls_of, routes_of
from tests.campaigns.fuzz import ask
from tests.explorer.page import error
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served, served

pytestmark = GRADIO_WARNINGS


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("local")) as page:
        yield page


def test_gradios_upload_takes_nothing(local: Served) -> None:
    folder = Path(local.explorer.blocks.GRADIO_CACHE)
    before = set(folder.rglob("*"))
    for address in ("/gradio_api/upload", "/gradio_api/upload/", "/gradio_api/upload?upload_id=1"):
        reply = local.client.post(address, files={"files": ("a.bin", b"x" * 100_000)})
        assert reply.status_code == 404
    assert set(folder.rglob("*")) == before
    for address in ("deep_link?session_hash=x", "proxy=http://127.0.0.1/", "process_recording", "component_server"):
        assert local.client.get(f"/gradio_api/{address}").status_code == 404


def test_a_request_has_an_end(local: Served) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"data": ["'
        for _ in range(LARGEST // 2**20 + 1):
            yield b"x" * 2**20

    reply = local.client.post(
        "/gradio_api/run/list_runs", content=endless(), headers={"content-type": "application/json"}
    )
    assert "At most" in error(reply)


def test_a_request_of_many_small_values_is_not_read(local: Served) -> None:
    many = '{"data": [' + "[]," * 100_000 + "0]}"
    for path in ("/gradio_api/run/list_runs", "/nowhere", f"{PREFIX}/objects/query"):
        assert "commas and brackets" in error(local.post(path, many))
    long = {"data": ["," * 1000 + "x" * 2**20]}
    assert local.post("/nowhere", long).status_code == 404


# ---------------------------------------------------------------------- other sites


@pytest.mark.parametrize(
    "path", ["/", "/config", "/gradio_api/info", f"{PREFIX}/runs", f"{PREFIX}/assets/page/sidebar.js"]
)
def test_a_local_page_answers_under_its_own_names_only(local: Served, path: str) -> None:
    port = httpx.URL(local.url).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "", "192.168.1.9"):
        assert "served to this machine alone" in error(local.client.get(path, headers={"host": host})), host
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", "LOCALHOST"):
        assert local.client.get(path, headers={"host": host}).status_code == 200, host


def test_other_names_are_known_where_they_are_given() -> None:
    assert is_own("lab.example:80", Settings(runs=Path("runs"), hosts=("lab.example",)))
    wide = Settings(runs=Path("runs"), host="0.0.0.0")
    assert is_own("192.168.1.9:7860", wide) and not is_own("evil.example", wide)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Demo.Example.org", "demo.example.org"),
        ("https://demo.example.org:8443/tools/", "demo.example.org:8443"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("fd00::1", "[fd00::1]"),
        (" [::1]:80 ", "[::1]:80"),
    ],
)
def test_names_are_read_as_people_write_them(text: str, host: str) -> None:
    assert given_host(text) == host
    assert is_own(host, Settings(runs=Path("runs"), hosts=(host,)))


BEHIND: list[tuple[str, dict[str, str], bool]] = [
    # what the proxy passes on, and whether it is the page's own
    ("lab.example", {"host": "lab.example", "origin": "http://lab.example"}, True),
    ("lab.example", {"host": "lab.example:443", "origin": "https://lab.example"}, True),
    ("lab.example", {"host": "127.0.0.1:7860", "origin": "http://lab.example"}, False),
    ("lab.example", {"host": "127.0.0.1", "origin": "http://lab.example", "x-forwarded-host": "lab.example"}, True),
    ("lab.example", {"host": "127.0.0.1", "origin": "http://lab.example:81", "x-forwarded-host": "lab.example"}, False),
    ("lab.example", {"host": "127.0.0.1", "origin": "http://evil.example", "x-forwarded-host": "evil.example"}, False),
    ("lab.example", {"host": "127.0.0.1", "origin": "http://evil.example", "x-forwarded-host": "lab.example"}, False),
    ("lab.example", {"host": "lab.example", "origin": "http://lab.example:8888"}, False),
    ("lab.example:8888", {"host": "lab.example", "origin": "http://lab.example:8888"}, True),
    ("lab.example:8888", {"host": "127.0.0.1:7860", "origin": "http://lab.example:8888"}, True),
    ("lab.example:8888", {"host": "127.0.0.1:7860", "origin": "http://lab.example"}, False),
    ("lab.example:80", {"host": "127.0.0.1:7860", "origin": "http://lab.example"}, True),
    ("lab.example:8888", {"origin": "http://lab.example:8888", "sec-fetch-site": "same-site"}, False),
    ("lab.example", {"host": "127.0.0.1", "origin": "http://lab.example", "sec-fetch-site": "same-origin"}, True),
    ("lab.example", {"host": "", "origin": "null"}, False),
]


@pytest.mark.parametrize(("name", "headers", "own"), BEHIND)
def test_behind_a_proxy_other_sites_are_told_from_the_page(name: str, headers: dict[str, str], own: bool) -> None:
    assert from_another_site(headers, Settings(runs=Path("runs"), hosts=(name,))) is not own


def test_a_page_on_a_network_believes_no_forwarded_host() -> None:
    """Another site's page can write this header there."""
    headers = {"host": "10.0.0.2:7860", "origin": "http://lab.example", "x-forwarded-host": "lab.example"}
    assert from_another_site(headers, Settings(runs=Path("runs"), host="0.0.0.0", hosts=("lab.example",)))


def test_the_header_that_is_missing_is_named(local: Served) -> None:
    said = error(local.run("list_runs", origin="http://lab.example:81"))
    assert "the header Host" in said and "--allow-host lab.example:81." in said
    assert "--allow-host lab.example." in error(local.client.get("/", headers={"host": "lab.example"}))
    assert error(local.run("list_runs", origin="http://<b>")) == ANOTHER_SITE


def test_another_sites_page_reads_nothing(local: Served) -> None:
    for path in ("/config", "/gradio_api/info", f"{PREFIX}/runs"):
        assert ANOTHER_SITE in error(local.client.get(path, headers={"origin": "http://evil.example"}))
        assert local.client.get(path, headers={"origin": local.url}).status_code == 200


def test_below_a_path_the_same_is_closed_and_open(tmp_path: Path) -> None:
    with served(tmp_path, root_path="/tools") as page:
        for begin in ("", "/tools"):
            for path in ("/", "/config", f"{PREFIX}/runs", f"{PREFIX}/assets/page/sidebar.js", "/gradio_api/info"):
                assert page.client.get(f"{begin}{path}").status_code == 200, begin
            assert page.client.post(f"{begin}/gradio_api/upload", files={"files": b"x"}).status_code == 404
            assert "JSON was needed" in error(page.client.post(f"{begin}{PREFIX}/objects/query", content=b"x"))
            sent = page.post(f"{begin}{PREFIX}/objects/upload", "x", **{"content-type": "image/png"})
            assert sent.status_code != 415
        assert page.client.get("/tools").status_code == 200
        assert page.client.get(f"/tools/tools{PREFIX}/runs").status_code == 404
        assert page.client.get(f"/toolsmith{PREFIX}/runs").status_code == 404


def test_the_page_takes_its_address_from_the_browser(local: Served) -> None:
    text = local.client.get("/").text
    assert text.count('"root":"."') == 1 and 'const root = ".";' in text
    assert local.client.get("/config").json()["root"] == local.url, "programs are told the whole address"


@pytest.mark.parametrize(
    ("text", "path"),
    [("", ""), ("/", ""), ("tools", "/tools"), ("/a//b/", "/a/b"), ("https://x.example/a/", "/a"), ("/~me", "/~me")],
)
def test_paths_are_read_as_people_write_them(text: str, path: str) -> None:
    assert given_root(text) == path


def test_another_sites_page_changes_nothing(local: Served) -> None:
    port = httpx.URL(local.url).port
    event = {"data": [], "fn_index": 1, "session_hash": "a"}
    posts = [
        ("/gradio_api/queue/join", event),
        ("/gradio_api/call/list_runs", {"data": []}),
        (f"{PREFIX}/objects/score", {}),
    ]
    for path, body in posts:
        for origin in ("https://evil.example", "null", f"http://localhost:{port + 1}", "http://[::1", "//"):
            assert "Another site's page" in error(local.post(path, body, origin=origin)), origin
        assert "Another site's page" in error(local.post(path, body, **{"sec-fetch-site": "cross-site"}))
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            assert "JSON was needed" in error(local.post(path, body, **{"content-type": kind})), kind
    assert local.run("list_runs", origin=local.url).status_code == 200
    assert local.client.post(f"{PREFIX}/objects/upload", content=b"x").status_code == 415


def test_no_other_page_shows_it_in_a_frame(local: Served) -> None:
    for path in ("/", f"{PREFIX}/runs"):
        headers = local.client.get(path).headers
        assert headers["content-security-policy"] == "frame-ancestors 'self'"
        assert headers["x-frame-options"] == "SAMEORIGIN"


# ------------------------------------------------------------------ malformed requests


@pytest.mark.parametrize("each", [pytest.param(300, marks=pytest.mark.long), 40])
def test_nothing_malformed_is_an_error_of_the_server(
    local: Served, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, each: int
) -> None:
    caplog.set_level(logging.ERROR)
    makers = Malformed(random.Random(0), "0" * 26, routes_of(local.explorer), calls_of(local.client)).kinds()
    del makers["image bombs"]
    port = int(local.url.rpartition(":")[2])
    for make in (make for make in makers.values() for _ in range(each)):
        assert ask(make(), port) is None
    output = capfd.readouterr()
    assert "Traceback" not in output.err + output.out
    assert not [record for record in caplog.records if record.exc_info]


def test_a_session_that_is_no_text_spoils_no_other(local: Served) -> None:
    assert error(local.post("/gradio_api/queue/join", '{"data": [], "fn_index": 0, "session_hash": "\\ud800"}'))
    assert "There is no loss" in error(
        local.run("start_run", ["nope"], "drawn", None, "small_conv", None, "m_per_class", None, "", None)
    )
