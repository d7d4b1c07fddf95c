"""What a step of MoCo costs beside what it cannot do without, measured in turn in the same run.

python -m tests.benchmarks.contrastive_step [--queue 65536] [--batch 256] [--side 32] [--encoders conv4 timm:resnet18]

A step is that of the method ``moco_v2``: both encoders and their heads, shuffling, momentum, logits, loss, accuracy,
the gradient, and the keys' entry into the queue. The bare work is the queries with their backward pass, the keys
without gradient, and the two products of the logits, with own keys and with the queue; the gradient comes back from
the queue by a product of the same size, which belongs to the queries' backward pass. ``without it`` is the ratio to
the bare work without that product. The optimizer is part of neither.

Times are medians by the clock and, on a CPU, of the processor's time, which other programs disturb less.

"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.benchmarks._arm import random_encoder
from tests.benchmarks._harness import Work, in_turn
from tests.programs import arguments, markdown
from trainers.encoders.norms import replace_norms
from trainers.kinds.contrastive.methods import METHODS, Method, Parts, Views
from trainers.kinds.contrastive.networks import Projected, projector

MEGABYTE = 2**20


def network(written: str, side: int, dim: int) -> Projected:
    """An encoder as a run trains it, with its projection head."""
    encoder = random_encoder(written, side, 2)
    width = encoder.without_head()
    net = Projected(replace_norms(encoder, "split"), projector(width, dim, mlp=True))
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


def main() -> None:
    """Print the table."""
    given = arguments(
        __doc__,
        encoders=(["conv4", "timm:resnet18"], "of the catalogue"),
        queue=(65_536, "keys"),
        dim=(128, "numbers of a key"),
        batch=(256, "images"),
        side=(32, "of an image"),
        rounds=(9, "that count"),
        threads=(torch.get_num_threads(), "of torch"),
        device=("cpu", "cpu or cuda"),
    )
    torch.set_num_threads(given.threads)
    threads = f"{given.threads} threads" if given.device == "cpu" else "no threads"
    print(f"{given.queue:,} keys of {given.dim} numbers, {given.batch} images of {given.side} pixels, {threads}")
    rows = []
    for written in given.encoders:
        torch.manual_seed(0)
        net = network(written, given.side, given.dim).to(given.device)
        pixels = torch.rand(2, given.batch, 3, given.side, given.side, device=given.device)
        images = tuple(part.contiguous(memory_format=torch.channels_last) for part in pixels)
        method = method_on(net, given.dim, given.queue).to(given.device)
        queue = method.dictionary.queue
        works = {
            "step": step_of(method, images),
            "bare": bare_of(net, images, queue, back=True),
            "less": bare_of(net, images, queue, back=False),
        }
        step, bare, less = in_turn(works, given.rounds, given.device).values()
        ratios = [step.clock / bare.clock, step.processor / bare.processor, step.clock / less.clock]
        rows.append([written, f"{1e3 * step.clock:.0f}", f"{1e3 * bare.clock:.0f}", *(f"{one:.2f}" for one in ratios)])
    print(markdown(["encoder", "step, ms", "bare work, ms", "ratio", "of processor time", "without it"], rows))
    state = method.dictionary.dictionary.buffers()
    print(f"the queue with what is known of its keys: {sum(one.nbytes for one in state) / MEGABYTE:.1f} MB")


if __name__ == "__main__":
    main()
