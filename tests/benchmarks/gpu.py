"""A run on one GPU against what it cannot do without: python -m tests.benchmarks.gpu [--seconds 60] [--batch 1024]

Without a GPU it says so and ends. ViT-B/32 with random weights at 224 pixels, unless told otherwise. It prints

- images a second of the whole run against the bare training loop, see tests.benchmarks.whole_run;
- the share of the loss in a step of a batch of 1,024, by loss;
- a step in bfloat16 against one in float32, and how far its embeddings are from those of float32;
- a step with a compiled encoder against one without, and the seconds of the first step;
- what makes the host wait for the GPU in a step (torch.cuda.set_sync_debug_mode); nothing should;
- the gathering of embeddings and the sum of gradients by NCCL in a group of one process, as shares of a step.

Times are medians by the clock, the GPU's work awaited.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist

from tests.benchmarks import whole_run
from tests.campaigns._table import markdown
from trainers.config import DataChoice
from trainers.devices.precision import computing_in
from trainers.distributed.whole import Whole
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.arm import LossArm
from trainers.kinds.metric_learning.batches import Batch
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.losses import LOSSES
from trainers.parameters import Choice
from trainers.training.compiling import compile_encoders
from trainers.training.stage import Stage

LOSSES_TRIED = ("supcon", "smooth_ap", "roadmap", "contextual", "proxy_anchor")
MODEL, SIDE, DIM, EACH = "vit_base_patch32_224", 224, 512, 4
WARM_UP, STEPS = 3, 9


def encoder_of(model: str) -> Choice:
    """A model of timm with random weights."""
    return Choice(name="timm", parameters={"model": model, "pretrained": False})


def arm_of(loss: str, model: str, images: int, device: torch.device, precision: str = "auto") -> LossArm:
    """An arm as a run trains it."""
    torch.manual_seed(0)
    encoder = ENCODERS["timm"].build(channels=3, side=SIDE, dim=DIM, parameters=encoder_of(model).parameters)
    classes = images // EACH
    module = LOSSES[loss].build(num_classes=classes, dim=DIM, class_labels=torch.arange(classes)[:, None])
    arm = LossArm(0, LOSSES[loss], module, encoder, device)
    arm.begin(Stage.of(MetricLearningConfig(precision=precision)))
    return arm


def batch_of(images: int, device: torch.device, side: int = SIDE) -> Batch:
    """Noise with labels."""
    rows = torch.arange(images)
    pixels = torch.rand(images, 3, side, side, device=device)
    return Batch(views=(pixels, pixels), labels=rows[:, None] // EACH, rows=rows, step=0)


def seconds_of(work: Callable[[], object], device: torch.device) -> float:
    """The median of a call."""
    spent = []
    for _ in range(WARM_UP + STEPS):
        _wait(device)
        started = time.perf_counter()
        work()
        _wait(device)
        spent.append(time.perf_counter() - started)
    return statistics.median(spent[WARM_UP:])


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def loss_of(arm: LossArm, images: int, device: torch.device) -> Callable[[], None]:
    """The loss of a batch of embeddings and its gradient."""
    count = images * arm.descriptor.views
    rows = torch.randn(count, DIM, device=device, requires_grad=True)
    embeddings = rows if arm.descriptor.views == 1 else rows.reshape(images, arm.descriptor.views, DIM)
    labels = batch_of(images, torch.device("cpu"), side=1).labels

    def work() -> None:
        torch.stack(list(arm.loss.terms(embeddings, labels).values())).sum().backward()

    return work


def waits(arm: LossArm, batch: Batch) -> list[str]:
    """Where the host waits for the GPU in a step, by file and line."""
    for _ in range(WARM_UP):
        arm.step(batch, 1.0)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            arm.step(batch, 1.0)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    told = [warning for warning in said if "synchron" in str(warning.message)]
    return sorted({f"{Path(one.filename).name}:{one.lineno}" for one in told})


def by_loss(model: str, images: int, device: torch.device) -> str:
    """The share of every loss in its step, and where its step waits."""
    rows = []
    batch = batch_of(images, device)
    for name in LOSSES_TRIED:
        arm = arm_of(name, model, images, device)
        step = seconds_of(lambda arm=arm: arm.step(batch, 1.0), device)
        share = seconds_of(loss_of(arm, images, device), device) / step
        held_up = ", ".join(waits(arm, batch)) if device.type == "cuda" else "no GPU"
        rows.append([name, f"{step * 1e3:.0f}", f"{images / step:.0f}", f"{100 * share:.1f} %", held_up or "nowhere"])
    return markdown(["loss", "step, ms", "images/s", "of it the loss", "the host waits"], rows)


def by_precision(model: str, images: int, device: torch.device) -> str:
    """A step in bfloat16 against float32."""
    batch, spent, embedded = batch_of(images, device), {}, {}
    for precision in ("float32", "bf16"):
        arm = arm_of("supcon", model, images, device, precision)
        with computing_in(precision):
            with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
                embedded[precision] = torch.nn.functional.normalize(arm.encoder.eval()(batch.views[0]).float())
            spent[precision] = seconds_of(lambda arm=arm: arm.step(batch, 1.0), device)
    apart = (embedded["bf16"] - embedded["float32"]).norm(dim=1).mean().item()
    ratio = spent["bf16"] / spent["float32"]
    return f"bf16: {ratio:.2f} times the time of float32; unit embeddings are {apart:.4f} apart in the mean"


def by_compiler(model: str, images: int, device: torch.device) -> str:
    """A step of a compiled encoder against the plain one, both in bfloat16."""
    batch = batch_of(images, device)
    plain, compiled = (arm_of("supcon", model, images, device) for _ in range(2))
    compile_encoders(compiled.encoder)
    started = time.perf_counter()
    compiled.step(batch, 1.0)
    _wait(device)
    first = time.perf_counter() - started
    ratio = seconds_of(lambda: compiled.step(batch, 1.0), device) / seconds_of(lambda: plain.step(batch, 1.0), device)
    return f"compiled: {ratio:.2f} times the time of the plain step, after a first one of {first:.0f} s"


def by_nccl(model: str, images: int, device: torch.device) -> str:
    """What gathering and adding cost in a group of one, where nothing is sent."""
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    try:
        arm = arm_of("supcon", model, images, device)
        batch = batch_of(images, device)
        step = seconds_of(lambda: arm.step(batch, 1.0), device)
        rows = torch.randn(images, DIM, device=device, requires_grad=True)
        gathered = Whole.apply(rows)
        gathered.square().sum().backward()
        assert torch.equal(gathered, rows) and torch.equal(rows.grad, 2 * rows)
        gather = seconds_of(lambda: Whole.apply(rows).sum().backward(), device)
        flat = torch.cat([weight.detach().reshape(-1) for weight in arm.encoder.parameters()])
        add = seconds_of(lambda: dist.all_reduce(flat), device)
    finally:
        dist.destroy_process_group()
    return f"{backend}, one process: gathering {100 * gather / step:.2f} %, adding {100 * add / step:.2f} % of a step"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the whole run")
    parser.add_argument("--model", default=MODEL, help="of timm, at 224 pixels")
    parser.add_argument("--batch", type=int, default=1024)
    given = parser.parse_args()
    if not torch.cuda.is_available():
        print("A GPU is needed, and torch finds none here. Nothing was measured.")
        return
    device = torch.device("cuda")
    print(f"{torch.cuda.get_device_name()}, {given.model}, {given.batch} images of {SIDE} pixels\n")
    config = MetricLearningConfig(
        data=DataChoice(source="drawn"),
        losses=(Choice(name="smooth_ap"),),
        encoder=encoder_of(given.model),
        minutes=given.seconds / 60,
        device="cuda",
    )
    with tempfile.TemporaryDirectory() as folder:
        whole_run.measure(config, Path(folder))
    for part in (by_loss, by_precision, by_compiler, by_nccl):
        print(f"\n{part(given.model, given.batch, device)}", flush=True)


if __name__ == "__main__":
    main()
