"""Requests that do not arrive are ended, replies that take long are not, and streams of nobody are refused."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from explorer.server import slow_requests
from tests.campaigns._half_sent import HALVES, HOST, JSON, POST, SILENT, WHOLE
from tests.explorer.page import error
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served, served

pytestmark = GRADIO_WARNINGS


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("slow")) as page:
        yield page


def opened(page: Served, content: bytes) -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", int(page.url.rpartition(":")[2])), timeout=30)
    wire.sendall(content)
    return wire


def rest(wire: socket.socket) -> bytes:
    """Everything until the page closes the connection."""
    found = b""
    with wire:
        while piece := wire.recv(65536):
            found += piece
    return found


def test_half_sent_requests_are_closed_with_a_sentence(
    local: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(slow_requests, "PATIENCE", 1.0)
    wires = [(name, opened(local, half)) for name, half in HALVES.items() for _ in range(3)]
    for name, wire in wires:
        said = rest(wire)
        if name == "nothing":
            assert said == b""
        elif name not in SILENT:
            assert said.startswith(b"HTTP/1.1 408 "), name
            assert "did not arrive in time" in json.loads(said.partition(b"\r\n\r\n")[2])["error"]
        else:
            assert said.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 404 ")), name
    assert local.client.get(f"{PREFIX}/start").status_code == 200
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_slow_request_that_keeps_coming_is_answered(local: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = opened(local, WHOLE)
    reply = b""
    while not reply.endswith(b"}"):
        reply += wire.recv(65536)
    assert reply.startswith(b"HTTP/1.1 200 ")
    monkeypatch.setattr(slow_requests, "PATIENCE", 0.2)
    monkeypatch.setattr(slow_requests, "RATE", 1)  # every byte gives it another second, however busy this machine is
    body = b'{"image": "nowhere"' + b" " * 380 + b"}"
    wire.sendall(POST % b"query" + JSON + body[:40])
    time.sleep(0.5)
    wire.sendall(body[40:])
    with wire:
        assert wire.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_replies_may_take_longer_than_requests(local: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_requests, "PATIENCE", 0.3)
    stream = opened(local, b"GET /gradio_api/heartbeat/somebody HTTP/1.1\r\n" + HOST + b"\r\n")
    found = stream.recv(65536)
    time.sleep(1.0)
    stream.setblocking(False)
    with stream, pytest.raises(BlockingIOError):  # it is open, and has no more to say
        while piece := stream.recv(65536):
            found += piece
    assert found.startswith(b"HTTP/1.1 200 ") and b"text/event-stream" in found.lower()


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
    name = next(each for each in local.explorer.blocks.config["dependencies"] if each["api_name"] == "list_runs")
    assert local.post("/gradio_api/queue/join", {**body, "fn_index": name["id"]}).status_code == 200
    found: list[str] = []
    reader = threading.Thread(
        target=lambda: found.append(local.client.get("/gradio_api/queue/data?session_hash=mine").text)
    )
    reader.start()
    reader.join(60)
    assert "process_completed" in found[0]
