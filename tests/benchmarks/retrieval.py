"""How fast galleries are searched and scored, beside exact search and the least that scoring takes, in the same run.

python -m tests.benchmarks.retrieval                                   # 60,000 x 512: index, query, ten visitors
python -m tests.benchmarks.retrieval --disk --count 1000000 --dim 256  # from disk, with the peak of memory
python -m tests.benchmarks.retrieval --scores --queries 2000           # a whole evaluation

Embeddings are drawn as losses arrange them: classes of 30 around means that lie around 50 coarser ones. With
``--random`` they have no structure at all, which no graph and no clustering can use. Processor seconds are summed over
threads; divided by the number of cores they are what a machine takes that does nothing else. ``--scores`` compares, on
the same rows, the similarity product and one sort of keys, and :func:`evaluate` with its default metrics.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tests.benchmarks._harness import Spent, apart, in_turn, memory, timed
from tests.programs import arguments
from trainers.metrics import evaluate
from trainers.metrics.blocks import BLOCK, sort_rows
from trainers.metrics.scores import score_query
from trainers.progress import silent
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.search_cache import Built, build
from trainers.retrieval.vectors import QueryComparison, Vectors

CLASS, BRANCHES = 30, 50  # images of a class, coarser classes
VISITORS = 10


def world(count: int, dim: int, *, random: bool, path: Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Unit rows ``[N, D]``, float32 or, in a file, float16, and labels ``[N, 2]``."""
    draws = np.random.default_rng(0)
    classes = max(1, count // CLASS)
    coarse = draws.standard_normal((BRANCHES, dim), np.float32)
    means = 0.7 * coarse[np.arange(classes) % BRANCHES] + 0.7 * draws.standard_normal((classes, dim), np.float32)
    finest = draws.integers(classes, size=count)
    if path is None:
        rows = np.empty((count, dim), np.float32)
    else:
        rows = np.lib.format.open_memmap(path, "w+", np.float16, (count, dim))
    for first in range(0, count, 10_000):
        part = finest[first : first + 10_000]
        block = draws.standard_normal((len(part), dim), np.float32) + (0 if random else means[part])
        rows[first : first + len(part)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return rows, np.stack([finest, finest % BRANCHES], axis=1)


def line(what: str, spent: Spent, floor: float | None = None) -> None:
    """Print one row; ``floor``: processor seconds of a flat search."""
    cores = os.cpu_count() or 1
    ratio = "" if floor is None else f"  {spent.processor / floor:8.3f} x flat"
    own = 1e3 * spent.processor / cores
    print(f"{what:<44} {1e3 * spent.clock:10.2f} ms  processor / {cores} cores {own:10.2f} ms{ratio}", flush=True)


def index_of(name: str, vectors: Vectors) -> Built:
    """Build, write and measure an index, and print what that took."""
    built: list[Built] = []
    descriptor = INDEXES[name]

    def make() -> None:
        built.append(build(descriptor, vectors, descriptor.checked({}), silent))

    line(f"{name} built or read, recall measured", timed(make))
    print(f"{'recall@10 against flat':<44} {built[0].recall:10.4f}")
    return built[0]


def in_memory(count: int, dim: int, random: bool) -> None:
    """An index, single queries, and visitors at once."""
    rows, labels = world(count, dim, random=random)
    vectors, queries = Vectors(rows=rows, key=f"{count} {dim} {random}"), list(range(0, count, max(1, count // 50)))
    comparison, built = QueryComparison(vectors), index_of("hnsw", vectors)

    def nearest(row: int) -> None:
        built.nearest(vectors, rows[row], 10, row)

    def ask(row: int) -> None:
        """A whole query: results from the graph, AP, H-AP and NDCG from all similarities."""
        nearest(row)
        whole, match = comparison.similarities(rows[row]), labels == labels[row]
        whole[row], match[row] = -2, False
        score_query(match, ("AP", "HAP", "NDCG"), similarity=whole)

    comparison.similarities(rows[0])
    asked = {
        "a query, flat": lambda row: comparison.similarities(rows[row]),
        "a query, HNSW and exact similarities": nearest,
        "a query with its AP, H-AP and NDCG": ask,
    }
    floor = None
    for what, work in asked.items():
        spent = timed(lambda work=work: [work(row) for row in queries]).each(len(queries))
        floor = floor or spent.processor
        line(what, spent, floor)
    for what, work in (("results alone", nearest), ("with scores", ask)):
        times, processor = visitors(work, queries)
        p50, p95 = np.percentile(times, (50, 95)) * 1e3
        title = f"{VISITORS} visitors at once, {what}"
        print(f"{title:<44} median {p50:7.1f} ms, p95 {p95:7.1f} ms, processor {processor:.1f} ms a query")


def visitors(work: Callable[[int], object], queries: list[int], each: int = 20) -> tuple[list[float], float]:
    """Seconds of every query of visitors who ask one after another without a pause, and processor ms a query."""
    times: list[float] = []

    def visit(number: int) -> None:
        for turn in range(each):
            times.append(timed(lambda turn=turn: work(queries[(7 * number + turn) % len(queries)])).clock)

    with ThreadPoolExecutor(VISITORS) as pool:
        spent = timed(lambda: list(pool.map(visit, range(VISITORS))))
    return times, 1e3 * spent.processor / len(times)


def from_disk(count: int, dim: int, random: bool, name: str) -> None:
    """Vectors and index on the disk: built in one process, searched in another, the peak of memory of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        world(count, dim, random=random, path=path)
        os.environ["RANKSCOPE_CACHE"] = folder
        for what in ("built and searched", "searched"):
            print(f"--- {name}, {what}", flush=True)
            apart(searched, path, name)


def searched(path: Path, name: str) -> None:
    """One process of :func:`from_disk`."""
    vectors = Vectors(rows=np.load(path, mmap_mode="r"), key=str(path))
    exact, built = index_of("flat", vectors), index_of(name, vectors)
    queries = [vectors.take(np.array([row]))[0] for row in range(0, len(vectors), len(vectors) // 50)]
    flat = timed(lambda: [exact.nearest(vectors, query, 10, None) for query in queries[:3]]).each(3)
    line("a query, flat", flat, flat.processor)
    found = timed(lambda: [built.nearest(vectors, query, 10, None) for query in queries]).each(len(queries))
    line(f"a query, {name}", found, flat.processor)
    print(f"{'peak of memory, mapped pages included':<44} {memory():10.0f} MB", flush=True)


# -------------------------------------------------------------------------------------------------- a whole evaluation


def floor(queries: Tensor, gallery: Tensor) -> None:
    """The product and one sort of whole-number keys, block by block."""
    gallery, queries = functional.normalize(gallery), functional.normalize(queries) * 2.0**24
    rows = max(1, BLOCK // len(gallery))
    for first in range(0, len(queries), rows):
        sort_rows((queries[first : first + rows] @ gallery.T).to(torch.int32))


def scores(count: int, dim: int, asked: int, device: str) -> None:
    """A whole evaluation of ``asked`` queries, 0 for all, beside its floor."""
    rows, labels = (torch.from_numpy(part).to(device) for part in world(count, dim, random=False))
    chosen = torch.randperm(count)[: asked or count].to(device)
    queries, own = (rows[chosen], labels[chosen]) if asked else (rows, labels)
    given = (queries, own, rows, labels) if asked else (rows, labels)
    before = memory(device)
    evaluate(*given)
    grown = memory(device) - before
    works = {"product + one key sort": lambda: floor(queries, rows), "evaluate": lambda: evaluate(*given)}
    spent = in_turn(works, 3, device, warm_up=0)
    print(f"{len(queries)} queries against {count} x {dim}, {device}, {torch.get_num_threads()} thread(s)")
    least = next(iter(spent.values())).used(device)
    for name, used in ((name, one.used(device)) for name, one in spent.items()):
        print(f"{name:<24}{used:9.2f} s  {1e3 * used / len(queries):7.3f} ms/query  {used / least:.2f}")
    print(f"peak memory while scoring: {grown:.0f} MB above the start")


def main() -> None:
    """One of the three."""
    given = arguments(
        __doc__,
        count=(60_000, "images of the gallery"),
        dim=(512, "of an embedding"),
        random=(False, "embeddings without structure"),
        disk=(False, "vectors and index on the disk"),
        index=("hnsw", "on the disk", list(INDEXES)),
        scores=(False, "evaluate in place of searching"),
        queries=(0, "how many are scored; 0: all"),
        device=("cpu", "of the evaluation"),
    )
    if given.scores:
        scores(given.count, given.dim, given.queries, given.device)
    elif given.disk:
        from_disk(given.count, given.dim, given.random, given.index)
    else:
        in_memory(given.count, given.dim, given.random)


if __name__ == "__main__":
    main()
