"""What the rank losses cost: python -m tests.benchmarks.losses [--sizes 256 1024] [--cube-sizes 256] [--device cpu]

Forward and backward from raw embeddings (D = 512, four per class): median seconds, processor seconds, and the growth of
resident (or device) memory; on a CPU every case in a process of its own. *Floors* are multiples of the similarity
product with a dense gradient, which no pair loss can do without; beside it stand the obvious cube of all differences of
a batch, plain autograd over ``[B, G, G]``, and the loss of pytorch-metric-learning where it has one: how many times
dearer they are, in processor time on a CPU. ``--per-coarse 32`` has coarse classes of so many images in place of two of
them.
Set OMP_WAIT_POLICY=PASSIVE when other work shares the cores.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tests.benchmarks._cube import CUBES
from tests.benchmarks._harness import Spent, apart, grown
from tests.programs import arguments, markdown, say
from trainers.losses import LOSSES, kernel

DIM, PER_CLASS = 512, 4
PEERS = {"smooth_ap": "SmoothAPLoss", "calibration": "ContrastiveLoss", "proxy_nsm": "NormalizedSoftmaxLoss"}
HEAD = ("loss", "B", "ms", "processor ms", "MB", "floors", "the cube", "MB of it", "pytorch-metric-learning")


def batch(size: int, device: str, per_coarse: int) -> tuple[Tensor, Tensor]:
    """Raw embeddings ``[size, 512]`` round super-class centres and labels ``[size, 2]``; 0 a coarse class: two."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.arange(size) // (per_coarse or -(-size // 2))
    centres = 0.3 * torch.randn(int(coarse[-1]) + 1, DIM, generator=generator)
    embeddings = torch.randn(size, DIM, generator=generator) + centres[coarse]
    return embeddings.to(device), torch.stack([torch.arange(size) // PER_CLASS, coarse], dim=1).to(device)


def product(embeddings: Tensor, labels: Tensor) -> Tensor:
    """The similarity product with a dense gradient."""
    rows = torch.nn.functional.normalize(embeddings, dim=1)
    similarity = rows @ rows.T
    return (similarity * similarity.detach()).sum()


def peer(name: str, size: int) -> Callable[[Tensor, Tensor], Tensor]:
    """pytorch-metric-learning's loss of that name, at the same settings."""
    from pytorch_metric_learning import distances, losses

    if name == "calibration":
        loss = losses.ContrastiveLoss(pos_margin=0.9, neg_margin=0.6, distance=distances.DotProductSimilarity())
    elif name == "proxy_nsm":
        loss = losses.NormalizedSoftmaxLoss(size // PER_CLASS, DIM)
    else:
        loss = getattr(losses, PEERS[name])()
    return lambda embeddings, labels: loss(embeddings, labels[:, 0])


def subject(kind: str, name: str, size: int, device: str) -> Callable[[Tensor, Tensor], Tensor]:
    """The callable of one case."""
    if kind == "product":
        return product
    if kind == "cube":
        return CUBES[name]
    if kind == "peer":
        return peer(name, size)
    parameters = {"terms": "table_ii_pairs"} if name == "roadmap" else {}  # as its cube
    return LOSSES[name].build(num_classes=size // PER_CLASS, dim=DIM, **parameters).to(device)


def measure(kind: str, name: str, size: int, device: str, runs: int, coarse: int, threads: int) -> tuple[Spent, float]:
    """Run one case in this process: seconds of a call, and megabytes over the idle process."""
    torch.set_num_threads(threads)
    embeddings, labels = batch(size, device, coarse)
    embeddings.requires_grad_()
    loss = subject(kind, name, size, device)
    warm = torch.randn(16, DIM, device=device, requires_grad=True)
    product(warm, labels[:16]).backward()  # the libraries' own buffers are no part of the growth
    kernel(device)

    def call() -> None:
        embeddings.grad = None
        loss(embeddings, labels).backward()

    return grown(call, runs, device)


def main() -> None:
    """Print the table."""
    given = arguments(
        __doc__,
        sizes=([256, 1024], "batch sizes B"),
        cube_sizes=([256], "sizes at which the cube runs too"),
        losses=([*CUBES, "calibration", "proxy_nsm"], "of the catalogue", list(LOSSES)),
        per_coarse=(0, "images of a coarse class; 0: two coarse classes"),
        device=("cuda" if torch.cuda.is_available() else "cpu", "cpu or cuda"),
        threads=(2, "of torch"),
        runs=(3, "that count"),
    )

    def found(kind: str, name: str, size: int, runs: int) -> tuple[Spent, float] | None:
        case = (kind, name, size, given.device, runs, given.per_coarse, given.threads)
        if given.device == "cpu":
            return apart(measure, *case)
        try:
            return measure(*case)  # what the device allocates is counted without the case before
        except torch.OutOfMemoryError:
            return None
        finally:
            torch.cuda.empty_cache()

    rows = []
    for size in given.sizes:
        floor = found("product", "", size, 9)
        base = floor[0].used(given.device) if floor else float("nan")
        for name in given.losses:
            ours = found("ours", name, size, given.runs)
            cube = found("cube", name, size, 1) if name in CUBES and size in given.cube_sizes else None
            other = found("peer", name, size, given.runs) if name in PEERS else None
            if ours is None:
                rows.append([LOSSES[name].title, size, "failed (memory?)", *[""] * (len(HEAD) - 3)])
                continue
            (spent, size_of), used = ours, ours[0].used(given.device)
            costs = [f"{1e3 * spent.clock:.1f}", f"{1e3 * spent.processor:.1f}", f"{size_of:.0f}", f"{used / base:.1f}"]
            ratios = [f"{one[0].used(given.device) / used:.3g}" if one else "" for one in (cube, other)]
            rows.append([LOSSES[name].title, size, *costs, ratios[0], f"{cube[1]:.0f}" if cube else "", ratios[1]])
            say(" ".join(map(str, rows[-1])))
    print(markdown(HEAD, rows))


if __name__ == "__main__":
    main()
