"""Visitors who send images: each has a turn, a share of the room, and a limit of requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import numpy as np
import pytest
from starlette.requests import Request
from starlette.responses import Response

from explorer.server.http import RequestError
from explorer.server.posted import BODY, posted
from explorer.server.turns import Turns
from explorer.tabs.object_removal.images import UPLOADS
from tests.data.bombs import BOMBS
from tests.data.world import encode
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served, error, served
from trainers.errors import DataError

pytestmark = GRADIO_WARNINGS
ONE, OTHER = "8.8.8.8", "8.8.4.4"
SMALL = encode(np.full((64, 64, 3), 128, np.uint8))


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("space"), public=True, on_space=True) as page:
        yield page


def sent(page: Served, data: bytes, visitor: str, part: str = "objects") -> httpx.Response:
    headers = {"content-type": "application/octet-stream", "x-forwarded-for": visitor}
    return page.client.post(f"{PREFIX}/{part}/upload", content=data, headers=headers)


@pytest.mark.parametrize("parts", [1, 3])
def test_a_body_that_does_not_say_how_long_it_is_has_an_end(parts: int) -> None:
    half = {"type": "http.request", "body": b"x" * (BODY // 2), "more_body": True}
    sent = iter([half] * parts + [half | {"body": b"", "more_body": False}])

    async def receive() -> dict[str, object]:
        return next(sent)

    end = posted(lambda _request, body: Response(str(len(body))), BODY, 1)
    request = Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)
    if parts == 1:
        assert anyio.run(end, request).body == str(BODY // 2).encode()
    else:
        with pytest.raises(RequestError, match="At most 256 KB can be sent here"):
            anyio.run(end, request)


def test_a_visitor_whose_images_wait_holds_up_nobody_else(space: Served) -> None:
    replies: list[httpx.Response] = []
    threads = [threading.Thread(target=lambda: replies.append(sent(space, SMALL, ONE))) for _ in range(6)]
    with space.explorer.services["object"].objects.images.turns.turn(ONE):
        for thread in threads:
            thread.start()
        while len(replies) < 2:
            threading.Event().wait(0.01)
        assert [error(reply).partition(";")[0] for reply in replies] == ["4 of your images are being read"] * 2
        for part in ("objects", "retrieval"):
            assert sent(space, SMALL, OTHER, part).status_code == 200
        assert len(replies) == 2
    for thread in threads:
        thread.join(60)
    assert sorted(reply.status_code for reply in replies) == [200] * 4 + [400] * 2
    assert sent(space, SMALL, ONE).status_code == 200


def test_the_images_of_one_visitor_drop_nobody_elses(space: Served) -> None:
    mine = sent(space, SMALL, OTHER).json()["ref"]
    theirs = [sent(space, SMALL, ONE).json()["ref"] for _ in range(UPLOADS + 2)]
    statuses = [space.client.get(f"{PREFIX}/objects/image/{ref}").status_code for ref in (mine, *theirs)]
    assert statuses[0] == statuses[-1] == 200 and statuses[1] == 404


def test_five_large_images_drop_nobody_elses(space: Served) -> None:
    large = encode(np.full((2900, 2900, 3), 128, np.uint8), "BMP")
    assert len(large) > 25_000_000
    mine = sent(space, SMALL, OTHER, "retrieval").json()["upload"]
    theirs = [sent(space, large, visitor, "retrieval").json()["upload"] for visitor in (ONE, *["9.9.9.9"] * 4)]
    for ref in (mine, *theirs):
        assert space.client.get(f"{PREFIX}/retrieval/upload/{ref}").status_code == 200


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("part", ["objects", "retrieval"])
def test_files_that_take_long_to_read_are_refused(space: Served, part: str) -> None:
    for name, (data, words) in BOMBS.items():
        assert words in error(sent(space, data, ONE, part)), name


def test_whoever_had_no_turn_for_the_longest_time_is_next() -> None:
    turns, order = Turns(capacity=1), []
    threads: list[threading.Thread] = []

    def work(visitor: str) -> None:
        with turns.turn(visitor):
            order.append(visitor)

    with turns.turn("a"):
        for visitor in "aaabbc":
            threads.append(threading.Thread(target=work, args=(visitor,)))
            threads[-1].start()
            while len(turns.waiting) < len(threads):
                threading.Event().wait(0.001)
    for thread in threads:
        thread.join(60)
    assert "".join(order) == "bcabaa"


def test_a_visitor_has_one_place_of_several() -> None:
    turns = Turns(capacity=2)
    begun = threading.Event()

    def again() -> None:
        with turns.turn("a"):
            begun.set()

    with turns.turn("a"):
        thread = threading.Thread(target=again)
        thread.start()
        with turns.turn("b"):
            assert not begun.wait(0.1)
    thread.join(60)
    assert begun.is_set()


def test_a_turn_that_does_not_come_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.server.turns.PATIENCE", 0.05)
    turns = Turns()
    with turns.turn("a"), pytest.raises(DataError, match="try again in a minute"), turns.turn("a"):
        pass
    with turns.turn("a"):
        pass


def test_the_same_image_is_found_by_a_large_file(tmp_path: Path) -> None:
    from explorer.tabs.retrieve.uploads import SIDE, Uploads
    from trainers.data.decode import header, square

    draws = np.random.default_rng(0)
    coarse = draws.integers(0, 255, (8, 12, 3), np.uint8)
    data = encode(np.kron(coarse, np.ones((250, 250, 1), np.uint8)), "BMP")
    kept = Uploads().add(data).data
    assert header(kept)[:2] == (SIDE * 3 // 2, SIDE) and len(kept) < len(data) // 4
    apart = np.abs(square(kept, 64).astype(int) - square(data, 64))
    assert apart.mean() < 1
    small = encode(coarse)
    assert Uploads().add(small).data == small
