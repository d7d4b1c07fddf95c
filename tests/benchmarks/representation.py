"""How dear the evaluation of frozen features is, beside the same done plainly in the same run.

python -m tests.benchmarks.representation --train 9600 --test 3200 --dim 128 --classes 80

The linear probe trains all rates at once; the reference trains one layer after another with autograd and torch's own
optimiser, for the same number of steps on batches of the same size. k-NN stands beside its similarity product alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from trainers.metrics.representation import effective_rank, knn_accuracy, linear_probe, uniformity
from trainers.metrics.representation.linear_probe import BATCH, MOMENTUM, RATES


def world(count: int, dim: int, classes: int, seed: int) -> tuple[Tensor, Tensor]:
    """Float32 features around class means, and their labels."""
    draws = torch.Generator().manual_seed(seed)
    means = torch.randn(classes, dim, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(classes, (count,), generator=draws)
    return means[labels] + 2 * torch.randn(count, dim, generator=draws), labels


def one_after_another(features: Tensor, labels: Tensor, classes: int, steps: int) -> None:
    """The reference: a layer per rate, by autograd."""
    for rate in RATES:
        layer = torch.nn.Linear(features.shape[1], classes, device=features.device)
        optimizer = torch.optim.SGD(layer.parameters(), lr=rate, momentum=MOMENTUM)
        for _ in range(steps):
            rows = torch.randint(len(features), (BATCH,), device=features.device)
            optimizer.zero_grad()
            functional.cross_entropy(layer(features[rows]), labels[rows]).backward()
            optimizer.step()


def seconds(work: Callable[[], object], device: str) -> float:
    """The shortest of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=9600)
    parser.add_argument("--test", type=int, default=3200)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--classes", type=int, default=80)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    train, labels = world(given.train, given.dim, given.classes, seed=1)
    test, asked = world(given.test, given.dim, given.classes, seed=2)
    train, test, there = (some.to(given.device) for some in (train, test, labels))
    result = linear_probe(train, labels, test, asked, steps=given.steps)
    probe = seconds(lambda: linear_probe(train, labels, test, asked, steps=given.steps), given.device)
    plain = seconds(lambda: one_after_another(train, there, given.classes, given.steps), given.device)
    product = seconds(lambda: test.double() @ train.double().T, given.device)
    knn = seconds(lambda: knn_accuracy(train, labels, test, asked), given.device)
    score = knn_accuracy(train, labels, test, asked)["knn_accuracy"]
    print(f"{given.train} + {given.test} features of {given.dim} numbers, {given.classes} classes, {given.device}")
    print(f"linear probe: {probe:.2f} s for {len(RATES)} rates, {probe / plain:.2f} times one after another")
    print(f"  accuracy {result.accuracy:.3f} at rate {result.rate:g}")
    print(f"k-NN: {1000 * knn:.0f} ms, {knn / product:.1f} times the float64 product; accuracy {score:.3f}")
    print(f"uniformity: {1000 * seconds(lambda: uniformity(test), given.device):.0f} ms")
    print(f"effective rank: {1000 * seconds(lambda: effective_rank(test), given.device):.0f} ms")


if __name__ == "__main__":
    main()
