"""Starting ``python app.py``: what the environment and the flags may be, and the sentence where they cannot."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from explorer.server.listening import free_port, given_address
from explorer.server.proxies import asking_itself, read_socks, without_proxies
from explorer.server.scratch import have_scratch
from tests.waiting import wait
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
        ({"all_proxy": f"socks://{DEAD}/", "HTTPS_PROXY": "ftp://nowhere", "GRADIO_SERVER_NAME": "[::1]"}, []),
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
            assert client.get(address[0], timeout=60).status_code == 200
            assert client.get(f"{address[0]}/gradio_api/rankscope/start").status_code == 200
    finally:
        started.terminate()
        started.wait(30)
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
    ("GRADIO_TEMP_DIR", "/proc/none"): "The folder /proc/none that GRADIO_TEMP_DIR names cannot be written.",
}


@pytest.mark.parametrize("given", REFUSED, ids=" ".join)
def test_what_cannot_be_is_one_sentence(tmp_path: Path, taken: str, given: tuple[str, str]) -> None:
    name, value = given[0], given[1].replace("TAKEN", taken)
    flags, more = ([f"{name}={value}"], {}) if name.startswith("--") else ([], {name: value})
    ran = subprocess.run(
        command("--runs", str(tmp_path / "runs"), *flags),
        cwd=ROOT,
        env=environment(tmp_path, more),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith(REFUSED[given].replace("TAKEN", taken)), ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


# --------------------------------------------------------------------------- the parts


def test_only_what_the_page_asks_itself_goes_without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []
    monkeypatch.setattr(httpx, "get", lambda url, trust_env=True, **_: asked.append((str(url), trust_env)))
    with asking_itself("[::1]"):
        for url in ("http://127.0.0.1:7860/a", "http://[::1]:7860/a", "http://localhost/a", "https://huggingface.co/a"):
            httpx.get(url, timeout=1)
    httpx.get("http://127.0.0.1:7860/later")
    assert [trusted for _, trusted in asked] == [False, False, False, True, True]


def test_proxies_are_kept_for_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "SOCKS://proxy.example:1080/")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    read_socks()
    with without_proxies():
        assert not {"all_proxy", "HTTPS_PROXY"} & set(os.environ)
    assert dict(os.environ)["all_proxy"] == "socks5://proxy.example:1080/"
    assert os.environ["HTTPS_PROXY"] == "http://proxy.example:3128"


@pytest.mark.skipif(os.name != "posix", reason="owners of folders")
@pytest.mark.parametrize("there", ["nothing", "a folder", "a file", "a link to what cannot be written", "another's"])
def test_temporary_files_have_a_folder_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: str) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    usual = tmp_path / "gradio"
    make: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "a folder": usual.mkdir,
        "a file": usual.touch,
        "a link to what cannot be written": lambda: usual.symlink_to("/proc"),
        "another's": lambda: somebody_elses(tmp_path) and Path(tmp_path / "temporary" / "gradio").rename(usual),
    }
    make[there]()
    have_scratch()
    folder = Path(os.environ["GRADIO_TEMP_DIR"])
    assert (folder == usual) is (there in ("nothing", "a folder"))
    assert folder.stat().st_uid == os.geteuid() and folder.parent == tmp_path
    (folder / "vibe_edit_history").mkdir()
