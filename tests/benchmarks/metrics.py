"""How dear a full evaluation is, beside what cannot be saved and beside writing it down as it reads.

python -m tests.benchmarks.metrics --count 60000 --queries 2000

In one run, on the same rows: the similarity product and one sort of keys (the floor), :func:`evaluate` with its
default metrics, and a straightforward version: argsort, gather, one cumulative table for each number.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from trainers.metrics import evaluate
from trainers.metrics.blocks import BLOCK, sort_rows


def world(count: int, dim: int, device: str) -> tuple[Tensor, Tensor]:
    """Float32 embeddings in 12 kinds of classes of five, labels ``[N, 2]``."""
    torch.manual_seed(0)
    finest = torch.arange(count) // 5
    kind = finest % 12
    emb = 0.5 * torch.randn(12, dim)[kind] + 0.7 * torch.randn(len(finest), dim)[finest] + torch.randn(count, dim)
    return emb.to(device), torch.stack([finest, kind], 1).to(device)


def floor(queries: Tensor, gallery: Tensor) -> None:
    """The product and one sort of whole-number keys, block by block."""
    gallery = functional.normalize(gallery)
    queries = functional.normalize(queries) * 2.0**24
    rows = max(1, BLOCK // len(gallery))
    for first in range(0, len(queries), rows):
        sort_rows((queries[first : first + rows] @ gallery.T).to(torch.int32))


def straightforward(queries: Tensor, labels: Tensor, gallery: Tensor, gallery_labels: Tensor) -> float:
    """The same default metrics, each from its own full table in float64, a block at a time."""
    gallery, queries = functional.normalize(gallery), functional.normalize(queries)
    place = torch.arange(1, len(gallery) + 1, device=gallery.device, dtype=torch.float64)
    total, rows = 0.0, max(1, BLOCK // len(gallery) // 4)
    for first in range(0, len(queries), rows):
        order = (queries[first : first + rows] @ gallery.T).argsort(dim=1, descending=True)
        level = (labels[first : first + rows, None] == gallery_labels[None]).sum(2).gather(1, order)
        for hit in (level == 2, level > 0):
            precision = hit.cumsum(1) / place * hit
            total += (precision.sum(1) / hit.sum(1)).sum().item()
            total += (precision * (place <= hit.sum(1, keepdim=True))).sum().item()
        counts = torch.stack([(level == v).sum(1) for v in range(3)], 1)
        rel = torch.where(level > 0, (level / 2) / counts.gather(1, level), 0.0)
        hrank = torch.zeros_like(rel)
        for v in (1, 2):
            worth = (v / 2) / counts[:, v : v + 1].clamp(min=1)
            hrank += torch.minimum(rel, worth) * (level == v).cumsum(1)
        total += (hrank / place).sum().item()
        gain = torch.exp2(level.double()) - 1
        best = gain.sort(dim=1, descending=True).values
        total += ((gain / torch.log2(1 + place)).sum(1) / (best / torch.log2(1 + place)).sum(1)).sum().item()
        ideal = level.sort(dim=1, descending=True).values
        common = sum(torch.minimum((level == v).cumsum(1), (ideal == v).cumsum(1)) for v in (1, 2))
        total += (common / place * (place <= (level > 0).sum(1, keepdim=True))).sum().item()
    return total


def seconds(work: Callable[[], object], device: str) -> float:
    """Time of one run: on the CPU the processor's, summed over threads, which other jobs disturb least."""
    if device == "cpu":
        start = time.process_time()
        work()
        return time.process_time() - start
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=5000, help="gallery size")
    parser.add_argument("--queries", type=int, help="how many of it are searched; all if not given")
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--skip-straightforward", action="store_true", help="it takes long on large sets")
    given = parser.parse_args()
    emb, labels = world(given.count, given.dim, given.device)
    chosen = torch.randperm(given.count)[: given.queries or given.count].to(given.device)
    queries, asked = emb[chosen], labels[chosen]

    def memory() -> float:
        if given.device != "cpu":
            return torch.cuda.max_memory_allocated() / 2**20
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def score() -> None:
        evaluate(emb, labels) if given.queries is None else evaluate(queries, asked, emb, labels)

    before, full, least = memory(), float("inf"), float("inf")
    for _ in range(given.repeats):  # by turns, so that a busy machine is busy for both
        full = min(full, seconds(score, given.device))
        after = memory()
        least = min(least, seconds(lambda: floor(queries, emb), given.device))
    each = 1e3 / len(chosen)
    threads = torch.get_num_threads()
    print(f"{len(chosen)} queries against {given.count} x {given.dim}; processor time, {threads} thread(s)")
    print(f"product + one key sort  {least:9.2f} s  {least * each:7.3f} ms/query  1.00")
    print(f"evaluate                {full:9.2f} s  {full * each:7.3f} ms/query  {full / least:.2f}")
    if not given.skip_straightforward:
        plain = seconds(lambda: straightforward(queries, asked, emb, labels), given.device)
        print(f"straightforward         {plain:9.2f} s  {plain * each:7.3f} ms/query  {plain / least:.2f}")
    print(f"peak memory while scoring: {after:.0f} MB, {after - before:.0f} MB above the start")


if __name__ == "__main__":
    main()
