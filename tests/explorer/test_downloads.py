"""Downloads for many visitors: made once, sent while they are made, and none waits for another's."""

from __future__ import annotations

import dataclasses
import errno
import gc
import gzip
import io
import shutil
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette

from explorer.exports import EXPORTS, downloads
from explorer.server.library import Library
from explorer.server.routes import PREFIX
from tests.distributed.processes import free_port
from tests.explorer.page import Line, Watched, routes
from tests.synthetic import alive, make_run
from tests.waiting import wait
from trainers.runs.atomic_files import write_bytes
from trainers.runs.records import Scalar


@pytest.fixture
def spare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    folder = tmp_path / "spare"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """Asks the routes as they are served, on one event loop; a test may give the most bytes that are kept."""
    monkeypatch.setattr(downloads, "KEPT", getattr(request, "param", 2**26))
    library = Library(tmp_path / "runs", tmp_path / "recorded")
    app = Starlette(routes=routes(library, Watched(), Line()))
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait(lambda: server.started, words="the routes are served")
    with httpx.Client(base_url=f"http://127.0.0.1:{port}{PREFIX}/run/", timeout=60, trust_env=False) as made:
        yield made
    server.should_exit = True
    thread.join()
    library.close()


def watch(monkeypatch: pytest.MonkeyPatch, name: str, before: Callable[[], object]) -> None:
    """Call ``before`` each time the download is made."""
    write = EXPORTS[name].write
    assert write is not None

    def watched(*given: Any) -> None:
        before()
        write(*given)

    monkeypatch.setitem(EXPORTS, name, dataclasses.replace(EXPORTS[name], write=watched))


def test_a_file_is_made_once_until_its_run_moves_on_or_it_is_cleaned_away(
    client: httpx.Client, tmp_path: Path, spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = make_run(tmp_path / "runs", points=30, frames=1), []
    watch(monkeypatch, "metrics.csv", lambda: made.append(1))
    first = client.get(f"{folder.id}/download/metrics.csv")
    assert client.get(f"{folder.id}/download/metrics.csv").text == first.text
    assert len(made) == 1
    folder.db.add_metrics([Scalar(arm=1, step=77, seconds=0.5, key="loss", value=-0.25)])
    assert "1,HAPPIER,77,0.5,loss,-0.25" in client.get(f"{folder.id}/download/metrics.csv").text
    assert len(made) == 2
    (kept,) = spare.iterdir()
    shutil.rmtree(kept)
    assert client.get(f"{folder.id}/download/metrics.csv").status_code == 200 and len(made) == 3


def test_many_who_ask_at_once_wait_for_one_file(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = make_run(tmp_path / "runs", points=30, frames=1), []
    watch(monkeypatch, "replay.html", lambda: (made.append(1), time.sleep(0.1)))
    with ThreadPoolExecutor(6) as pool:
        pages = list(pool.map(lambda _: client.get(f"{folder.id}/download/replay.html").text, range(6)))
    assert len(made) == 1 and len(set(pages)) == 1 and "Plotly.newPlot" in pages[0]


def test_what_is_on_disk_waits_for_no_writer(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path / "runs", points=30, frames=1)
    known = client.get(f"{folder.id}/download/metrics.csv").text
    going, end = threading.Semaphore(0), threading.Event()
    slow = ("replay.html", "curves.html", "coordinates.parquet")
    for name in slow:
        watch(monkeypatch, name, lambda: (going.release(), end.wait(60)))
    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(client.get, f"{folder.id}/download/{name}") for name in slow]
        try:
            assert all(going.acquire(timeout=60) for _ in range(downloads.WRITERS))
            assert client.get(f"{folder.id}/download/metrics.csv").text == known
            content = client.get(f"{folder.id}/download/run.zip").content
            assert not any(other.done() for other in others)
        finally:
            end.set()
        assert [other.result().text for other in others if other.result().status_code != 200] == []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None and f"{folder.id}/run.db" in archive.namelist()


def test_the_zip_is_sent_while_it_is_made(client: httpx.Client, tmp_path: Path, spare: Path) -> None:
    folder = make_run(tmp_path / "runs", points=30, frames=2, phase="running")
    weights = bytes(range(256)) * 2**17
    write_bytes(folder.path / "ckpt" / "last.safetensors", weights)
    with alive(folder), client.stream("GET", f"{folder.id}/download/run.zip?weights=1") as reply:
        parts = reply.iter_raw()
        begun = next(parts)
        waiting = sum(path.stat().st_size for path in spare.rglob("*") if path.is_file())
        assert waiting < len(weights), "a copy of the database at most"
        folder.frame_path(0).unlink()  # the trainer goes on meanwhile
        write_bytes(folder.path / "ckpt" / "last.safetensors", b"newer")
        content = begun + b"".join(parts)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert archive.read(f"{folder.id}/ckpt/last.safetensors") in (weights, b"newer")
    wait(lambda: not list(spare.iterdir()), words="nothing is left")


def test_who_leaves_early_leaves_nothing(client: httpx.Client, tmp_path: Path, spare: Path) -> None:
    folder = make_run(tmp_path / "runs", points=30, frames=1)
    write_bytes(folder.path / "ckpt" / "last.safetensors", bytes(2**26))
    with client.stream("GET", f"{folder.id}/download/run.zip?weights=1") as reply:
        next(reply.iter_raw())
    wait(lambda: not list(spare.iterdir()), words="nothing is left")
    assert client.get(f"{folder.id}/download/run.zip").status_code == 200


@pytest.mark.parametrize("client", [4_000_000], indirect=True)
def test_what_is_kept_is_bounded(client: httpx.Client, tmp_path: Path, spare: Path) -> None:
    folders = [make_run(tmp_path / "runs", points=30, frames=1) for _ in range(4)]
    for _ in range(2):
        for folder in folders:
            assert "Plotly.newPlot" in client.get(f"{folder.id}/download/curves.html").text
    (kept,) = spare.iterdir()

    def within() -> bool:
        gc.collect()  # what has been sent may lie in a circle
        sizes = [path.stat().st_size for path in kept.iterdir()]
        return 1_000_000 < sum(sizes) <= 4_000_000

    wait(within, words="the oldest pages are gone")


def test_what_is_kept_of_a_deleted_run_goes(client: httpx.Client, tmp_path: Path, spare: Path) -> None:
    folder, other = (make_run(tmp_path / "runs", points=30, frames=1) for _ in range(2))
    assert client.get(f"{folder.id}/download/metrics.csv").status_code == 200
    folder.delete()
    assert client.get(f"{folder.id}/download/metrics.csv").status_code == 404
    assert client.get(f"{other.id}/download/metrics.csv").status_code == 200
    (kept,) = spare.iterdir()
    wait(lambda: len(list(kept.iterdir())) == 1, words="the file of the deleted run is gone")


def test_a_full_disk_is_said_of_the_download_and_not_of_the_run(
    client: httpx.Client, tmp_path: Path, spare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, errors = make_run(tmp_path / "runs", points=30, frames=1), [OSError(errno.ENOSPC, "No space left")]

    def no_room() -> None:
        if errors:
            raise errors.pop()

    watch(monkeypatch, "metrics.csv", no_room)
    reply = client.get(f"{folder.id}/download/metrics.csv")
    assert reply.status_code == 404 and "resume" not in reply.text
    assert "The disk is full. Whoever runs this page has to free some space" in reply.json()["error"]
    assert [list(kept.iterdir()) for kept in spare.iterdir()] == [[]]
    assert client.get(f"{folder.id}/download/metrics.csv").status_code == 200


@pytest.mark.parametrize("name", ["replay.html", "metrics.csv", "embeddings.parquet"])
def test_texts_are_sent_compressed_to_who_can_read_that(client: httpx.Client, tmp_path: Path, name: str) -> None:
    folder = make_run(tmp_path / "runs", points=30, frames=1)
    plain = client.get(f"{folder.id}/download/{name}", headers={"accept-encoding": "identity"})
    with client.stream("GET", f"{folder.id}/download/{name}", headers={"accept-encoding": "gzip"}) as reply:
        raw = b"".join(reply.iter_raw())
        packed = reply.headers.get("content-encoding")
    assert "content-encoding" not in plain.headers
    assert packed == (None if name.endswith("parquet") else "gzip")
    assert (gzip.decompress(raw) if packed else raw) == plain.content


def test_a_film_is_made_in_the_background_and_then_sent_at_once(client: httpx.Client, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", points=30, frames=3)
    reply = client.post(f"{folder.id}/make/film.gif", json={}).json()
    if "job" in reply:
        address = f"../making/{reply['job']}"
        wait(lambda: client.get(address).json()["phase"] not in ("waiting", "running"))
        reply = {"answer": client.get(address).json()["result"]}
    made = reply["answer"]
    assert made["kind"] == "film.gif"
    assert "Make it again" in client.get(f"{folder.id}/download/film.gif").json()["error"]
    folder.db.add_metrics([Scalar(arm=1, step=77, seconds=0.5, key="loss", value=-0.25)])  # it trains on meanwhile
    film = client.get(f"{folder.id}/download/film.gif?made={made['made']}")
    assert film.headers["content-type"] == "image/gif" and film.content[:6] == b"GIF89a"
    assert "no 'metrics.csv' to make" in client.post(f"{folder.id}/make/metrics.csv", json={}).json()["error"]
    empty = make_run(tmp_path / "runs", points=30, frames=0)
    refused = client.post(f"{empty.id}/make/film.mp4", json={})
    assert "no maps yet" in refused.text or "no images" in refused.text


def test_a_film_that_cannot_be_made_says_what_brings_it(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path / "runs", points=30, frames=3)
    monkeypatch.setitem(sys.modules, "av", None)
    refused = client.post(f"{folder.id}/make/film.mp4", json={})
    assert refused.status_code == 400 and "pip install av" in refused.json()["error"]


def test_a_film_that_is_made_can_be_stopped(client: httpx.Client, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs", points=300, frames=3)
    job = client.post(f"{folder.id}/make/film.mp4", json={}).json()["job"]
    assert client.post(f"../making/{job}/stop", json={}).status_code == 200
    wait(lambda: client.get(f"../making/{job}").json()["phase"] == "stopped")
