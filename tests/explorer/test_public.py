"""What strangers may do to a page that is served to them, and visitors who send images: turns, shares and limits."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import httpx
import numpy as np
import pytest
from starlette.requests import Request
from starlette.responses import Response

from explorer.explorer import Explorer
from explorer.server.http import RequestError
from explorer.server.native_uploads import UPLOAD
from explorer.server.photographs import MOST
from explorer.server.posted import BODY, posted
from explorer.server.turns import Turns
from explorer.server.visitors import Caller, address_of
from explorer.settings import Limits, Settings
from explorer.tabs.object_removal.bodies import Open
from explorer.tabs.object_removal.images import UPLOADS
from explorer.tabs.object_removal.measuring import Measuring
from explorer.tabs.retrieve.uploads import SIDE, Uploads
from tests.data.bombs import BOMBS
from tests.data.world import encode, write_tree
from tests.explorer.page import error
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, Served, served
from tests.waiting import wait
from trainers.data import access
from trainers.data.decode import header, square
from trainers.errors import DataError

pytestmark = GRADIO_WARNINGS


# ------------------------------------------------------------------------ folders


def test_a_public_page_says_the_same_of_folders_that_are_there_and_that_are_not(public: Served, tmp_path: Path) -> None:
    write_tree(tmp_path / "photos", ["a", "b", "c", "d"])
    there, absent = str(tmp_path / "photos"), str(tmp_path / "none")
    for path in (there, absent):
        form = {"kind": "metric_learning", "settings": {"data.source": path}}
        assert public.post(f"{PREFIX}/form/look", form).json()["problems"] == [access.REFUSAL], "the sidebar's look"
        for body in ({"source": path}, {"source": "somebody/photos", "captions_from": path}):
            job = public.explorer.services["object"].objects.open(Open.of(body))
            assert job.done.wait(60) and str(job.error) == access.REFUSAL
    accepted = [error(public.start(path)) for path in (there, absent)]
    assert accepted == [access.REFUSAL] * 2, "no run waits for its turn to be refused"


# ------------------------------------------------------------------------- shares


def test_addresses() -> None:
    assert address_of("10.0.0.1", {"x-forwarded-for": "8.8.8.8"}, behind_proxy=False) == "10.0.0.1"
    assert address_of("10.0.0.1", {"x-forwarded-for": "rubbish, 8.8.8.8"}, behind_proxy=True) == "8.8.8.8"
    assert address_of("10.0.0.1", {"x-forwarded-for": "rubbish"}, behind_proxy=True) == "10.0.0.1"
    homes = {address_of(f"2001:db8:1:2::{number}", {}, behind_proxy=False) for number in range(9)}
    assert homes == {"2001:db8:1:2::/64"}
    assert Caller(address="x", login="y").identities() == ("address x", "login y")


@pytest.mark.parametrize(
    ("training", "sentence"),
    [
        ({"classes_per_batch": 128, "images_per_class": 32}, "1,024 images per batch"),
        ({"dim": 2048}, "1,280 numbers per embedding"),
        ({"memory": 200_000}, "65,536 embeddings"),
        ({"probe_size": 20_000}, "5,000 images on the maps"),
    ],
)
def test_the_numbers_of_a_public_run_are_bounded(public: Served, training: dict, sentence: str) -> None:
    assert sentence in error(public.start(training={"minutes": 1} | training))


def test_settings_that_the_page_does_not_offer_are_no_strangers_business(public: Served) -> None:
    assert "started in the page" in error(public.run("start_kind", "metric_learning", {"minutes": 1}, "mine"))
    assert "no setting 'start' here" in error(public.start(training={"minutes": 1, "start": "0" * 26}))
    assert public.run("list_kinds").status_code == 200


def test_their_product_is_held_against_the_memory(public: Served) -> None:
    large = {"minutes": 1, "classes_per_batch": 64, "images_per_class": 16, "dim": 512, "memory": 65_536}
    losses = ["xbm_contrastive", "supcon", "smooth_ap", "sup_ap"]
    given = (losses, "drawn", None, "small_conv", {"width": 128}, "m_per_class", large, "x", None)
    assert "GB of memory" in error(public.run("start_run", *given))
    stop(public, public.start(training={"minutes": 1}), "mine")


def test_the_gate_ends_with_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(access.PUBLIC, raising=False)
    monkeypatch.delenv(access.NO_TOKEN, raising=False)
    names = (access.PUBLIC, access.NO_TOKEN, access.PROXIES)
    before = [os.environ.get(name) for name in names]
    made = Explorer(Settings(runs=tmp_path / "runs", public=True))
    assert access.public() and access.token() is False
    made.close()
    assert [os.environ.get(name) for name in names] == before and not access.public()


def test_tokens_that_are_made_up_bring_no_more_runs(public: Served) -> None:
    replies = [public.start(token=f"made up {number}") for number in range(4)]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 400]
    assert "3 runs from your address" in error(replies[3])
    forged = public.start(token="another", **{"x-forwarded-for": "8.8.8.8"})
    assert "3 runs from your address" in error(forged), "away from a Space the header is anybody's"
    stop(public, replies[2], "made up 2")
    replies[2] = public.start(token="made up 2")
    for number, reply in enumerate(replies[:3]):
        stop(public, reply, f"made up {number}")


def test_a_visitor_holds_a_share_of_the_scores(public: Served) -> None:
    objects, visitor = public.explorer.services["object"].objects, Caller(address="192.0.2.7")
    measuring = Measuring(objects, public.explorer.shown)
    order = {"dataset": "drawn_scenes", "models": ["tiny_clip"], "queries": 500}
    jobs = [measuring.start(order, visitor)["job"] for _ in range(2)]
    with pytest.raises(DataError, match="2 of your scores"):
        measuring.start(order, visitor)
    for job in jobs:
        assert public.post(f"{PREFIX}/objects/score/{job}/stop", {}).status_code == 200


def test_a_visitor_cannot_fill_gradios_queue(public: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.server.guard.PENDING", 2)  # each of those that are taken is worked on to its end
    body = {"data": ["0", "", None, "telea", ["tiny_clip"], 5, "drawn_scenes"]}
    statuses = [public.post("/gradio_api/call/remove_object", body).status_code for _ in range(8)]
    assert set(statuses) == {200, 429} and statuses[0] == 200


def stop(page: Served, started: httpx.Response, token: str) -> None:
    run = started.json()["data"][0]
    wait(lambda: not page.explorer.scheduler.is_busy(run), meanwhile=lambda: page.run("stop_run", run, token))


ONE, OTHER = "8.8.8.8", "8.8.4.4"
SMALL = encode(np.full((64, 64, 3), 128, np.uint8))


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    limits = Limits(held=1, hourly=2)
    with served(tmp_path_factory.mktemp("space"), public=True, on_space=True, limits=limits) as page:
        yield page


def test_behind_a_spaces_proxy_visitors_are_told_apart(space: Served) -> None:
    one, other = {"x-forwarded-for": "6.6.6.6, 8.8.8.8, 10.0.0.7"}, {"x-forwarded-for": "8.8.4.4"}
    first = space.start(token="a", **one)
    invented = {"x-forwarded-for": "7.7.7.7, 8.8.8.8, 10.0.0.7"}
    assert "1 runs from your address" in error(space.start(token="b", **invented))
    assert space.start(token="c", **other).status_code == 200
    stop(space, first, "a")
    stop(space, space.start(token="d", **one), "d")
    assert "within an hour" in error(space.start(token="e", **one))
    headers = space.client.get(f"{PREFIX}/start").headers
    assert headers["content-security-policy"] == "frame-ancestors 'self' https://huggingface.co https://*.hf.space"
    assert "x-frame-options" not in headers


def sent(page: Served, data: bytes, visitor: str, part: str = "native") -> httpx.Response:
    """A file that is sent by the way of Gradio's components, or of a tab."""
    headers = {"x-forwarded-for": visitor}
    if part == "native":
        return page.client.post(UPLOAD, files={"files": ("photo.png", data)}, headers=headers)
    headers["content-type"] = "application/octet-stream"
    return page.client.post(f"{PREFIX}/{part}/upload", content=data, headers=headers)


def said(reply: httpx.Response) -> str:
    """Of a refusal, which Gradio's page shows as it is where it sent the file."""
    assert reply.status_code == 400
    return reply.text if reply.headers["content-type"].startswith("text/plain") else error(reply)


def alone(function: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
    """Run it in a thread without an event loop: a browser that is open keeps one in that of the tests."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, function, request).result()


@pytest.mark.parametrize("parts", [1, 3])
def test_a_body_that_does_not_say_how_long_it_is_has_an_end(parts: int) -> None:
    half = {"type": "http.request", "body": b"x" * (BODY // 2), "more_body": True}
    sent = iter([half] * parts + [half | {"body": b"", "more_body": False}])

    async def receive() -> dict[str, object]:
        return next(sent)

    end = posted(lambda _request, body: Response(str(len(body))), BODY, 1)
    request = Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)
    if parts == 1:
        assert alone(end, request).body == str(BODY // 2).encode()
    else:
        with pytest.raises(RequestError, match="At most 256 KB can be sent here"):
            alone(end, request)


def test_a_visitor_whose_images_wait_holds_up_nobody_else(space: Served) -> None:
    replies: list[httpx.Response] = []
    parts = ["retrieval", "native"] * 3
    threads = [
        threading.Thread(target=lambda part=part: replies.append(sent(space, SMALL, ONE, part))) for part in parts
    ]
    with space.explorer.services["object"].objects.images.turns.turn(ONE):
        for thread in threads:
            thread.start()
        while len(replies) < 2:
            threading.Event().wait(0.01)
        assert [said(reply).partition(";")[0] for reply in replies] == ["4 of your images are being read"] * 2
        for part in ("retrieval", "native"):
            assert sent(space, SMALL, OTHER, part).status_code == 200
        assert len(replies) == 2
    for thread in threads:
        thread.join(60)
    assert sorted(reply.status_code for reply in replies) == [200] * 4 + [400] * 2
    assert sent(space, SMALL, ONE).status_code == 200


def test_the_images_of_one_visitor_drop_nobody_elses(space: Served) -> None:
    images = space.explorer.services["object"].objects.images
    mine = images.add(SMALL, OTHER).ref
    theirs = [images.add(SMALL, ONE).ref for _ in range(UPLOADS + 2)]
    statuses = [space.client.get(f"{PREFIX}/objects/image/{ref}/pixels").status_code for ref in (mine, *theirs)]
    assert statuses[0] == statuses[-1] == 200 and statuses[1] == 404


def test_the_photographs_of_one_visitor_drop_nobody_elses(space: Served) -> None:
    mine = sent(space, SMALL, OTHER).json()[0]
    theirs = [sent(space, SMALL, ONE).json()[0] for _ in range(MOST + 2)]
    there = [Path(path).exists() for path in (mine, *theirs)]
    assert there[0] and there[-1] and not there[1] and sum(there) <= MOST


def test_five_large_images_drop_nobody_elses(space: Served) -> None:
    large = encode(np.full((2900, 2900, 3), 128, np.uint8), "BMP")
    assert len(large) > 25_000_000
    mine = sent(space, SMALL, OTHER, "retrieval").json()["upload"]
    theirs = [sent(space, large, visitor, "retrieval").json()["upload"] for visitor in (ONE, *["9.9.9.9"] * 4)]
    for ref in (mine, *theirs):
        assert space.client.get(f"{PREFIX}/retrieval/upload/{ref}").status_code == 200


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("part", ["retrieval", "native"])
def test_files_that_take_long_to_read_are_refused(space: Served, part: str) -> None:
    for name, (data, words) in BOMBS.items():
        assert words in said(sent(space, data, ONE, part)), name


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


def test_a_visitor_has_one_place_of_several_and_a_turn_that_does_not_come_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
    monkeypatch.setattr("explorer.server.turns.PATIENCE", 0.05)
    with turns.turn("a"), pytest.raises(DataError, match="try again in a minute"), turns.turn("a"):
        pass


def test_the_same_image_is_found_by_a_large_file(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    coarse = draws.integers(0, 255, (8, 12, 3), np.uint8)
    data = encode(np.kron(coarse, np.ones((250, 250, 1), np.uint8)), "BMP")
    kept = Uploads().add(data).data
    assert header(kept)[:2] == (SIDE * 3 // 2, SIDE) and len(kept) < len(data) // 4
    apart = np.abs(square(kept, 64).astype(int) - square(data, 64))
    assert apart.mean() < 1
    small = encode(coarse)
    assert Uploads().add(small).data == small
