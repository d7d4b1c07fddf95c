"""How often 95 % intervals of a difference hold the true one, by seeds and classes, beside plain percentile bootstraps.

python -m tests.benchmarks.intervals --times 500

Differences are drawn with effects of the seed, the class, the query and of these together; the classes have sizes of a
geometric distribution, 6 queries in the mean. Beside ours stand the percentile bootstrap of single queries, pooled over
the seeds; of whole classes, of the seeds' mean; and of seeds and classes both (Owen, "The pigeonhole bootstrap", 2007).
"""

from __future__ import annotations

import argparse

import numpy as np

from tests.comparison.world import SCENARIOS, class_sizes, differences
from trainers.comparison.estimate import Classes, estimate
from trainers.metrics.bootstrap import bootstrap

METHODS = ("ours", "queries", "classes", "seeds and classes")
TAILS = [0.025, 0.975]


def intervals(values: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Every interval of the mean of differences ``[S, Q]``."""
    seeds = len(values)
    table = Classes.of(values, labels)
    own, queries = estimate(values.mean(1), tuple(range(seeds)), table), bootstrap(values.ravel())
    low, high = np.quantile(table.resamples.mean(1), TAILS)
    drawn = rng.multinomial(seeds, np.full(seeds, 1 / seeds), len(table.resamples)) / seeds
    both = np.quantile((table.resamples * drawn).sum(1), TAILS)
    return {
        "ours": (own.low, own.high),
        "queries": (queries.low, queries.high),
        "classes": (low, high),
        "seeds and classes": (both[0], both[1]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=500, help="experiments per line")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 5])
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 20, 60])
    given = parser.parse_args()
    print("| effects of | seeds | classes | " + " | ".join(f"{name}, %" for name in METHODS) + " |")
    print("| --- " + "| ---: " * (len(METHODS) + 2) + "|")
    for name, effects in SCENARIOS.items():
        for seeds in given.seeds:
            for classes in given.classes:
                rng, hits = np.random.default_rng([seeds, classes]), dict.fromkeys(METHODS, 0)
                for _ in range(given.times):
                    sizes = class_sizes(classes, 6, True, rng)
                    values = differences(effects, seeds, sizes, rng)
                    for method, (low, high) in intervals(values, np.repeat(np.arange(classes), sizes), rng).items():
                        hits[method] += low <= 0 <= high
                shares = " | ".join(f"{100 * hit / given.times:.1f}" for hit in hits.values())
                print(f"| {name} | {seeds} | {classes} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
