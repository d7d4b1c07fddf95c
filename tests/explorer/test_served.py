"""The launched page as programs see it; what other sites, and requests without sense, may do to it."""

from __future__ import annotations

import json
import logging
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.explorer import Explorer
from explorer.server.assets import SHEET, Assets
from explorer.server.guard import LARGEST
from explorer.server.hosts import ANOTHER_SITE, from_another_site, given_host, is_own
from explorer.server.root import by_own_address, given_root
from explorer.server.routes import mounted
from explorer.settings import Settings
from tests.campaigns.fuzz import Malformed, ask, calls_of, routes_of
from tests.explorer.page import error
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served, bytes_by_tab, served
from tests.waiting import wait

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {
    *("/start_run", "/start_kind", "/list_kinds", "/run_status", "/stop_run", "/add_seeds", "/list_runs"),
    *(
        "/remove_object",
        "/score_objects",
        "/retrieve_images",
        "/look_at_query",
        "/list_mistakes",
        "/measure_background",
    ),
}
pytestmark = GRADIO_WARNINGS


@pytest.fixture(scope="module")
def explorer(local: Served) -> Explorer:
    return local.explorer


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Client:
    return Client(explorer.blocks.local_url, verbose=False)


def until(client: Client, run_id: str, phase: str) -> dict:
    wait(lambda: client.predict(run_id, api_name="/run_status")["phase"] == phase)
    return client.predict(run_id, api_name="/run_status")


def test_a_run_is_started_watched_and_stopped(client: Client):
    run_id = client.predict(["smooth_ap", "supcon"], api_name="/start_run")
    assert until(client, run_id, "running")["losses"] == ["smooth_ap", "supcon"]
    assert run_id in [run["id"] for run in client.predict(api_name="/list_runs")]
    client.predict(run_id, api_name="/stop_run")
    assert until(client, run_id, "stopped")["step"] > 0


def test_a_run_of_any_kind_is_started_by_its_settings(client: Client, explorer: Explorer):
    kinds = {kind["name"]: kind for kind in client.predict(api_name="/list_kinds")}
    assert {"steps", "recipes"} <= {setting["name"] for setting in kinds["finetuning"]["settings"]}
    settings = {"losses": [{"name": "supcon"}], "data": {"source": "drawn", "max_images": 200}, "seed": 3}
    run_id = client.predict("metric_learning", settings, api_name="/start_kind")
    config = explorer.library.get(run_id).config
    assert (config.seed, config.losses[0].name, config.data.max_images) == (3, "supcon", 200)
    client.predict(run_id, api_name="/stop_run")
    for wrong, words in (({"losses": ["supcon"]}, "needs its fields by name"), ({"device": "cpu"}, "no setting")):
        with pytest.raises(Exception, match=words):
            client.predict("metric_learning", wrong, api_name="/start_kind")


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("/start_run", {"losses": ["nope"]}, "There is no loss 'nope'"),
        ("/start_run", {"losses": ["supcon"], "loss_parameters": [{"temperature": 99}]}, "temperature needs"),
        ("/run_status", {"run_id": "../x"}, "A run id is 26"),
        ("/stop_run", {"run_id": "0" * 26}, "There is no run"),
        ("/remove_object", {"image": "0", "models": ["nobody"]}, "There is no model 'nobody'"),
        ("/remove_object", {"image": "9999999", "models": ["tiny_clip"]}, "there is no number 9999999"),
        ("/remove_object", {"image": "no picture", "models": ["tiny_clip"]}, "an image file in base64"),
        ("/retrieve_images", {"runs": ["0" * 26], "row": 1}, "There is no run"),
        ("/retrieve_images", {"runs": ["0" * 26], "image": "no picture"}, "An image file in base64"),
        ("/list_mistakes", {"run": "../x", "k": 0}, "k needs a whole number"),
        ("/measure_background", {"run": "0" * 26, "queries": 1}, "queries needs a whole number"),
        ("/score_objects", {"dataset": "elsewhere", "models": ["tiny_clip"]}, "is not open"),
        ("/score_objects", {"fill": "magic", "models": ["tiny_clip"]}, "There is no fill 'magic'"),
    ],
)
def test_what_is_wrong_comes_back_as_a_sentence(client: Client, name: str, arguments: dict, sentence: str):
    with pytest.raises(AppError, match=sentence):
        client.predict(**arguments, api_name=name)


def test_only_these_endpoints_are_public(client: Client):
    described = client.view_api(return_format="dict", print_info=False)
    assert set(described["named_endpoints"]) == PUBLIC
    start = described["named_endpoints"]["/start_run"]
    assert [each["parameter_name"] for each in start["parameters"]][:2] == ["losses", "images"]


def test_the_page_is_light_asks_nobody_else_and_keeps_no_connection_open(explorer: Explorer):
    config = explorer.blocks.config
    assert not [block for block in config["components"] if block["type"] in ("state", "timer")]
    assert config["connect_heartbeat"] is False
    size = len(json.dumps(config))
    taken = bytes_by_tab(config)
    assert size < 480_000, f"{size:,} characters: {taken}"
    with urllib.request.urlopen(explorer.blocks.local_url) as reply:
        page = reply.read().decode()
    assert "fonts.googleapis" not in page and "page/sidebar.js" in page


def test_importing_the_package_loads_no_page():
    """The maps' process imports the package too; Gradio would cost it seconds."""
    code = "import sys, explorer, explorer.layout; assert not {'gradio', 'torch', 'plotly'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_off_a_space_nobody_signs_in(local: Served) -> None:
    assert local.client.get(f"{PREFIX}/login").json() == {"offered": False, "name": None, "address": ""}
    assert local.client.get("/login/huggingface").status_code == 404
    assert "rs-login" not in local.client.get("/config").text


# ------------------------------------------------------------------- what is closed


def test_gradios_own_upload_takes_nothing(local: Served) -> None:
    folder = Path(local.explorer.blocks.GRADIO_CACHE)
    before = set(folder.rglob("*"))
    for address, status in (("upload", 400), ("upload?upload_id=1", 400), ("upload/", 404), ("upload//", 404)):
        reply = local.client.post(f"/gradio_api/{address}", files={"files": ("a.bin", b"x" * 100_000)})
        assert reply.status_code == status
    assert set(folder.rglob("*")) == before
    addresses = ("deep_link?session_hash=x", "proxy=http://127.0.0.1/", "file=https://example.org/", "component_server")
    for address in (*addresses, "process_recording"):
        assert local.client.get(f"/gradio_api/{address}").status_code == 404


def test_a_request_has_an_end(local: Served) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"data": ["'
        for _ in range(LARGEST // 2**20 + 1):
            yield b"x" * 2**20

    headers = {"content-type": "application/json"}
    assert "At most" in error(local.client.post("/gradio_api/run/list_runs", content=endless(), headers=headers))


def test_a_request_of_many_small_values_is_not_read(local: Served) -> None:
    many = '{"data": [' + "[]," * 100_000 + "0]}"
    for path in ("/gradio_api/run/list_runs", "/nowhere", f"{PREFIX}/objects/query"):
        assert "commas and brackets" in error(local.post(path, many))
    long = {"data": ["," * 1000 + "x" * 2**20]}
    assert local.post("/nowhere", long).status_code == 404


# ---------------------------------------------------------------------- what a browser fetches first

_LINK = re.compile(r'<link rel="(stylesheet|modulepreload)"[^>]* href="(gradio_api/[^"]+)">')


def test_styles_and_modules_of_the_first_view_are_kept_for_good(local: Served) -> None:
    page = local.client.get("/")
    assert page.headers["content-encoding"] == "gzip"
    links = _LINK.findall(page.text.partition("</head>")[0])
    kinds = [kind for kind, _ in links]
    assert kinds.count("stylesheet") == 1 and kinds.count("modulepreload") > 50
    for _, address in links:
        reply = local.client.get(f"/{address}")
        assert reply.status_code == 200 and "immutable" in reply.headers["cache-control"], address
        folder, version, name = re.fullmatch(r"(.*/)(v[0-9a-f]{16})/(.*)", address).groups()  # type: ignore[union-attr]
        old = local.client.get(f"/{folder}v{'0' * 16}/{name}")
        assert old.status_code == 200 and old.headers["cache-control"] == "no-cache", "of an earlier version"
    assert local.client.get(f"/{folder}{version}/..%2f{name}").status_code == 404


def test_a_page_of_another_form_has_its_styles_too() -> None:
    assert by_own_address(b"<head></head>", "<link>") == b"<head><link></head>"


def test_what_changes_while_the_page_is_served_is_not_kept_for_good(tmp_path: Path) -> None:
    first, second = tmp_path / "first.js", tmp_path / "second.js"
    for file in (first, second):
        file.write_text('import { a } from "./gone.js";')
    (tmp_path / ".#first.js").symlink_to(tmp_path / "nowhere")  # of an editor
    assets = Assets(tmp_path, lambda: first.read_text())
    version = assets.version()
    assert assets.imported(("first.js",)) == ["first.js"]
    client = TestClient(Starlette(routes=mounted([], assets)))

    def said(name: str) -> str:
        return client.get(f"{PREFIX}/assets/{version}/{name}").headers["cache-control"]

    assert "immutable" in said("first.js") and "immutable" in said("second.js") and "immutable" in said(SHEET)
    first.write_text("later")
    assert said("first.js") == "no-cache" and "immutable" in said("second.js") and said(SHEET) == "no-cache"
    assert client.get(f"{PREFIX}/assets/{version}/{'a' * 300}.js").status_code == 404


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("gzip", "gzip"), ("br, GZIP;q=0.5", "gzip"), ("identity", None), ("gzip;q=0", None), ("x;q=1, gzip;q=0.0", None)],
)
def test_long_answers_are_compressed_for_those_who_take_it(local: Served, accepted: str, encoding: str | None) -> None:
    for path in ("/", f"{PREFIX}/form/start"):
        reply = local.client.get(path, headers={"accept-encoding": accepted})
        assert reply.headers.get("content-encoding") == encoding and reply.headers["vary"] == "Accept-Encoding"
        assert local.client.head("/", headers={"accept-encoding": accepted}).headers.get("content-encoding") == encoding
    short = local.client.get(f"{PREFIX}/start")
    assert "content-encoding" not in short.headers


# ---------------------------------------------------------------------- other sites


@pytest.mark.parametrize(
    "path", ["/", "/config", "/gradio_api/info", f"{PREFIX}/start", f"{PREFIX}/assets/page/sidebar.js"]
)
def test_a_local_page_answers_under_its_own_names_only(local: Served, path: str) -> None:
    port = httpx.URL(local.url).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "", "192.168.1.9"):
        assert "served to this machine alone" in error(local.client.get(path, headers={"host": host})), host
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", "LOCALHOST"):
        assert local.client.get(path, headers={"host": host}).status_code == 200, host


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
    wide = Settings(runs=Path("runs"), host="0.0.0.0")
    assert is_own("192.168.1.9:7860", wide) and not is_own("evil.example", wide)
    headers = {"host": "10.0.0.2:7860", "origin": "http://lab.example", "x-forwarded-host": "lab.example"}
    assert from_another_site(headers, Settings(runs=Path("runs"), host="0.0.0.0", hosts=("lab.example",)))


def test_the_header_that_is_missing_is_named(local: Served) -> None:
    said = error(local.run("list_runs", origin="http://lab.example:81"))
    assert "the header Host" in said and "--allow-host lab.example:81." in said
    assert "--allow-host lab.example." in error(local.client.get("/", headers={"host": "lab.example"}))
    assert error(local.run("list_runs", origin="http://<b>")) == ANOTHER_SITE


def test_another_sites_page_reads_nothing(local: Served) -> None:
    for path in ("/config", "/gradio_api/info", f"{PREFIX}/start"):
        assert ANOTHER_SITE in error(local.client.get(path, headers={"origin": "http://evil.example"}))
        assert local.client.get(path, headers={"origin": local.url}).status_code == 200


def test_below_a_path_the_same_is_closed_and_open(tmp_path: Path) -> None:
    with served(tmp_path, root_path="/tools") as page:
        for begin in ("", "/tools"):
            for path in ("/", "/config", f"{PREFIX}/start", f"{PREFIX}/assets/page/sidebar.js", "/gradio_api/info"):
                assert page.client.get(f"{begin}{path}").status_code == 200, begin
            assert page.client.post(f"{begin}/gradio_api/upload", files={"files": b"x"}).status_code == 400
            assert page.client.post(f"{begin}/gradio_api/upload/", files={"files": b"x"}).status_code == 404
            assert "JSON was needed" in error(page.client.post(f"{begin}{PREFIX}/objects/query", content=b"x"))
            sent = page.post(f"{begin}{PREFIX}/retrieval/upload", "x", **{"content-type": "image/png"})
            assert sent.status_code != 415
        assert page.client.get("/tools").status_code == 200
        assert page.client.get(f"/tools/tools{PREFIX}/start").status_code == 404
        assert page.client.get(f"/toolsmith{PREFIX}/start").status_code == 404


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
        (f"{PREFIX}/retrieval/search", {}),
    ]
    for path, body in posts:
        for origin in ("https://evil.example", "null", f"http://localhost:{port + 1}", "http://[::1", "//"):
            assert "Another site's page" in error(local.post(path, body, origin=origin)), origin
        assert "Another site's page" in error(local.post(path, body, **{"sec-fetch-site": "cross-site"}))
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            assert "JSON was needed" in error(local.post(path, body, **{"content-type": kind})), kind
    assert local.run("list_runs", origin=local.url).status_code == 200
    assert local.client.post(f"{PREFIX}/retrieval/upload", content=b"x").status_code == 415


def test_no_other_page_shows_it_in_a_frame(local: Served) -> None:
    for path in ("/", f"{PREFIX}/start"):
        headers = local.client.get(path).headers
        assert headers["content-security-policy"] == "frame-ancestors 'self'"
        assert headers["x-frame-options"] == "SAMEORIGIN"


# ------------------------------------------------------------------ malformed requests


def test_nothing_malformed_is_an_error_of_the_server(
    local: Served, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    makers = Malformed(random.Random(0), "0" * 26, routes_of(local.explorer), calls_of(local.client)).kinds()
    port = int(local.url.rpartition(":")[2])
    for make in (make for make in makers.values() for _ in range(40)):
        assert ask(make(), port) is None
    output = capfd.readouterr()
    assert "Traceback" not in output.err + output.out
    assert not [record for record in caplog.records if record.exc_info]


FORGED: tuple[tuple[object, object], ...] = (
    ("[[", {}),
    ({"a": []}, {"index": [0, 0], "value": 1}),
    (["a"], {"index": [10**6, -1], "value": "", "row_value": [1, [2]], "key": 1, "input_value": 2}),
)
"""What is sent in place of every value of an event, and of what the event tells of itself."""


PRESSED = (
    *("at", "press", "chosen", "_pressed", "_show", "_naming", "tagging", "deleting", "act", "wanted", "ended"),
    *("measured", "opened", "dropped"),
)


def test_forged_state_is_a_sentence_and_nothing_in_the_log(
    local: Served, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    caplog.set_level(logging.ERROR)
    named = {
        str(each.get("api_name")).rstrip("_0123456789"): each for each in local.explorer.blocks.config["dependencies"]
    }
    sent = [(named[name], *forged) for name in PRESSED for forged in FORGED]
    with ThreadPoolExecutor(8) as threads:
        told = threads.map(lambda one: local.told(one[0]["id"], [one[1]] * len(one[0]["inputs"]), one[2]), sent)
    assert all(said["success"] or said["output"]["error"] for said in told)
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert not [each for each in recwarn if "not in the list of choices" in str(each.message)]


def test_a_session_that_is_no_text_spoils_no_other(local: Served) -> None:
    assert error(local.post("/gradio_api/queue/join", '{"data": [], "fn_index": 0, "session_hash": "\\ud800"}'))
    assert "There is no loss" in error(
        local.run("start_run", ["nope"], "drawn", None, "small_conv", None, "m_per_class", None, "", None)
    )


# ------------------------------------------------------------- streams of nobody


def test_streams_that_nobody_writes_to_are_refused(
    local: Served, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    paths = [f"queue/data?session_hash={name}" for name in ("a", "..", "%F0%9F%A6%86", "0" * 3000)]
    paths += ["call/list_runs/a", "call/v2/list_runs/a", "call/x/%00"]
    for path in paths:
        reply = local.client.get(f"/gradio_api/{path}")
        assert reply.status_code == 404 and "There is no event of this name" in error(reply), path
    assert not caplog.records and "Error" not in capfd.readouterr().err


def test_streams_of_what_was_asked_are_read_to_their_end(local: Served) -> None:
    own = local.post("/gradio_api/call/list_runs", {"data": []}).json()["event_id"]
    time.sleep(0.3)  # it may have finished by now
    assert "event: complete" in local.client.get(f"/gradio_api/call/list_runs/{own}").text
    body = {"data": [], "session_hash": "mine"}
    name = next(each for each in local.explorer.blocks.config["dependencies"] if each.get("api_name") == "list_runs")
    assert local.post("/gradio_api/queue/join", {**body, "fn_index": name["id"]}).status_code == 200
    assert "process_completed" in local.client.get("/gradio_api/queue/data?session_hash=mine").text
