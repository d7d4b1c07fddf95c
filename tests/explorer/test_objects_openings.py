"""Opening a dataset under a ticket: how far it is, leaving it, and what a ticket may be."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from explorer.server.visitors import Caller
from explorer.tabs.object_removal.bodies import Open
from explorer.tabs.object_removal.datasets import Datasets
from explorer.tabs.object_removal.openings import Openings
from tests.explorer.small_world import Tab, small_set
from tests.waiting import wait
from trainers.data.captioned_images import CaptionedDataset
from trainers.errors import DataError
from trainers.progress import Progress

TICKET = "0123456789abcdef0123"


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


def opening(tab: Tab, ticket: str = TICKET) -> tuple[threading.Thread, list]:
    replies: list = []
    thread = threading.Thread(
        target=lambda: replies.append(tab.post("open", {"source": "somebody/photos", "ticket": ticket}))
    )
    thread.start()
    return thread, replies


def test_a_set_tells_how_far_it_is_and_opens(tmp_path: Path) -> None:
    slow = Slow()
    tab = Tab(tmp_path, loading=slow)
    thread, replies = opening(tab)
    assert slow.at.wait(60)
    state = tab.json(f"open/{TICKET}")
    assert (state["message"], state["fraction"]) == ("reading the captions of train", 0.25)
    again = tab.post("open", {"source": "somebody/photos", "ticket": TICKET})
    assert again.status_code == 400 and "already" in again.json()["error"]
    slow.go.set()
    thread.join(60)
    assert replies[0].status_code == 200 and replies[0].json()["dataset"]["images"]
    assert tab.json(f"open/{TICKET}") == {}
    tab.close()


def test_a_set_can_be_left(tmp_path: Path) -> None:
    slow = Slow()
    tab = Tab(tmp_path, loading=slow)
    thread, replies = opening(tab)
    assert slow.at.wait(60)
    assert tab.post(f"open/{TICKET}/leave", {}).status_code == 200
    slow.go.set()
    thread.join(60)
    assert replies[0].status_code == 400 and "left" in replies[0].json()["error"] and slow.told == 1
    assert [one["name"] for one in tab.json("start")["datasets"]] == ["drawn_scenes"]
    thread, replies = opening(tab)  # the next one may begin
    thread.join(60)
    assert replies[0].status_code == 200
    tab.close()


@pytest.mark.parametrize("ticket", ["short", "g" * 20, "a" * 65, "../../etc", "A" * 20, 7])
def test_a_ticket_is_a_number(tab: Tab, ticket: object) -> None:
    reply = tab.post("open", {"source": "somebody/photos", "ticket": ticket})
    assert reply.status_code == 400 and reply.json()["error"]


def test_nobody_waits_under_an_unknown_ticket(tab: Tab) -> None:
    assert tab.json(f"open/{TICKET}") == {}
    assert tab.post(f"open/{TICKET}/leave", {}).json() == {}


@pytest.mark.parametrize("ticket", [TICKET, ""])
def test_few_wait_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ticket: str) -> None:
    monkeypatch.setattr("explorer.tabs.object_removal.openings.MOST", 1)
    slow = Slow()
    tab = Tab(tmp_path, loading=slow)
    thread, _ = opening(tab, ticket)
    assert slow.at.wait(60)
    reply = tab.post("open", {"source": "other/photos", **({"ticket": "f" * 16} if ticket else {})})
    assert reply.status_code == 400 and "wait" in reply.json()["error"]
    slow.go.set()
    thread.join(60)
    wait(lambda: not tab.json(f"open/{TICKET}"))
    tab.close()


def test_those_who_wait_for_their_turn_can_be_followed_and_leave_at_once(tmp_path: Path) -> None:
    slow = Slow()
    tab = Tab(tmp_path, loading=slow)
    first, _ = opening(tab)
    assert slow.at.wait(60)
    tickets = [f"{number:016x}" for number in range(12)]
    waiting = [opening(tab, ticket) for ticket in tickets]
    for ticket in tickets:
        wait(lambda ticket=ticket: tab.json(f"open/{ticket}"))
        assert "another dataset" in tab.json(f"open/{ticket}")["message"]
    for _ in range(2):  # who leaves twice, leaves
        assert tab.post(f"open/{tickets[0]}/leave", {}).status_code == 200
    thread, replies = waiting[0]
    thread.join(60)
    assert not slow.go.is_set() and replies[0].status_code == 400 and "left" in replies[0].json()["error"]
    assert tab.json(f"open/{tickets[1]}"), "nobody else has left"
    tab.objects.openings.jobs.close()
    slow.go.set()
    for thread, replies in (*waiting[1:], (first, [])):
        thread.join(60)
        assert all(reply.status_code == 400 for reply in replies)
    tab.close()


def test_one_visitor_of_a_public_page_waits_for_few() -> None:
    slow = Slow()
    openings = Openings(Datasets(load=slow), each=2)
    ada, eve = Caller(address="192.0.2.1"), Caller(address="192.0.2.2", login="eve")
    asked = Open(source="somebody/photos")
    threads = [threading.Thread(target=openings.open, args=(asked, one)) for one in (ada, ada, eve)]
    for thread in threads:
        thread.start()
    wait(lambda: len(openings.jobs.going()) == 3)
    with pytest.raises(DataError, match="2 of your datasets wait"):
        openings.open(asked, ada)
    slow.go.set()
    for thread in threads:
        thread.join(60)
    assert openings.open(asked, ada).scenes and not openings.jobs.going()
