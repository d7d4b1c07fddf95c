"""The least-recently-used cache."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from trainers.data.lru_cache import Cache, CostLimit


def test_a_value_is_made_once() -> None:
    made: list[str] = []
    cache: Cache[int] = Cache(limit=2)
    assert [cache.get("a", lambda: made.append("a") or 1) for _ in range(3)] == [1, 1, 1]
    assert made == ["a"]


def test_the_oldest_leaves_first_and_is_told() -> None:
    gone: list[bytes] = []
    bound = CostLimit(10)
    cache: Cache[bytes] = Cache(limit=bound, cost=len, dropped=gone.append)
    for key in ("a", "b"):
        cache.get(key, lambda key=key: key.encode() * 4)
    cache.get("a", bytes)
    cache.get("c", lambda: b"c" * 4)
    assert gone == [b"bbbb"] and bound.total == 8
    cache.clear()
    assert bound.total == 0 and len(gone) == 3


def test_what_is_too_large_is_not_kept() -> None:
    cache: Cache[bytes] = Cache(limit=10, cost=len)
    assert len(cache.get("big", lambda: b"x" * 11)) == 11
    assert cache.kept() == []


def test_a_failure_is_not_kept() -> None:
    cache: Cache[int] = Cache(limit=2)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 // 0)
    assert cache.get("a", lambda: 5) == 5


def test_many_threads_keep_the_count_right() -> None:
    bound = CostLimit(50)
    cache: Cache[int] = Cache(limit=bound)

    def work(start: int) -> None:
        for i in range(500):
            assert cache.get((start + i) % 80, lambda i=i: (start + i) % 80) == (start + i) % 80

    threads = [threading.Thread(target=work, args=(n * 7,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bound.total == len(cache.kept()) == 50


def test_caches_of_one_room_make_way_for_each_other() -> None:
    room = CostLimit(10)
    gone: list[object] = []
    first: Cache[bytes] = Cache(limit=room, cost=len, dropped=gone.append)
    second: Cache[str] = Cache(limit=room, cost=len, dropped=gone.append)
    first.get("a", lambda: b"aaaa")
    second.get("b", lambda: "bbbb")
    first.get("a", bytes)
    second.get("c", lambda: "cccc")
    assert gone == ["bbbb"] and (first.kept(), second.kept(), room.total) == ([b"aaaa"], ["cccc"], 8)
    second.get("d", lambda: "dddd")
    assert gone == ["bbbb", b"aaaa"] and first.kept() == []
    second.clear()
    assert room.total == 0


def test_so_many_are_kept_whatever_they_cost() -> None:
    cache: Cache[bytes] = Cache(limit=10, cost=len, least=2)
    for letter in (b"a", b"b", b"c"):
        cache.get(letter, lambda letter=letter: letter * 20)
    assert cache.kept() == [b"b" * 20, b"c" * 20] and b"a" not in cache
    cache.get("small", lambda: b"d")
    assert cache.kept() == [b"c" * 20, b"d"]
    for number in range(3):
        cache.get(number, lambda: b"ee")
    assert len(cache.kept()) == 4 and b"c" not in cache


def test_who_asks_while_a_value_is_made_waits_for_it() -> None:
    cache: Cache[int] = Cache(limit=4)
    made: list[int] = []
    begun, going = threading.Event(), threading.Event()

    def make() -> int:
        begun.set()
        assert going.wait(60)
        made.append(len(made))
        return made[-1]

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(cache.get, "a", make)
        assert begun.wait(60)
        others = [pool.submit(cache.get, "a", make) for _ in range(2)]
        assert cache.get("b", lambda: 9) == 9, "another key does not wait"
        going.set()
        assert [one.result(60) for one in (first, *others)] == [0, 0, 0]
    assert made == [0]


def test_whoever_keeps_most_makes_room_first() -> None:
    room = CostLimit(100)
    images: Cache[bytes] = Cache(limit=room, cost=len)
    others: Cache[bytes] = Cache(limit=room, cost=len)
    images.get("mine", lambda: b"m" * 25, "me")
    for number in range(12):
        cache = (images, others)[number % 2]
        cache.get(number, lambda number=number: bytes([number]) * 25, "flood")
    assert images.kept() == [b"m" * 25, bytes([10]) * 25], "its own oldest are dropped"
    assert others.kept() == [bytes([9]) * 25, bytes([11]) * 25] and room.total == 100
    images.get("large", lambda: b"x" * 50, "third")
    assert len(images.get("mine", bytes)) == 25 and len(images.get("large", bytes)) == 50, "the new one stays as well"
    images.clear()
    others.clear()
    assert room.total == 0 and not room.owned
