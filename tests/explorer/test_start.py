"""Starting ``python app.py``: what the environment and the flags may be, and the sentence where they cannot."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

from app import main
from explorer.server.listening import free_port, given_address
from explorer.server.proxies import ask_itself_directly, read_socks, without_proxies
from explorer.server.scratch import have_scratch
from tests.waiting import PATIENCE, wait
from trainers.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
DEAD = "127.0.0.1:9"


def command(*flags: str) -> list[str]:
    return [sys.executable, "app.py", *flags]


def environment(folder: Path, more: dict[str, str]) -> dict[str, str]:
    """This one without what the tests set of Gradio and proxies."""
    kept = {name: value for name, value in os.environ.items() if not re.match(r"(?i)gradio|\w+_proxy$", name)}
    return {**kept, "RANKSCOPE_CACHE": str(folder / "cache"), "PYTHONUNBUFFERED": "1", **more}


def somebody_elses(folder: Path) -> str:
    """A folder for temporary files in which Gradio's is another user's, or at least closed to this one."""
    theirs = folder / "temporary" / "gradio"
    theirs.mkdir(parents=True)
    theirs.chmod(0o555)
    if os.geteuid() == 0:
        os.chown(theirs, 65534, 65534)
    return str(theirs.parent)


def has_ipv6() -> bool:
    try:
        return given_address("::1") == "::1"
    except UserError:
        return False


@pytest.fixture(scope="module")
def taken() -> Iterator[str]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield str(holder.getsockname()[1])


# ------------------------------------------------------------------------- what works


@pytest.mark.parametrize(
    ("more", "flags"),
    [
        ({"HTTP_PROXY": f"http://{DEAD}", "http_proxy": f"http://{DEAD}", "TMPDIR": "theirs"}, []),
        pytest.param(
            {"ALL_PROXY": f"socks5://{DEAD}", "NO_PROXY": "example.org"}, ["--host", "::1"], marks=pytest.mark.long
        ),
        pytest.param(
            {"all_proxy": f"socks://{DEAD}/", "HTTPS_PROXY": "ftp://nowhere", "GRADIO_SERVER_NAME": "[::1]"},
            [],
            marks=pytest.mark.long,
        ),
    ],
    ids=["a proxy, another's temporary folder", "SOCKS, IPv6", "proxies of unknown kinds, IPv6 of the environment"],
)
@pytest.mark.skipif(os.name != "posix", reason="owners of folders")
def test_it_starts_whatever_the_environment_says(
    request: pytest.FixtureRequest, tmp_path: Path, more: dict[str, str], flags: list[str]
) -> None:
    if "IPv6" in request.node.callspec.id and not has_ipv6():
        pytest.skip("no IPv6 on this machine")
    if "TMPDIR" in more:
        more = more | {"TMPDIR": somebody_elses(tmp_path)}
    log = tmp_path / "log"
    with log.open("wb") as output:
        started = subprocess.Popen(
            command("--port", "0", "--runs", str(tmp_path / "runs"), *flags),
            cwd=ROOT,
            stdout=output,
            stderr=output,
            env=environment(tmp_path, more),
        )
    try:
        wait(lambda: "To create a public link" in log.read_text() or started.poll() is not None)
        address = re.search(r"http://\S+:[1-9]\d+", log.read_text())
        assert address, log.read_text()
        with httpx.Client(trust_env=False) as client:
            assert client.get(address[0], timeout=PATIENCE).status_code == 200
            assert client.get(f"{address[0]}/gradio_api/rankscope/start").status_code == 200
    finally:
        started.terminate()
        started.wait(PATIENCE)
    assert "Traceback" not in log.read_text()


def test_without_a_port_the_next_free_one_is_taken(monkeypatch: pytest.MonkeyPatch, taken: str) -> None:
    monkeypatch.setenv("GRADIO_SERVER_PORT", taken)
    assert int(taken) < free_port("127.0.0.1", None) <= int(taken) + 100


# ------------------------------------------------------------------ what is a sentence


REFUSED: dict[tuple[str, ...], str] = {
    ("--port", "TAKEN"): "Port TAKEN of 127.0.0.1 is taken",
    ("--port", "99999"): "--port needs a number from 0 (any that is free) to 65535; got 99999.",
    ("--host", "10.99.99.99"): "--host needs a name or number of this machine without a port",
    ("--host", "127.0.0.1:7860"): "--host needs a name",
    ("--host", "http://0.0.0.0"): "--host needs a name",
    ("--host", "nowhere.invalid"): "--host needs a name",
    ("--allow-host", "*"): "--allow-host needs a name as the browser shows it",
    ("--root-path", "/a/../b"): "--root-path needs the path below which a proxy serves the page, say /tools",
    ("GRADIO_SERVER_PORT", "many"): "GRADIO_SERVER_PORT in the environment needs a whole number; got 'many'.",
    ("GRADIO_TEMP_DIR", "/proc/none"): "Gradio needs a folder for temporary files (",
}


def refused(tmp_path: Path, taken: str, given: tuple[str, ...]) -> tuple[list[str], dict[str, str], str]:
    """The flags, what is added to the environment, and how the sentence begins."""
    name, value = given[0], given[1].replace("TAKEN", taken)
    flags, more = ([f"{name}={value}"], {}) if name.startswith("--") else ([], {name: value})
    return ["--runs", str(tmp_path / "runs"), *flags], more, REFUSED[given].replace("TAKEN", taken)


@pytest.mark.parametrize("given", REFUSED, ids=" ".join)
def test_what_cannot_be_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, taken: str, given: tuple[str, ...]
) -> None:
    """With it the program ends before it imports the page."""
    flags, more, sentence = refused(tmp_path, taken, given)
    for name in {*os.environ} - {*environment(tmp_path, more)}:
        monkeypatch.delenv(name)
    for name, value in environment(tmp_path, more).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", command(*flags)[1:])
    monkeypatch.setattr("app.give_back_early", lambda: None)  # it lasts as long as the process
    with pytest.raises(SystemExit) as ended:
        main()
    said = str(ended.value.code)
    assert said.startswith(sentence) and "\n" not in said
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("given", [("--port", "TAKEN"), ("GRADIO_TEMP_DIR", "/proc/none")], ids=" ".join)
def test_it_is_all_that_the_program_prints(tmp_path: Path, taken: str, given: tuple[str, ...]) -> None:
    flags, more, sentence = refused(tmp_path, taken, given)
    ran = subprocess.run(
        command(*flags),
        cwd=ROOT,
        env=environment(tmp_path, more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith(sentence), ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


# --------------------------------------------------------------------------- the parts


class Asked(BaseHTTPRequestHandler):
    """Answers as the page and as a proxy; a proxy is asked for whole addresses."""

    paths: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def without_environment(monkeypatch: pytest.MonkeyPatch, **proxies: str) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.setenv(name.upper(), "")  # put back at the end, whatever is written meanwhile
        monkeypatch.delenv(name.upper())
        monkeypatch.setenv(name, proxies.get(name, ""))
        if name not in proxies:
            monkeypatch.delenv(name)


def test_only_what_the_page_asks_itself_goes_without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), Asked) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        own = f"127.0.0.1:{server.server_port}"
        without_environment(monkeypatch, http_proxy=f"http://{own}", no_proxy="example.org")
        ask_itself_directly("page.invalid")
        for url in (f"http://{own}/a", "http://hub.invalid/a"):
            httpx.get(url, timeout=10)
        server.shutdown()
    assert Asked.paths == ["/a", "http://hub.invalid/a"]
    assert os.environ["no_proxy"] == "example.org,localhost,127.0.0.1,::1,page.invalid"


def test_without_proxies_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS and Windows ``no_proxy`` alone would hide the system's."""
    without_environment(monkeypatch)
    ask_itself_directly("127.0.0.1")
    assert "no_proxy" not in os.environ


def test_proxies_are_kept_for_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that httpx does not know are hidden from Gradio."""
    usable = {"all_proxy": "socks5://proxy.example:1080/", "http_proxy": "proxy.example:3128"}
    without_environment(monkeypatch, **usable | {"all_proxy": "SOCKS://proxy.example:1080/"}, https_proxy="ftp://x")
    read_socks()
    with without_proxies():
        assert {name: os.environ.get(name) for name in usable} == usable and "https_proxy" not in os.environ
        httpx.Client().close()
    assert os.environ["https_proxy"] == "ftp://x"


@pytest.mark.skipif(os.name != "posix", reason="owners of folders")
def test_temporary_files_have_a_folder_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beside a usual one that is another user's; one that is named is taken."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", somebody_elses(tmp_path))
    have_scratch()
    folder = Path(os.environ["GRADIO_TEMP_DIR"])
    assert folder.parent == tmp_path / "temporary" and folder.name != "gradio"
    assert folder.stat().st_uid == os.geteuid() and folder.stat().st_mode & 0o077 == 0
    have_scratch()
    assert Path(os.environ["GRADIO_TEMP_DIR"]) == folder
    (folder / "vibe_edit_history").mkdir()
