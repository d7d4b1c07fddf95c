"""What the rank losses cost: python -m tests.benchmarks.losses [--sizes 256 1024] [--cube-sizes 256] [--device cpu]
[--floor-sizes 128 1024 4096]

Forward and backward from raw embeddings (D = 512, four per class, two super-classes), every case in a process of its
own: median seconds, processor seconds, and the growth of resident (or device) memory. Ratios against the obvious cube
of all differences, against pytorch-metric-learning where it has the loss, and against the similarity product alone.
A second table counts in floors: the processor time of the product alone, where a coarse class holds 32 images.
Set OMP_WAIT_POLICY=PASSIVE when other work shares the cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tests.benchmarks._cube import CUBES
from trainers.losses import LOSSES, kernel

DIM, PER_CLASS = 512, 4
PER_COARSE = 32
HIERARCHICAL = ("happier", "rod_ndcg", "sup_hap", "sup_ndcg", "sup_hap_weighted_ap", "smooth_hap", "smooth_ndcg")
FLOORS = (*HIERARCHICAL, "sup_ap", "roadmap", "sup_recall", "rod_recall", "smooth_ap", "recall_at_k_patel")
PEERS = {"smooth_ap": "SmoothAPLoss", "calibration": "ContrastiveLoss", "proxy_nsm": "NormalizedSoftmaxLoss"}


def batch(size: int, device: str, per_coarse: int) -> tuple[Tensor, Tensor]:
    """Raw embeddings ``[size, 512]`` round super-class centres and labels ``[size, 2]``; 0 a coarse class: two."""
    generator = torch.Generator().manual_seed(0)
    finest = torch.arange(size) // PER_CLASS
    coarse = torch.arange(size) // (per_coarse or -(-size // 2))
    centres = 0.3 * torch.randn(int(coarse[-1]) + 1, DIM, generator=generator)
    embeddings = torch.randn(size, DIM, generator=generator) + centres[coarse]
    return embeddings.to(device), torch.stack([finest, coarse], dim=1).to(device)


def product(embeddings: Tensor, labels: Tensor) -> Tensor:
    """The similarity product with a dense gradient: what no pair loss can do without."""
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


def measure(kind: str, name: str, size: int, device: str, runs: int, per_coarse: int) -> dict[str, float]:
    """Run one case here: seconds, processor seconds, megabytes over the idle process, and the value."""
    embeddings, labels = batch(size, device, per_coarse)
    embeddings.requires_grad_()
    loss = subject(kind, name, size, device)
    warm = torch.randn(16, DIM, device=device, requires_grad=True)
    product(warm, labels[:16]).backward()  # the libraries' own buffers are no part of the growth
    kernel(device)
    idle = memory(device)
    walls, spent, value = [], [], 0.0
    for _ in range(runs + 1):
        embeddings.grad = None
        wall, cpu = time.perf_counter(), time.process_time()
        found = loss(embeddings, labels)
        found.backward()
        value = found.item()
        if device != "cpu":
            torch.cuda.synchronize()
        walls.append(time.perf_counter() - wall)
        spent.append(time.process_time() - cpu)
    return {
        "seconds": statistics.median(walls[1:]),
        "processor": statistics.median(spent[1:]),
        "megabytes": memory(device) - idle,
        "value": value,
    }


def memory(device: str) -> float:
    """Peak megabytes so far: resident, or allocated on the device."""
    if device != "cpu":
        return torch.cuda.max_memory_allocated() / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def apart(
    kind: str, name: str, size: int, options: argparse.Namespace, runs: int, per_coarse: int = 0
) -> dict[str, float] | None:
    """:func:`measure` in a fresh process; None where it failed (out of memory)."""
    case = ["--case", kind, name, "--sizes", str(size), "--device", options.device, "--runs", str(runs)]
    more = ["--threads", str(options.threads), "--per-coarse", str(per_coarse)]
    command = [sys.executable, "-m", "tests.benchmarks.losses", *case, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def row(label: str, size: int, found: dict[str, float] | None, against: Sequence[tuple[str, dict | None]]) -> str:
    """One printed line, with how many times cheaper than each of ``against``."""
    if found is None:
        return f"{label:<34}{size:>6}  failed (memory?)"
    ratios = "  ".join(
        f"{name} x{other['seconds'] / found['seconds']:.3g} (cpu x{other['processor'] / found['processor']:.3g})"
        for name, other in against
        if other
    )
    cost = f"{found['seconds'] * 1e3:>10.1f} ms {found['processor'] * 1e3:>10.1f} ms cpu {found['megabytes']:>8.0f} MB"
    return f"{label:<34}{size:>6}{cost}   {ratios}"


def compare(options: argparse.Namespace) -> None:
    """Print the table."""
    for size in options.sizes:
        base = apart("product", "similarity", size, options, 9)
        print(row("similarity product", size, base, ()), flush=True)
        for name in options.losses:
            ours = apart("ours", name, size, options, options.runs)
            others = []
            if name in CUBES and size in options.cube_sizes:
                others.append(("the cube", apart("cube", name, size, options, 1)))
            if name in PEERS:
                others.append((PEERS[name], apart("peer", name, size, options, options.runs)))
            print(row(LOSSES[name].title, size, ours, others), flush=True)
            if ours and base:
                share = ours["processor"] / base["processor"]
                print(f"    {share:.1f} similarity products' processor time")
            for label, other in others:
                print(row("    " + label, size, other, ()), flush=True)


def floors(options: argparse.Namespace) -> None:
    """Print each loss's processor time as a multiple of the product's."""
    for size in options.floor_sizes:
        base = apart("product", "similarity", size, options, 9, PER_COARSE)
        print(row(f"floor, {PER_COARSE} per coarse class", size, base, ()), flush=True)
        for name in options.floor_losses:
            found = apart("ours", name, size, options, options.runs, PER_COARSE)
            print(row(LOSSES[name].title, size, found, ()), end="", flush=True)
            print(f"{found['processor'] / base['processor']:.2f} floors" if found and base else "", flush=True)


def main() -> None:
    """Parse the flags and print, or run the one case a parent asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*CUBES, "calibration", "proxy_nsm"]
    parser.add_argument("--sizes", type=int, nargs="*", default=[256, 1024], help="batch sizes B")
    parser.add_argument("--cube-sizes", type=int, nargs="*", default=[256], help="sizes at which the cube runs too")
    parser.add_argument("--losses", nargs="+", default=names, choices=list(LOSSES))
    parser.add_argument("--floor-sizes", type=int, nargs="*", default=[128, 1024, 4096], help="B of the second table")
    parser.add_argument("--floor-losses", nargs="*", default=FLOORS, choices=list(LOSSES), help="its losses")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", nargs=2, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--per-coarse", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.case:
        print(json.dumps(measure(*options.case, options.sizes[0], options.device, options.runs, options.per_coarse)))
    else:
        compare(options)
        floors(options)


if __name__ == "__main__":
    main()
