"""Memory and time of a step under each setting of *Memory and speed*, as shares of the plain step:

python -m tests.benchmarks.memory_and_speed [--images 64] [--side 224] [--ways chunks bf16 compiled ...]

The plain step computes in float32, the whole batch at once, channels last off. Each way takes its steps in a process of
its own. On a CPU memory is what a step adds to the process, at its highest, and time is processor time; on a GPU they
are what torch allocates beyond the weights, and the clock. Time is the median of the steps after the first. What is
left of the memory with ever smaller chunks is one chunk's activations, the embeddings, weights and their gradients.
Compiled, the first step is the compiler's: its seconds by the clock are said, and on a CPU the memory is its own too.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tests.campaigns._table import markdown
from trainers.devices.precision import autocast, computing_in
from trainers.encoders import ENCODERS
from trainers.losses import LOSSES
from trainers.parameters import parse_choice
from trainers.training.compiling import compile_encoders
from trainers.training.memory import checkpointed, chunks, computed_again, encode_in_chunks

ENCODERS_TRIED = (
    "timm:model=resnet18,pretrained=false",
    "timm:model=vit_tiny_patch16_224,pretrained=false",
    "conv4",
)
DIM, STEPS = 64, 4
EACH = 4
"""Images of a class."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """A step of an encoder and a loss under some settings; ``chunk`` 0: the whole batch at once."""

    encoder: str
    loss: str
    images: int
    side: int
    device: str
    chunk: int = 0
    precision: str = "float32"
    channels_last: bool = False
    checkpointing: bool = False
    compiled: bool = False


def step_of(way: Way) -> Callable[[], None]:
    """A forward and a backward pass, without the optimizer."""
    torch.manual_seed(0)
    device = torch.device(way.device)
    name, parameters = parse_choice(way.encoder, ENCODERS)
    sized = {"side": way.side} if "vit" in way.encoder else {}
    net = ENCODERS[name].build(channels=3, side=way.side, dim=DIM, parameters={**parameters, **sized}).train()
    layout = torch.channels_last if way.channels_last else torch.contiguous_format
    net = net.to(device).to(memory_format=layout)
    encoders = checkpointed(net) if way.checkpointing else []
    if way.compiled:
        compile_encoders(net)
    encode_in_chunks(net, way.chunk)
    labels = torch.arange(way.images) // EACH
    module = LOSSES[way.loss].build(num_classes=-(-way.images // EACH), dim=DIM, class_labels=labels[::EACH, None])
    batch = torch.rand(way.images, 3, way.side, way.side).to(device).contiguous(memory_format=layout)

    def embedded(images: Tensor) -> Tensor:
        with computing_in(way.precision), autocast(device):
            embeddings: Tensor = net(images)
        return embeddings.float()

    def step() -> None:
        net.zero_grad(set_to_none=True)
        loss = torch.stack(list(module.to(device).terms(embedded(batch), labels[:, None]).values())).sum()
        with computed_again(encoders):
            loss.backward()

    if device.type == "cpu" and not way.compiled:
        embedded(batch[:2])  # what the libraries load, and the weights, are no part of a step
    return step


def measured(way: Way) -> dict[str, float]:
    """Take :data:`STEPS` steps in this process: megabytes that they added at the highest, and seconds of one."""
    torch.set_num_threads(1)
    step, on_gpu = step_of(way), way.device != "cpu"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    before, seconds, began = _bytes(way.device), [], time.perf_counter()
    first = 0.0
    for _ in range(STEPS):
        started = time.perf_counter() if on_gpu else time.process_time()
        step()
        if on_gpu:
            torch.cuda.synchronize()
        seconds.append((time.perf_counter() if on_gpu else time.process_time()) - started)
        first = first or time.perf_counter() - began
    after = torch.cuda.max_memory_allocated() if on_gpu else _bytes(way.device)
    return {"megabytes": (after - before) / 2**20, "seconds": statistics.median(seconds[1:]), "first": first}


def _bytes(device: str) -> int:
    if device != "cpu":
        return torch.cuda.memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def apart(way: Way) -> dict[str, float]:
    """Measure in another process, in which nothing but the libraries is loaded."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["trainers.encoders", "trainers.losses", "trainers.training.memory"])
    with processes.Pool(1) as pool:
        return pool.apply(measured, (way,))


def ways(plain: Way, named: list[str]) -> dict[str, Way]:
    """The ways by name, in the order asked for."""
    made = {}
    for name in named:
        if name == "chunks":
            for chunk in (plain.images // 2, plain.images // 4, plain.images // 8):
                made[f"{chunks(plain.images, chunk)} chunks of {chunk}"] = dataclasses.replace(plain, chunk=chunk)
        elif name in ("bf16", "fp16"):
            made[name] = dataclasses.replace(plain, precision=name)
        elif name == "channels_last":
            made["channels last"] = dataclasses.replace(plain, channels_last=True)
        elif name == "compiled":
            made["compiled"] = dataclasses.replace(plain, compiled=True)
        elif "timm" in plain.encoder:  # others keep all activations
            made["checkpointing"] = dataclasses.replace(plain, checkpointing=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoders", nargs="+", default=ENCODERS_TRIED)
    known = ["chunks", "bf16", "fp16", "channels_last", "checkpointing", "compiled"]
    parser.add_argument("--ways", nargs="+", default=[name for name in known if name != "fp16"], choices=known)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--loss", default="smooth_ap")
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    print(f"{asked.images} images of {asked.side} pixels, {asked.loss}, {asked.device}, one thread\n")
    rows = []
    for encoder in asked.encoders:
        plain = Way(encoder=encoder, loss=asked.loss, images=asked.images, side=asked.side, device=asked.device)
        whole = apart(plain)
        rows.append([encoder, f"plain: {whole['megabytes']:.0f} MB, {whole['seconds']:.2f} s", "1.00", "1.00"])
        for name, way in ways(plain, asked.ways).items():
            got = apart(way)
            name += f", first step {got['first']:.0f} s" if way.compiled else ""
            rows.append([encoder, name, *(f"{got[key] / whole[key]:.2f}" for key in ("megabytes", "seconds"))])
    print(markdown(["encoder", "way", "memory", "time"], rows))


if __name__ == "__main__":
    main()
