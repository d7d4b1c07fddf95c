"""Every index against a slow search, and its file: kept, damaged, made by two processes at once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trainers.errors import UserError
from trainers.progress import silent
from trainers.retrieval import indexes as library
from trainers.retrieval import search_cache as module
from trainers.retrieval.indexes import INDEXES, Size, choose
from trainers.retrieval.search_cache import Built, build
from trainers.retrieval.vectors import EXACT, QueryComparison, Vectors

KEPT = [name for name, entry in INDEXES.items() if entry.open is not None]


def clustered(count: int = 3000, dim: int = 24, dtype: type = np.float32, seed: int = 0) -> Vectors:
    draws = np.random.default_rng(seed)
    rows = draws.standard_normal((100, dim))[draws.integers(100, size=count)] + draws.standard_normal((count, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Vectors(rows=rows.astype(dtype), key=f"{count} {dim} {dtype} {seed}")


def made(name: str, vectors: Vectors) -> Built:
    return build(INDEXES[name], vectors, INDEXES[name].checked({}), silent)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", INDEXES)
def test_an_index_finds_what_a_slow_search_finds(name: str, dtype: type) -> None:
    vectors, entry = clustered(dtype=dtype), INDEXES[name]
    index = made(name, vectors)
    wide = vectors.rows.astype(np.float32)
    found, same = 0, 0
    for number in range(0, 3000, 100):
        similarity = wide @ wide[number]
        similarity[number] = -np.inf
        expected = np.argsort(-similarity, kind="stable")[:10]
        rows, near = index.nearest(vectors, wide[number], 10, number)
        assert len(rows) == 10 and number not in rows and len(set(rows)) == 10
        assert np.allclose(near, similarity[rows], atol=1e-5) and (np.diff(near) <= 0).all()
        found += len(np.intersect1d(rows, expected))
        same += int((rows == expected).all())
    assert found / 300 >= 0.95 and index.recall >= 0.95
    if entry.exact:
        assert found == 300 and same >= 29 and index.recall == 1


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_small_gallery_gives_all_it_has(name: str, count: int) -> None:
    vectors = clustered(count)
    rows, _ = made(name, vectors).nearest(vectors, vectors.take(np.array([0]))[0], 10, 0)
    assert sorted(rows) == list(range(1, count))


@pytest.mark.parametrize("name", KEPT)
def test_an_index_is_kept_and_made_again_when_it_is_damaged(name: str, tmp_path: Path) -> None:
    vectors, calls, entry = clustered(), [], INDEXES[name]

    def counted(*values: object) -> object:
        calls.append(1)
        return entry.build(*values)  # type: ignore[arg-type]

    def again(vectors: Vectors = vectors) -> Built:
        return build(replace(entry, build=counted), vectors, entry.checked({}), silent)  # type: ignore[arg-type]

    first, second = again(), again()
    assert len(calls) == 1 and second.recall == first.recall and second.seconds == first.seconds > 0
    (file,) = (tmp_path / "cache" / module.KIND).glob("*/index.faiss")
    content = file.read_bytes()
    for damage in (content[: len(content) // 2], bytes(len(content)), content[:-1] + bytes([content[-1] ^ 1]), b""):
        file.unlink()  # another file of that name: the old one may be mapped
        file.write_bytes(damage)
        assert again().recall >= 0.95
    assert len(calls) == 5
    again(clustered(seed=1))
    assert len(calls) == 6


def test_an_index_that_cannot_be_kept_is_searched_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("off", str(tmp_path / "file")):
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("RANKSCOPE_CACHE", place)
        assert made("hnsw", clustered()).recall >= 0.95


def test_whoever_stops_the_building_is_heard(tmp_path: Path) -> None:
    def stop(_text: str, fraction: float) -> None:
        raise KeyboardInterrupt

    for name in KEPT:
        with pytest.raises(KeyboardInterrupt):
            build(INDEXES[name], clustered(), INDEXES[name].checked({}), stop)
    assert not list((tmp_path / "cache").glob("indexes/*"))


def test_the_index_is_chosen_by_size_and_says_why() -> None:
    gb = 10**9
    for count, dim, memory, name in (
        (1500, 64, gb, "flat"),
        (32_768, 512, gb, "flat"),
        (60_000, 512, 4 * gb, "hnsw"),
        (60_000, 512, gb // 100, "flat"),
        (1_000_000, 256, 4 * gb, "flat"),
    ):
        chosen = choose(INDEXES, Size(count=count, dim=dim, memory=memory))
        assert chosen.descriptor.name == name and chosen.reason.endswith(".") and f"{count:,}" in chosen.reason
    assert choose(INDEXES, Size(count=5, dim=2, memory=1), "hnsw").descriptor.name == "hnsw"


def test_without_faiss_every_gallery_is_searched_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    library.faiss_library.cache_clear()
    monkeypatch.setitem(sys.modules, "faiss", None)  # as where it is not installed
    try:
        assert library.faiss_library() is None
        for size in (Size(count=10**k, dim=256, memory=10**9) for k in range(2, 9)):
            chosen = choose(INDEXES, size)
            assert chosen.descriptor.name == "flat"
        assert "faiss is not installed" in chosen.reason
        with pytest.raises(UserError, match="pip install faiss-cpu"):
            choose(INDEXES, size, "hnsw")
        assert made("flat", clustered()).nearest(clustered(), clustered().rows[0], 3, 0)[0].shape == (3,)
    finally:
        library.faiss_library.cache_clear()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("count", [500, EXACT // 24 + 1000])
def test_queries_of_several_threads_share_a_product(count: int, dtype: type) -> None:
    vectors = clustered(count, dtype=dtype)
    comparison, wide = QueryComparison(vectors), vectors.rows.astype(np.float32)
    with ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(lambda row: comparison.similarities(wide[row]), range(40)))
    for row, table in enumerate(tables):
        assert table.shape == (count,) and np.allclose(
            table, wide @ wide[row], atol=1e-3 if dtype == np.float16 else 1e-5
        )
    with pytest.raises(RuntimeError):
        comparison.similarities(np.ones(3, np.float32))
    assert len(comparison.similarities(wide[0])) == count


def test_an_index_is_searched_where_another_library_has_replaced_the_search_of_faiss() -> None:
    code = """
import torch, faiss.contrib.torch_utils
import numpy as np
from trainers.progress import silent
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.vectors import Vectors
rows = np.random.default_rng(0).standard_normal((400, 8)).astype(np.float32)
rows /= np.linalg.norm(rows, axis=1, keepdims=True)
descriptor = INDEXES["hnsw"]
found = descriptor.build(Vectors(rows=rows, key="x"), descriptor.checked({}), silent).search(rows[:5], 3)
assert found.shape == (5, 3) and (found >= 0).all() and (found < 400).all(), found
assert (found[:, 0] == np.arange(5)).all(), found
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
