"""How fast galleries are searched, beside exact search in the same run.

python -m tests.benchmarks.retrieval                                   # 60,000 x 512: index, query, ten visitors
python -m tests.benchmarks.retrieval --disk --count 1000000 --dim 256  # from disk, with the peak of memory

Embeddings are drawn as losses arrange them: classes of 30 around means that lie around 50 coarser ones. With
``--random`` they have no structure at all, which no graph and no clustering can use. Processor seconds are summed over
threads; divided by the number of cores they are what a machine takes that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from trainers.metrics.scores import score_query
from trainers.progress import silent
from trainers.retrieval.built import Built, build
from trainers.retrieval.comparison import Comparison
from trainers.retrieval.indexes import INDEXES, Flat
from trainers.retrieval.vectors import Vectors

CLASS = 30  # images of a class
BRANCHES = 50  # coarser classes
VISITORS = 10


def world(count: int, dim: int, *, random: bool, path: Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows ``[N, D]``, float32 or, in a file, float16, and labels ``[N, 2]``."""
    draws = np.random.default_rng(0)
    classes = max(1, count // CLASS)
    coarse = draws.standard_normal((BRANCHES, dim), np.float32)
    means = 0.7 * coarse[np.arange(classes) % BRANCHES] + 0.7 * draws.standard_normal((classes, dim), np.float32)
    finest = draws.integers(classes, size=count)
    rows = (
        np.empty((count, dim), np.float32)
        if path is None
        else np.lib.format.open_memmap(path, "w+", np.float16, (count, dim))
    )
    for first in range(0, count, 10_000):
        part = finest[first : first + 10_000]
        block = draws.standard_normal((len(part), dim), np.float32) + (0 if random else means[part])
        rows[first : first + len(part)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return rows, np.stack([finest, finest % BRANCHES], axis=1)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def line(what: str, seconds: tuple[float, float], floor: float | None = None) -> None:
    cores = os.cpu_count() or 1
    ratio = "" if floor is None else f"  {seconds[1] / floor:8.3f} x flat"
    print(
        f"{what:<44} {1e3 * seconds[0]:10.2f} ms  processor / {cores} cores {1e3 * seconds[1] / cores:10.2f} ms{ratio}"
    )


def in_memory(count: int, dim: int, random: bool) -> None:
    """An index, single queries, and visitors at once."""
    rows, labels = world(count, dim, random=random)
    vectors, queries = Vectors(rows=rows, key=f"{count} {dim} {random}"), list(range(0, count, max(1, count // 50)))
    comparison, built = Comparison(vectors), None

    def make() -> None:
        nonlocal built
        built = build(INDEXES["hnsw"], vectors, INDEXES["hnsw"].checked({}), silent)

    line("index built, written, recall measured", timed(make))
    assert isinstance(built, Built)
    print(f"{'recall@10 of HNSW against flat':<44} {built.recall:10.4f}")

    def exact() -> None:
        for row in queries:
            comparison.similarities(rows[row])

    def graph() -> None:
        for row in queries:
            built.nearest(vectors, rows[row], 10, row)

    def ask(row: int) -> None:
        """A whole query: results from the graph, AP, H-AP and NDCG from all similarities."""
        built.nearest(vectors, rows[row], 10, row)
        whole, match = comparison.similarities(rows[row]), labels == labels[row]
        whole[row], match[row] = -2, False
        score_query(match, ("AP", "HAP", "NDCG"), similarity=whole)

    exact()
    flat = tuple(value / len(queries) for value in timed(exact))
    line("a query, flat", flat, flat[1])
    line("a query, HNSW and exact similarities", tuple(v / len(queries) for v in timed(graph)), flat[1])
    line(
        "a query with its AP, H-AP and NDCG",
        tuple(v / len(queries) for v in timed(lambda: [ask(q) for q in queries])),
        flat[1],
    )
    for what, work in (("results alone", lambda row: built.nearest(vectors, rows[row], 10, row)), ("with scores", ask)):
        times, processor = visitors(work, queries)
        p50, p95 = np.percentile(times, (50, 95)) * 1e3
        title = f"{VISITORS} visitors at once, {what}"
        print(f"{title:<44} median {p50:7.1f} ms, p95 {p95:7.1f} ms, processor {processor:.1f} ms a query")


def visitors(work: Callable[[int], object], queries: list[int], each: int = 20) -> tuple[list[float], float]:
    """Seconds of every query of visitors who ask one after another without a pause, and processor ms a query."""
    times: list[float] = []

    def visit(number: int) -> None:
        for turn in range(each):
            started = time.perf_counter()
            work(queries[(7 * number + turn) % len(queries)])
            times.append(time.perf_counter() - started)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(VISITORS)]
    before = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, 1e3 * (time.process_time() - before) / len(times)


def from_disk(count: int, dim: int, random: bool, name: str) -> None:
    """Vectors and index on the disk: built in one process, searched in another, the peak of memory of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        world(count, dim, random=random, path=path)
        command = [sys.executable, "-m", "tests.benchmarks.retrieval", "--searched", str(path), "--index", name]
        for what in ("built and searched", "searched"):
            print(f"--- {name}, {what}", flush=True)
            subprocess.run(command, check=True, env={**os.environ, "RANKSCOPE_CACHE": folder})


def searched(path: Path, name: str) -> None:
    """One process of :func:`from_disk`."""
    vectors = Vectors(rows=np.load(path, mmap_mode="r"), key=str(path))
    built: list[Built] = []
    line("index", timed(lambda: built.append(build(INDEXES[name], vectors, INDEXES[name].checked({}), silent))))
    print(f"{'recall@10 against flat':<44} {built[0].recall:10.4f}")
    queries = range(0, len(vectors), len(vectors) // 50)
    flat = timed(lambda: [Flat(vectors).search(vectors.take(np.array([q])), 10) for q in list(queries)[:3]])
    flat = flat[0] / 3, flat[1] / 3
    line("a query, flat", flat, flat[1])
    found = timed(lambda: [built[0].nearest(vectors, vectors.take(np.array([q]))[0], 10, q) for q in queries])
    line(f"a query, {name}", (found[0] / len(queries), found[1] / len(queries)), flat[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{'peak of memory, mapped pages included':<44} {peak:10.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--disk", action="store_true")
    parser.add_argument("--index", default="ivf_sq8")
    parser.add_argument("--searched", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.searched:
        searched(given.searched, given.index)
    elif given.disk:
        from_disk(given.count, given.dim, given.random, given.index)
    else:
        in_memory(given.count, given.dim, given.random)


if __name__ == "__main__":
    main()
