"""What a step of MoCo costs beside what it cannot do without, measured in turn in the same run.

python -m tests.benchmarks.contrastive_step [--queue 65536] [--batch 256] [--side 32] [--encoders conv4 timm:resnet18]

The step: both encoders, momentum, logits, loss, its gradient, and the keys' entry into the queue. Beside it the bare
work: queries and their backward pass through the encoder, keys without gradient, the two products of the logits (own
keys, queue), and the product that carries the gradient back from the queue's logits, which is part of the queries'
backward pass. The optimizer is in neither. ``without`` is the ratio to the bare work without that last product.

Bytes allocated in the step outside encoders are counted by torch's profiler: everything of at least the size of the
queue is listed. The logits [N, 1 + K] are of that size where the batch is as large as the projection; the queue itself
[D, K] is never copied: logits are made from it in place, the keys of a batch replace D x N of its numbers once, and
the backward pass corrects for those columns instead of keeping a copy.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.encoders import ENCODERS
from trainers.kinds.contrastive.moco import MoCo
from trainers.kinds.contrastive.networks import Projected, projector
from trainers.kinds.contrastive.norms import normalised
from trainers.parameters import parse_choice

MEGABYTE = 2**20


def network(written: str, side: int, dim: int) -> nn.Module:
    """An encoder as a run trains it, with its projection head."""
    name, parameters = parse_choice(written, ENCODERS)
    offline = {"pretrained": False} if ENCODERS[name].make.wraps else {}
    encoder = ENCODERS[name].build(channels=3, side=side, dim=2, parameters={**parameters, **offline})
    width = encoder.without_head()
    net = Projected(normalised(encoder, "split"), projector(width, dim, mlp=True))
    return net.to(memory_format=torch.channels_last)


def step_of(net: nn.Module, images: tuple[Tensor, Tensor], dim: int, size: int) -> tuple[Callable[[], object], MoCo]:
    """A step of the system."""
    moco = MoCo(net, dim=dim, queue_size=size, shuffle=True)

    def step() -> None:
        logits = moco(*images)
        functional.cross_entropy(logits, logits.new_zeros(len(logits), dtype=torch.int64)).backward()
        net.zero_grad(set_to_none=True)

    return step, moco


def bare_of(
    net: nn.Module, images: tuple[Tensor, Tensor], queue: Tensor, *, back: bool
) -> tuple[Callable[[], object], Tensor]:
    """The work that a step cannot do without; ``back``: with the gradient's product with the queue."""
    keys_net = copy.deepcopy(net).requires_grad_(False)
    slopes = torch.randn(len(images[0]), queue.shape[1], device=queue.device)

    def bare() -> None:
        queries = functional.normalize(net(images[0]), dim=1)
        with torch.no_grad():
            keys = functional.normalize(keys_net(images[1]), dim=1)
            (queries * keys).sum(1)
            queries @ queue
            slope = slopes @ queue.T if back else torch.ones_like(queries)
        queries.backward(slope)
        net.zero_grad(set_to_none=True)

    return bare, slopes


def medians(works: dict[str, Callable[[], object]], rounds: int, device: str) -> dict[str, float]:
    """Seconds of each, taken in turn, so that a busy machine is busy for all."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(rounds + 2):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if device != "cpu":
                torch.cuda.synchronize()
            if number > 1:  # the first ones allocate and choose kernels
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(some) for name, some in times.items()}


def allocations(work: Callable[[], object], device: str, least: int) -> list[tuple[str, int]]:
    """Operators of one call that allocate at least so many bytes, with the bytes."""
    activities = [torch.profiler.ProfilerActivity.CPU, *([torch.profiler.ProfilerActivity.CUDA] * (device != "cpu"))]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        work()
    name = "self_cpu_memory_usage" if device == "cpu" else "self_device_memory_usage"
    return [(event.name, getattr(event, name)) for event in profile.events() if getattr(event, name) >= least]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoders", nargs="+", default=["conv4", "timm:resnet18"])
    parser.add_argument("--queue", type=int, default=65_536)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    print(f"{given.queue:,} keys of {given.dim} numbers, {given.batch} images of {given.side} pixels, {given.device}")
    print("| encoder | step, ms | bare work, ms | ratio | without | queue, MB | copies of the queue |")
    print("|---|---|---|---|---|---|---|")
    for written in given.encoders:
        torch.manual_seed(0)
        net = network(written, given.side, given.dim).to(given.device)
        shape = (given.batch, 3, given.side, given.side)
        images = tuple(torch.rand(shape, device=given.device).to(memory_format=torch.channels_last) for _ in range(2))
        step, moco = step_of(net, images, given.dim, given.queue)
        bare, _ = bare_of(net, images, moco.queue, back=True)
        less, _ = bare_of(net, images, moco.queue, back=False)
        took = medians({"step": step, "bare": bare, "less": less}, given.rounds, given.device)
        bytes_of_queue = moco.queue.numel() * moco.queue.element_size()
        large = allocations(step, given.device, bytes_of_queue)
        own = sum(value.numel() * value.element_size() for value in moco.dictionary.buffers())
        logits = given.batch * given.queue * 4
        copies = [name for name, size in large if size < 0.99 * logits or size > 1.01 * logits]
        print(
            f"| {written} | {1000 * took['step']:.0f} | {1000 * took['bare']:.0f} | {took['step'] / took['bare']:.2f} "
            f"| {took['step'] / took['less']:.2f} | {own / MEGABYTE:.1f} | {len(copies)} |"
        )
        for name, size in large:
            print(f"  {name}: {size / MEGABYTE:.1f} MB")


if __name__ == "__main__":
    main()
