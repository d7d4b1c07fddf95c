"""How long ODmAP@k takes once images and captions are encoded, and how much memory beside them.

python -m tests.benchmarks.odmap --queries 5000 --captions 600000 --dim 512
"""

from __future__ import annotations

import argparse
import resource
import time

import torch

from trainers.metrics.counterfactual import counterfactual


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--captions", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--classes", type=int, default=80)
    parser.add_argument("--sets", type=int, default=10_000, help="different sets of classes that captions name")
    parser.add_argument("--half", action="store_true", help="captions in float16")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.manual_seed(0)
    gallery = torch.randn(given.captions, given.dim, dtype=torch.float16 if given.half else torch.float32)
    queries = torch.randn(given.queries, given.dim)
    sets = torch.rand(min(given.captions, given.sets), given.classes) < 2.5 / given.classes
    mentions = sets[torch.randint(len(sets), (given.captions,))]
    state = torch.rand(given.queries, given.classes)
    present, removed = state < 3 / given.classes, state > 1 - 1.5 / given.classes
    tables = [table.to(given.device) for table in (queries, gallery, mentions, present, removed)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, work = time.perf_counter(), time.process_time()
    found = counterfactual(*tables)
    wall, work = time.perf_counter() - start, time.process_time() - work
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{given.queries} queries against {given.captions} captions of {given.dim} numbers, {given.device}")
    print(f"{wall:.1f} s wall, {work:.1f} s processor time, {torch.get_num_threads()} thread(s)")
    print(f"{peak:.0f} MB above the inputs; {found.counts}")


if __name__ == "__main__":
    main()
