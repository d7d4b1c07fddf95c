"""What a step of MoCo costs beside what it cannot do without, measured in turn in the same run.

python -m tests.benchmarks.contrastive_step [--queue 65536] [--batch 256] [--side 32] [--encoders conv4 timm:resnet18]

A step is that of the method ``moco_v2``: both encoders and their heads, shuffling, momentum, logits, loss, accuracy,
the gradient, and the keys' entry into the queue. The bare work is the queries with their backward pass, the keys
without gradient, and the two products of the logits, with own keys and with the queue; the gradient comes back from
the queue by a product of the same size, which belongs to the queries' backward pass. ``without it`` is the ratio to
the bare work without that product. The optimizer is part of neither.

Times are medians by the clock and, on a CPU, of the processor's time, which other programs disturb less.

What a step copies of the queue is counted by torch's profiler in a step whose encoder takes vectors, so that nothing
else is large: the operators that allocate as much as the queue [D, K] or more. There should be one, the logits
[N, 1 + K], in which the loss and its gradient are made too. The queue is read where it is; the keys of a batch replace
N of its K columns, once, and the backward pass corrects for them instead of keeping a copy.
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
from trainers.kinds.contrastive.methods import METHODS, Method, Parts, Views
from trainers.kinds.contrastive.networks import Projected, projector
from trainers.kinds.contrastive.norms import normalised
from trainers.parameters import parse_choice

MEGABYTE = 2**20
Work = Callable[[], object]


def network(written: str, side: int, dim: int) -> Projected:
    """An encoder as a run trains it, with its projection head."""
    name, parameters = parse_choice(written, ENCODERS)
    offline = {"pretrained": False} if ENCODERS[name].make.wraps else {}
    encoder = ENCODERS[name].build(channels=3, side=side, dim=2, parameters={**parameters, **offline})
    width = encoder.without_head()
    net = Projected(normalised(encoder, "split"), projector(width, dim, mlp=True))
    return net.to(memory_format=torch.channels_last)


def method_on(net: Projected, dim: int, size: int) -> Method:
    """MoCo v2."""
    descriptor = METHODS["moco_v2"]
    parts = Parts(net=net, dim=dim, images=size, classes=0)
    return descriptor.module(descriptor.checked({"queue": size}), parts)


def step_of(method: Method, images: tuple[Tensor, Tensor]) -> Work:
    """A step of the method."""
    views = Views(images=images, labels=None, rows=torch.arange(len(images[0])))

    def step() -> None:
        torch.stack(list(method(views).terms.values())).sum().backward()
        method.zero_grad(set_to_none=True)

    return step


def bare_of(net: nn.Module, images: tuple[Tensor, Tensor], queue: Tensor, *, back: bool) -> Work:
    """What the step cannot do without; ``back``: with the product that brings the gradient from the queue."""
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

    return bare


def medians(works: dict[str, Work], rounds: int, device: str) -> dict[str, tuple[float, float]]:
    """Seconds of each by the clock and of the processor, taken in turn, so that a busy machine is busy for all."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for number in range(rounds + 2):
        for name, work in works.items():
            clock, used = time.perf_counter(), time.process_time()
            work()
            if device != "cpu":
                torch.cuda.synchronize()
            if number > 1:  # the first ones allocate and choose kernels
                times[name].append((time.perf_counter() - clock, time.process_time() - used))
    return {
        name: (statistics.median(clock for clock, _ in some), statistics.median(used for _, used in some))
        for name, some in times.items()
    }


def large_allocations(batch: int, dim: int, size: int) -> list[tuple[str, int]]:
    """Operators of a step on the CPU that allocate as many bytes as the queue has, or more, with the bytes."""
    net = Projected(nn.Linear(8, 8), nn.Linear(8, dim))
    method = method_on(net, dim, size)
    step = step_of(method, (torch.rand(batch, 8), torch.rand(batch, 8)))
    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    found = [(event.name, event.self_cpu_memory_usage) for event in profile.events()]
    return [(name, size_of) for name, size_of in found if size_of >= 4 * dim * size]


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
    threads = f"{torch.get_num_threads()} threads" if given.device == "cpu" else "no threads"
    print(f"{given.queue:,} keys of {given.dim} numbers, {given.batch} images of {given.side} pixels, {threads}")
    print("| encoder | step, ms | bare work, ms | ratio | of processor time | without it |")
    print("|---|---|---|---|---|---|")
    for written in given.encoders:
        torch.manual_seed(0)
        net = network(written, given.side, given.dim).to(given.device)
        pixels = torch.rand(2, given.batch, 3, given.side, given.side, device=given.device)
        first, second = (part.contiguous(memory_format=torch.channels_last) for part in pixels)
        method = method_on(net, given.dim, given.queue).to(given.device)
        queue = method.dictionary.queue  # type: ignore[union-attr]
        works = {
            "step": step_of(method, (first, second)),
            "bare": bare_of(net, (first, second), queue, back=True),
            "less": bare_of(net, (first, second), queue, back=False),
        }
        took = medians(works, given.rounds, given.device)
        (step, step_used), (bare, bare_used), (less, _) = (took[name] for name in works)
        used = f"{step_used / bare_used:.2f}" if given.device == "cpu" else ""
        print(f"| {written} | {1000 * step:.0f} | {1000 * bare:.0f} | {step / bare:.2f} | {used} | {step / less:.2f} |")
    state = method.dictionary.dictionary.buffers()  # type: ignore[union-attr]
    print(f"the queue with what is known of its keys: {sum(one.nbytes for one in state) / MEGABYTE:.1f} MB")
    for name, size in large_allocations(given.batch, given.dim, given.queue):
        print(f"allocated in a step: {name}, {size / MEGABYTE:.1f} MB")


if __name__ == "__main__":
    main()
