"""How a step of several processes grows with them: python -m tests.benchmarks.processes [--worlds 1 2 4] [--estimate]

Weak scaling on CPUs with gloo: every process has the same number of images, whatever the number of processes, and one
thread. In every process two arms take turns, one in the group, one as if it were alone; all processes take the same
turn at the same time, so that those alone share the cores as the group does. Where there are fewer cores than processes
the ratio to a single process is that of the cores; the ratio to the processes alone is the cost of the group.

Communication is the time inside torch.distributed, waiting for the others included. The loss is the whole loss of the
gathered embeddings, forward and backward, timed apart, of processor time, which other programs disturb less. All are
medians over the turns of the first process.

--estimate prints arithmetic for 8 to 256 GPUs, of which nothing was measured; it starts no process.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist

from tests.benchmarks._harness import Spent, Work, in_turn, median, timed
from tests.distributed.processes import free_port
from tests.programs import arguments, markdown
from trainers.distributed.group import join, rank, world
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.batches import Batch
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.loop import LossArm
from trainers.losses import LOSSES
from trainers.parameters import parse_choice
from trainers.training.own_queries import LARGEST
from trainers.training.stage import Stage

ENCODERS_TRIED = ("conv4", "timm:model=resnet18,pretrained=false", "timm:model=vit_tiny_patch16_224,pretrained=false")
DIM, EACH, WARM_UP = 128, 4, 2  # numbers of an embedding, images of a class, turns that are not counted
COLLECTIVES = ("all_gather_into_tensor", "all_reduce", "broadcast")


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is measured: an encoder and a loss of the catalogue, images of ``side`` pixels, ``batch`` a process."""

    encoder: str
    loss: str
    batch: int
    side: int
    turns: int
    steps: int


# ------------------------------------------------------------------------------------------------ in every process


def arm_of(case: Case) -> LossArm:
    """An arm as a run trains it, with the defaults of metric learning."""
    torch.manual_seed(0)
    name, parameters = parse_choice(case.encoder, ENCODERS)
    sized = {"side": case.side} if "vit" in case.encoder else {}
    encoder = ENCODERS[name].build(channels=3, side=case.side, dim=DIM, parameters={**parameters, **sized})
    entry = LOSSES[case.loss]
    classes = case.batch * world() // EACH
    module = entry.build(num_classes=classes, dim=DIM, class_labels=torch.arange(classes)[:, None])
    arm = LossArm(0, entry, module, encoder, torch.device("cpu"))
    arm.begin(Stage.of(MetricLearningConfig(precision="float32")))
    return arm


def batch_of(case: Case) -> Batch:
    """This process's images, and the labels of all."""
    rows = torch.arange(case.batch * world())
    return Batch(
        views=(torch.rand(case.batch, 3, case.side, case.side),), labels=rows[:, None] // EACH, rows=rows, step=0
    )


@contextmanager
def alone() -> Iterator[None]:
    """Within it this process trains as if there were no others."""
    with mock.patch.object(dist, "is_initialized", return_value=False):
        yield


@contextmanager
def timed_collectives(spent: list[float]) -> Iterator[None]:
    """Add the seconds inside each collective to ``spent``."""

    def counted(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            done = work(*args, **kwargs)
            spent.append(time.perf_counter() - started)
            return done

        return call

    with mock.patch.multiple(dist, **{name: counted(getattr(dist, name)) for name in COLLECTIVES}):
        yield


def seconds_of(work: Work, times: int) -> Spent:
    """Seconds of one of so many calls, all processes beginning together."""
    if world() > 1:
        dist.barrier()
    return timed(lambda: [work() for _ in range(times)]).each(times)


def loss_seconds(case: Case) -> float:
    """Processor seconds of the whole loss of the gathered batch and of its gradient; the median."""
    arm, count = arm_of(case), case.batch * world()
    rows, labels = torch.randn(count, DIM, requires_grad=True), torch.arange(count)[:, None] // EACH

    def loss() -> None:
        torch.stack(list(arm.loss.terms(rows, labels).values())).sum().backward()

    return in_turn({"": loss}, case.turns, warm_up=WARM_UP)[""].processor


def measured(case: Case) -> dict[str, float]:
    """Seconds of a step of the group, and alone; in communication, and of the loss: medians over the turns."""
    together, batch = arm_of(case), batch_of(case)
    with alone():
        single, own = arm_of(case), batch_of(case)

    def step_alone() -> None:
        with alone():
            single.step(own, 1.0)

    group, others, sent = [], [], []
    for _ in range(WARM_UP + case.turns):
        spent: list[float] = []
        with timed_collectives(spent):
            group.append(seconds_of(lambda: together.step(batch, 1.0), case.steps))
        others.append(seconds_of(step_alone, case.steps))
        sent.append(Spent(sum(spent) / case.steps, 0.0))
    step, apart, talk = (median(some[WARM_UP:]) for some in (group, others, sent))
    names = ("step", "processor", "alone", "processor alone", "communication")
    return {**dict(zip(names, (*step, *apart, talk.clock), strict=True)), "loss": loss_seconds(case)}


# ------------------------------------------------------------------------------------------------------- the table


def processes(count: int, case: Case) -> dict[str, float]:
    """Have so many processes measure a case; returns what the first one says."""
    command = [sys.executable, "-m", "tests.benchmarks.processes", "--measure", json.dumps(dataclasses.asdict(case))]
    told = {
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "OMP_NUM_THREADS": "1",
    }
    told["PYTHONWARNINGS"] = "ignore"
    environments = [{**os.environ, **told, "RANK": str(r), "LOCAL_RANK": str(r)} for r in range(count)]
    started = [
        subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE) for environment in environments
    ]
    try:
        outputs = [process.communicate()[0] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    if any(process.returncode for process in started):
        raise SystemExit(f"{count} processes could not measure {case.encoder}; see above.")
    return dict(json.loads(outputs[0].splitlines()[-1]))


def table(encoders: Sequence[str], worlds: Sequence[int], case: Case) -> str:
    """Measure every encoder with every number of processes."""
    rows = []
    for encoder in encoders:
        one = None
        for count in worlds:
            got = processes(count, dataclasses.replace(case, encoder=encoder))
            one = one or got["step"]
            numbers = (one / got["step"], got["alone"] / got["step"], got["processor alone"] / got["processor"])
            shares = (got["communication"] / got["step"], got["loss"] / got["processor"])
            speed = f"{case.batch / got['step']:.0f}"
            rows.append([encoder, count, speed, *(f"{n:.2f}" for n in numbers), *(f"{100 * n:.0f} %" for n in shares)])
    head = ["encoder", "processes", "images/s of each", "against the first row", "against as many alone"]
    return markdown([*head, "the same of processor time", "communication", "loss"], rows)


# ---------------------------------------------------------------------------------------------------- the estimate


@dataclass(frozen=True, kw_only=True)
class Model:
    """An encoder on one GPU: images a second in bfloat16, millions of weights, and layers of batch normalisation."""

    title: str
    speed: float
    weights: float
    norms: int = 0


MODELS = (
    Model(title="ViT-B/32", speed=8_000, weights=88),
    Model(title="ResNet-50", speed=2_800, weights=24, norms=53),
    Model(title="ViT-L/16", speed=700, weights=304),
)
PER_GPU, WIDTH, MACHINE = 256, 512, 8  # images, numbers of an embedding, GPUs of a machine
BETWEEN, INSIDE = 40e9, 300e9  # bytes a second of each GPU
LATENCY_BETWEEN, LATENCY_INSIDE = 50e-6, 20e-6  # seconds of a small collective
MEMORY, PRODUCTS = 2.5e12, 30e12  # bytes and float32 operations a second of a GPU
PASSES = 12  # over the matrix of similarities, forward and backward
ASSUMED = (
    f"Assumed, not measured: {PER_GPU} images a GPU, {WIDTH} numbers an embedding, machines of {MACHINE} GPUs; "
    f"{INSIDE / 1e9:.0f} GB/s a GPU inside a machine and {BETWEEN / 1e9:.0f} GB/s between them, "
    f"{LATENCY_INSIDE * 1e6:.0f} and {LATENCY_BETWEEN * 1e6:.0f} microseconds a collective; gradients of 4 bytes in "
    "one ring all-reduce that overlaps nothing; a loss of three float32 products at "
    f"{PRODUCTS / 1e12:.0f} TFLOP/s and {PASSES} passes over B x B numbers at {MEMORY / 1e12:.1f} TB/s, above a batch "
    f"of {LARGEST:,} over a process's own rows of them (losses whose parts do not add up are refused there; ranking "
    "losses take longer). Images a second of one GPU: "
    + ", ".join(f"{model.title} {model.speed:,.0f}" for model in MODELS)
    + "."
)


def estimate(model: Model, gpus: int) -> dict[str, float]:
    """Seconds of a step by cause, on so many GPUs."""
    speed, latency = (INSIDE, LATENCY_INSIDE) if gpus <= MACHINE else (BETWEEN, LATENCY_BETWEEN)
    batch, weights, others = PER_GPU * gpus, 4e6 * model.weights, (gpus - 1) / gpus
    embeddings = 4.0 * batch * WIDTH
    shared = batch > LARGEST
    queries = PER_GPU if shared else batch
    ring = others / speed
    return {
        "encoder": PER_GPU / model.speed,
        "gradients": 2 * weights * ring + 4 * weights / MEMORY + latency,
        # gathered; if queries are shared their gradient is added too, and the terms
        "embeddings": embeddings * ring * (3 if shared else 1) + latency * (3 if shared else 1),
        "statistics": 2 * model.norms * latency,
        "loss": 3 * 2.0 * queries * batch * WIDTH / PRODUCTS + PASSES * 4.0 * queries * batch / MEMORY,
    }


def estimates() -> str:
    """The table of 8 to 256 GPUs."""
    rows = []
    for model in MODELS:
        for gpus in (8, 32, 64, 256):
            spent = estimate(model, gpus)
            step = sum(spent.values())
            talk = [spent[name] / step for name in ("gradients", "embeddings", "statistics")]
            shares = [*talk, sum(talk), spent["loss"] / step, spent["encoder"] / step]
            about = [model.title, gpus, f"{PER_GPU * gpus:,}", f"{step * 1e3:.0f}"]
            rows.append([*about, *(f"{100 * share:.1f} %" for share in shares)])
    causes = ["gradients", "embeddings", "batch statistics", "all communication", "loss", "encoder"]
    return markdown(["estimated", "GPUs", "batch", "step, ms", *causes], rows)


def main() -> None:
    """Print a table, or measure in one of the processes."""
    asked = arguments(
        __doc__,
        encoders=(list(ENCODERS_TRIED), "of the catalogue"),
        worlds=([1, 2, 4], "numbers of processes"),
        loss=("smooth_ap", "of the catalogue"),
        batch=(64, "images of each process"),
        side=(32, "of an image"),
        turns=(9, "that count"),
        steps=(3, "of a turn"),
        estimate=(False, "arithmetic for 8 to 256 GPUs instead"),
        measure=("", "a case, in JSON, that one process of the group measures"),
    )
    if asked.measure:
        torch.set_num_threads(1)
        join()
        got = measured(Case(**json.loads(asked.measure)))
        if rank() == 0:
            print(json.dumps(got))
        if world() > 1:
            dist.barrier()
    elif asked.estimate:
        print(f"{ASSUMED}\n\n{estimates()}")
    else:
        case = Case(encoder="", **{name: getattr(asked, name) for name in ("loss", "batch", "side", "turns", "steps")})
        print(f"{case.batch} images of {case.side} pixels a process, {case.loss}, gloo, {os.cpu_count()} cores\n")
        print(table(asked.encoders, asked.worlds, case))


if __name__ == "__main__":
    main()
