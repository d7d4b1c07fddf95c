"""Opening a dataset in the background: how far it is, stopping it, and how many may wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.server.visitors import Caller
from explorer.settings import Limits
from explorer.tabs.object_removal.bodies import Open
from explorer.tabs.object_removal.service import MOST_OPENINGS
from tests.explorer.conftest import OpenTab
from tests.explorer.small_world import Tab, small_set
from tests.waiting import wait
from trainers.data.captioned_images import CaptionedDataset
from trainers.errors import DataError
from trainers.progress import Progress


class Slow:
    """Reads a dataset that tells how far it is and waits at each of two places."""

    def __init__(self) -> None:
        self.at = threading.Event()
        self.go = threading.Event()
        self.told = 0

    def __call__(self, source: str, *, progress: Progress = lambda *_: None, **_: object) -> CaptionedDataset:
        if source == "drawn_scenes":
            return small_set()
        for text, fraction in (("reading the captions of train", 0.25), ("reading the boxes of train", 0.5)):
            progress(text, fraction)
            self.told += 1
            self.at.set()
            assert self.go.wait(60)
        return small_set("plain", drawn=False)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def tab(tmp_path: Path, slow: Slow) -> Iterator[Tab]:
    made = Tab(tmp_path, loading=slow)
    yield made
    slow.go.set()
    made.close()


def opening(tab: Tab, source: str = "somebody/photos") -> str:
    """The job that opens a dataset."""
    return tab.json("open", {"source": source})["job"]


def ended(tab: Tab, job: str) -> dict:
    wait(lambda: tab.json(f"open/{job}")["phase"] not in ("waiting", "running"))
    return tab.json(f"open/{job}")


def test_a_set_tells_how_far_it_is_and_opens(tab: Tab, slow: Slow) -> None:
    job = opening(tab)
    assert slow.at.wait(60)
    state = tab.json(f"open/{job}")
    assert (state["message"], state["fraction"]) == ("reading the captions of train", 0.25)
    slow.go.set()
    assert ended(tab, job)["result"]["images"]
    assert tab.opened("somebody/photos") == tab.json(f"open/{job}")["result"] and slow.told == 2


def test_a_set_can_be_left(tab: Tab, slow: Slow) -> None:
    job = opening(tab)
    assert slow.at.wait(60)
    assert tab.post(f"open/{job}/stop", {}).status_code == 200
    slow.go.set()
    assert ended(tab, job)["phase"] == "stopped" and slow.told == 1
    assert [dataset["name"] for dataset in tab.json("start")["datasets"]] == ["drawn_scenes"]
    assert tab.opened("somebody/photos")["images"], "the next one may begin"


def test_an_unknown_job_is_gone(tab: Tab) -> None:
    for reply in (tab.get("open/none"), tab.post("open/none/stop", {})):
        assert reply.status_code == 404 and "no longer kept" in reply.json()["error"]


def test_few_wait_at_once(tab: Tab, slow: Slow) -> None:
    asked = Open(source="somebody/photos")
    callers = [Caller(address=f"192.0.2.{number}") for number in range(MOST_OPENINGS)]
    threads = [threading.Thread(target=tab.objects.open, args=(asked, caller)) for caller in callers]
    for thread in threads:
        thread.start()
    wait(lambda: len(tab.objects.openings.going()) == MOST_OPENINGS)
    reply = tab.post("open", {"source": "other/photos"})
    assert reply.status_code == 400 and "wait already" in reply.json()["error"]
    slow.go.set()
    for thread in threads:
        thread.join(60)


def test_those_who_wait_for_their_turn_can_be_followed_and_leave_at_once(tab: Tab, slow: Slow) -> None:
    first = opening(tab)
    assert slow.at.wait(60)
    jobs = [opening(tab) for _ in range(4)]
    assert [tab.json(f"open/{job}")["message"] for job in jobs] == ["waiting for its turn"] * len(jobs)
    for _ in range(2):  # who leaves twice, leaves
        assert tab.post(f"open/{jobs[0]}/stop", {}).status_code == 200
    assert tab.json(f"open/{jobs[0]}")["phase"] == "stopped"
    assert tab.json(f"open/{jobs[1]}")["phase"] == "waiting", "nobody else has left"
    slow.go.set()
    assert [ended(tab, job)["phase"] for job in (first, *jobs[1:])] == ["done"] * len(jobs)


def test_one_visitor_of_a_public_page_waits_for_few(open_tab: OpenTab, slow: Slow) -> None:
    tab = open_tab(public=True, loading=slow)
    ada, eve = Caller(address="192.0.2.1"), Caller(address="192.0.2.2", login="eve")
    asked = Open(source="somebody/photos")
    for visitor in (*[ada] * Limits().openings, eve):
        assert "job" in tab.objects.open(asked, visitor)
    with pytest.raises(DataError, match=f"{Limits().openings} of your datasets wait"):
        tab.objects.open(asked, ada)
    slow.go.set()
    wait(lambda: not tab.objects.openings.going())
    assert tab.objects.open(asked, ada)
