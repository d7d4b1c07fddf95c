"""What arrives by being dropped: pieces in order, names that lead nowhere else, and bounds."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import explorer.server.drops as drops_module
from explorer.server.drops import DropLimits
from explorer.server.visitors import Caller
from tests.explorer.page import FormPage
from tests.tiny import write_images
from trainers.config import DataChoice
from trainers.data import access, load_data, sources
from trainers.errors import DataError

SOMEBODY, ANOTHER = Caller(address="1.2.3.4"), Caller(address="5.6.7.8")
LIMITS = DropLimits(size=10_000, files=5, held=2, total=25_000, unused=60.0)
HOSTILE = [
    *("../up.png", "/etc/up.png", "a//b.png", "a/./b.png", "a\\b.png", "C:x.png", "a\0.png"),
    *("run.py", "a/", ".png/"),
]


class Page(FormPage):
    """The addresses of the form of a public page."""

    def ask(self, action: str, key: str = "") -> Any:
        return self.post("dropping", {"action": action, "id": key}).json()

    def send(self, key: str, files: Sequence[tuple[str, int, bytes]]) -> str:
        """Send pieces; returns the refusal, or nothing."""
        head = {"id": key, "files": [{"path": path, "at": at, "size": len(part)} for path, at, part in files]}
        written = json.dumps(head).encode()
        body = len(written).to_bytes(4, "big") + written + b"".join(part for _, _, part in files)
        reply = self.post("drop", body)
        assert reply.status_code in (200, 400), reply.text
        return reply.json().get("error", "")

    def drop(self, files: Sequence[tuple[str, int, bytes]], caller: Caller = SOMEBODY) -> str:
        """Send files as a visitor; returns the source."""
        key = self.drops.begin(caller)
        assert self.send(key, files) == ""
        return self.drops.end(key)["source"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / sources.PREFIX


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    made = Page(tmp_path, public=True, limits=LIMITS)
    yield made
    made.scheduler.close()


def test_a_folder_arrives_and_is_read_where_no_folder_is_opened(tmp_path: Path) -> None:
    folder = write_images(tmp_path / "images")
    paths = sorted(folder.rglob("*.png"))
    whole = Page(tmp_path, public=True)
    release = access.serve_strangers()
    try:
        pieces = [(f"fruit/{path.relative_to(folder)}", 0, path.read_bytes()) for path in paths]
        source = whole.drop(pieces)
        assert source.endswith("/fruit")
        data = load_data(DataChoice(source=source, image_size=24))
        assert len(data.train.images) + len(data.test.images) == len(paths)
        with pytest.raises(DataError):
            load_data(DataChoice(source=str(folder), image_size=24))
    finally:
        release()
        whole.scheduler.close()


def test_pieces_are_put_together_in_order(page: Page, cache: Path) -> None:
    key = page.ask("begin")["id"]
    assert page.send(key, [("a.zip", 0, b"one"), ("b.png", 0, b"")]) == ""
    assert page.send(key, [("a.zip", 3, b"two")]) == ""
    assert "missing" in page.send(key, [("a.zip", 3, b"two")])
    assert "same name" in page.send(key, [("b.png", 0, b"x")])
    assert "same name" in page.send(key, [("b.png/c.png", 0, b"x")])
    source = page.ask("end", key)["source"]
    assert source == f"dropped/{key}/images"
    assert (cache / key / "images" / "a.zip").read_bytes() == b"onetwo"
    assert "no longer" in page.send(key, [("c.png", 0, b"x")])


@pytest.mark.parametrize("path", HOSTILE)
def test_names_lead_nowhere_else(page: Page, cache: Path, path: str) -> None:
    key = page.ask("begin")["id"]
    assert page.send(key, [(path, 0, b"x")])
    assert [found for found in cache.rglob("*") if found.is_file()] == []


def test_what_is_said_must_be_so(page: Page) -> None:
    key = page.ask("begin")["id"]
    for body in (b"", b"\0\0\0\5abc", b"\xff\xff\xff\xff{}", b"\0\0\0\2[]", b'\0\0\0\11{"id":"x"}'):
        assert page.refused("drop", body)
    assert "number" in page.send(key, [("a.png", -1, b"x")]) or page.send(key, [("a.png", -1, b"x")])
    assert page.send("0" * 32, [("a.png", 0, b"x")]) and page.ask("end", "../..")["error"]
    head = json.dumps({"id": key, "files": [{"path": "a.png", "at": 0, "size": 5}]}).encode()
    assert "not as long" in page.refused("drop", len(head).to_bytes(4, "big") + head + b"x")


def test_it_is_bounded(page: Page, cache: Path) -> None:
    key = page.ask("begin")["id"]
    assert "more" in page.send(key, [("a.png", 0, bytes(10_001))])
    page.ask("cancel", key)
    key = page.ask("begin")["id"]
    assert "5 files" in page.send(key, [(f"{i}.png", 0, b"x") for i in range(6)])
    page.ask("cancel", key)
    assert list(cache.iterdir()) == [] and "No images" in page.ask("end", page.ask("begin")["id"])["error"]


def test_a_visitor_keeps_two_and_others_theirs(page: Page, cache: Path) -> None:
    large = [("a.png", 0, bytes(6_000))]
    other = page.drop(large, ANOTHER)
    first, second, third = (page.drop(large) for _ in range(3))
    assert [sources.path_of(source) for source in (other, second, third)]
    with pytest.raises(DataError, match="no longer kept"):
        sources.path_of(first)
    with pytest.raises(DataError, match="no room"):  # all that is kept was used just now
        page.drop([("a.png", 0, bytes(9_000))], Caller(address="9.9.9.9"))
    old = time.time() - 120
    os.utime(cache / other.split("/")[1], (old, old))
    assert page.drop([("a.png", 0, bytes(9_000))], Caller(address="9.9.9.9"))
    with pytest.raises(DataError, match="no longer kept"):
        sources.path_of(other)


def test_what_never_arrived_goes(page: Page, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page.ask("begin")
    monkeypatch.setattr(drops_module, "ABANDONED", -1.0)
    left = cache / f"{'f' * 32}.part"
    left.mkdir()
    page.ask("begin")
    assert len(list(cache.iterdir())) == 1 and not left.exists()


@pytest.mark.parametrize("source", [f"dropped/{'a' * 32}/..", "dropped/../x", f"dropped/{'A' * 32}/x", "dropped/x/y/z"])
def test_only_what_was_dropped_is_named(cache: Path, source: str) -> None:
    assert sources.path_of(source) is None


def test_no_link_is_followed(cache: Path, tmp_path: Path) -> None:
    (cache / ("a" * 32)).mkdir(parents=True)
    (cache / ("a" * 32) / "x").symlink_to(tmp_path)
    with pytest.raises(DataError):
        sources.path_of(f"dropped/{'a' * 32}/x")


def test_without_a_cache_nothing_can_be_dropped(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", "off")
    assert page.drops.json() is None and "keeps nothing" in page.ask("begin")["error"]
