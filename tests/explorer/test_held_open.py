"""What the page keeps: no file of a run that nobody watches, few arenas, few visits."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from explorer.page import blocks
from explorer.server.library import Library, Limits
from tests.campaigns._page import API, call, descriptors
from tests.explorer.page import Page
from tests.explorer.served_page import GRADIO_WARNINGS, Served, served
from tests.synthetic import make_run
from tests.waiting import wait
from trainers.runs import RunFolder


def held(folder: RunFolder) -> list[str]:
    """Files of the run that this process holds open."""
    return [name for name in descriptors("self") if name.startswith(f"{folder.path.resolve()}/")]


def timers() -> list[threading.Timer]:
    """Those that have not ended."""
    return [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def library(root: Path, **limits: float) -> Library:
    return Library(root, root / "recorded", limits=Limits(**limits))  # type: ignore[arg-type]


def resting(root: Path) -> RunFolder:
    folder = make_run(root, points=30, frames=1)
    folder.db.close()
    return folder


def test_a_run_that_nobody_watches_any_more_is_closed_by_itself(root: Path) -> None:
    folder, small = resting(root), library(root, sweep=0.05, watched=0.5)
    assert small.watch(folder.id).folder.state().phase and held(folder)
    wait(lambda: not held(folder), words="its files are closed")
    wait(lambda: not timers(), words="the timer that closed them is gone too")
    assert small.watch(folder.id).folder.snapshots()
    small.close()


def test_what_opens_a_run_after_the_last_sweep_is_swept_too(root: Path) -> None:
    folder, small = resting(root), library(root, sweep=0.05)
    run = small.get(folder.id)  # as an answer does that then waits for its turn
    wait(lambda: not timers(), words="the sweep that began with it has ended")
    run.folder.state()
    wait(lambda: not held(folder) and not timers(), words="its files are closed")


def test_a_run_that_is_watched_stays_open(root: Path) -> None:
    folder, small = resting(root), library(root, sweep=0.05)
    small.watch(folder.id).folder.state()
    time.sleep(0.3)
    assert held(folder)
    small.close()
    assert not held(folder)


def test_few_databases_are_open_however_many_runs_are_watched(root: Path) -> None:
    watched, small = [resting(root) for _ in range(6)], library(root, sweep=60, databases=3)
    for folder in watched:
        small.watch(folder.id).folder.state()
    small.close_unwatched()
    assert [bool(held(folder)) for folder in watched] == [False] * 3 + [True] * 3
    assert all(small.watch(folder.id).folder.snapshots() for folder in watched)
    small.close()


def test_a_run_that_left_the_cache_and_is_used_again_is_closed_too(root: Path) -> None:
    folder, other, small = resting(root), resting(root), library(root, sweep=60, runs=1)
    run = small.get(folder.id)
    small.get(other.id)
    run.folder.state()  # by an answer that was begun before
    assert held(folder)
    small.close_unwatched()
    assert not held(folder)
    small.close()


def test_lists_open_no_run_that_rests(root: Path, page: Page) -> None:
    folder = make_run(root, points=60, frames=2)
    folder.db.close()
    first = page.cards()[0]
    assert first["phase"] == "finished"
    page.library.close_unwatched()
    assert not held(folder)
    assert page.cards()[0] == first
    assert page.json("start")["id"] == folder.id
    assert page.library.close_unwatched() == 0  # asking for the start read its phase for the first time
    page.cards()
    page.json("start")
    assert not held(folder)


def test_a_list_shows_what_was_written_since(root: Path, page: Page) -> None:
    folder = make_run(root, points=60, frames=2, phase="stopped")
    for message in ("one", "two"):
        folder.db.set_state(dataclasses.replace(folder.db.state(), message=message))
        assert [page.cards()[0]["message"] for _ in range(2)] == [message] * 2
    folder.db.set_state(dataclasses.replace(folder.db.state(), phase="queued"))
    assert page.cards()[0]["phase"] == "queued"
    folder.db.close()
    assert page.cards()[0]["phase"] == "queued"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the settings are those of glibc")
def test_threads_share_few_arenas_and_give_large_blocks_back() -> None:
    code = """
import ctypes, re, threading, tempfile
from explorer.server.allocator import give_back_early
assert give_back_early()
def work():
    for _ in range(50):
        kept = [ctypes.create_string_buffer(300_000) for _ in range(8)]
        ctypes.create_string_buffer(5_000_000)
threads = [threading.Thread(target=work) for _ in range(16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
with tempfile.NamedTemporaryFile("r") as out:
    file = ctypes.c_void_p(libc.fopen(out.name.encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    text = out.read()
resident = int(open("/proc/self/statm").read().split()[1]) * 4096
import pyarrow
print(text.count("<heap nr="), resident // 2**20, pyarrow.default_memory_pool().backend_name)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    arenas, megabytes, arrow = out.split()
    assert int(arenas) <= 2
    assert int(megabytes) < 60
    assert arrow == "system"


@GRADIO_WARNINGS
def test_calls_of_the_api_do_not_pile_up_and_answers_are_kept_for_a_while(
    local: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, events = local.explorer.blocks, []
    before = len(shown.app.state_holder.session_data)
    for _ in range(6):
        assert call(local.client, "list_runs") == []
        events.append(local.post(f"{API}/list_runs", {"data": []}).json()["event_id"])
        assert "complete" in local.client.get(f"{API}/list_runs/{events[-1]}").text
    assert len(shown.app.state_holder.session_data) <= before
    assert all(map(shown.streams, events))
    monkeypatch.setattr(blocks, "ANSWER_SECONDS", 0)
    call(local.client, "list_runs")
    assert not any(map(shown.streams, events))


JOIN = "/gradio_api/queue/join"


def listing(page: Served) -> int:
    """Number of the event that lists the runs."""
    named = {each.get("api_name"): each["id"] for each in page.explorer.blocks.config["dependencies"]}
    return int(named["list_runs"])


@GRADIO_WARNINGS
def test_a_visit_that_is_forgotten_while_it_waits_ends_the_queue_for_nobody(
    local: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"data": [], "fn_index": listing(local), "trigger_id": None}
    for name in ("", "a" * 65, 5):
        for path in (JOIN, f"{API}/list_runs", "/gradio_api/run/list_runs"):
            refused = local.post(path, {**asked, "session_hash": name})
            assert refused.status_code == 400 and "1 to 64 letters" in refused.json()["error"], path
    pending = local.explorer.blocks._queue.pending_messages_per_session
    monkeypatch.setattr(pending, "max_size", 1)  # Gradio's is 2,000
    with ThreadPoolExecutor(16) as threads:
        asks = [threads.submit(local.post, JOIN, {**asked, "session_hash": str(each)}) for each in range(48)]
    assert {each.result().status_code for each in asks} == {200}
    assert call(local.client, "list_runs") == []


@GRADIO_WARNINGS
def test_answers_that_nobody_reads_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "UNREAD", (9, 30))
    with served(tmp_path) as page:
        queue = page.explorer.blocks._queue
        for each in range(40):
            name = "mine" if each < 10 else f"visit {each}"
            asked = {"data": [], "fn_index": listing(page), "session_hash": name, "trigger_id": None}
            assert page.post(JOIN, asked).status_code == 200
            wait(lambda: not queue.event_ids_to_events, words="it is answered")
            assert each != 9 or queue.pending_messages_per_session["mine"].qsize() == 9
        assert sum(kept.qsize() for kept in queue.pending_messages_per_session.values()) < 40
        assert set(queue.pending_event_ids_session) == set(queue.pending_messages_per_session)
