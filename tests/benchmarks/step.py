"""A step of training: what its settings change, what its loss takes of it, and what else a GPU may wait for.

python -m tests.benchmarks.step                                                        # on a GPU: everything
python -m tests.benchmarks.step --device cpu --parts settings --images 64 --side 64 --encoders timm:model=resnet18

Random weights, ViT-B/32 at 224 pixels and a batch of 1,024 unless told otherwise. The parts:

whole     images a second of a whole run against the bare training loop, see tests.benchmarks.whole_run
settings  memory and time of a step in chunks, in bf16, channels last and checkpointed, as shares of the plain
          step (float32, all at once), each in a process of its own, and how far its embeddings are from the plain ones;
          on a CPU memory is what a step adds to the process, and time is the processor's, of one thread; on a GPU they
          are what torch allocates and the clock. A first step of four images is not counted: it makes gradients and the
          optimizer's state, and has the compiler work, whose seconds are said
losses    the share of the loss in a step, and what makes the host wait for the GPU (torch.cuda.set_sync_debug_mode);
          nothing should
nccl      gathering embeddings and adding gradients in a group of one process, as shares of a step
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

from tests.benchmarks import whole_run
from tests.benchmarks._harness import Spent, apart, in_turn, memory, timed
from tests.programs import arguments, markdown
from trainers.config import DataChoice
from trainers.devices.precision import autocast, computing_in
from trainers.distributed.whole import Whole
from trainers.encoders import ENCODERS
from trainers.kinds.metric_learning.batches import Batch
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.loop import LossArm
from trainers.losses import LOSSES
from trainers.parameters import Choice, parse_choice
from trainers.training.memory import checkpointed, chunks, encode_in_chunks
from trainers.training.stage import Stage

DIM, EACH = 512, 4  # numbers of an embedding, images of a class
WARM_UP, STEPS = 3, 9
PLAIN = {"precision": "float32", "channels_last": "off"}
SETTINGS: dict[str, dict[str, Any]] = {
    "bf16": {"precision": "bf16"},
    "fp16": {"precision": "fp16"},
    "channels_last": {"channels_last": "on"},
    "checkpointing": {"checkpointing": True},
}


def encoder_of(written: str) -> Choice:
    """An encoder of the catalogue with random weights."""
    name, parameters = parse_choice(written, ENCODERS)
    return Choice(name=name, parameters=parameters | ({"pretrained": False} if ENCODERS[name].make.wraps else {}))


def arm_of(encoder: str, loss: str, images: int, side: int, device: str, **settings: Any) -> LossArm:
    """An arm as a run trains it."""
    torch.manual_seed(0)
    config, choice, classes = MetricLearningConfig(**settings), encoder_of(encoder), images // EACH
    sized = {"side": side} if "vit" in encoder and side != 224 else {}
    net = ENCODERS[choice.name].build(channels=3, side=side, dim=DIM, parameters={**choice.parameters, **sized})
    module = LOSSES[loss].build(num_classes=classes, dim=DIM, class_labels=torch.arange(classes)[:, None])
    arm = LossArm(0, LOSSES[loss], module, net, torch.device(device))
    if config.channels_last == "off":
        arm.lay_out(torch.contiguous_format)
    if config.checkpointing:
        arm.checkpointed = checkpointed(net)
    encode_in_chunks(net, config.chunk)
    arm.begin(Stage.of(config))
    return arm


def batch_of(images: int, side: int, device: str) -> Batch:
    """Noise with labels."""
    rows = torch.arange(images)
    pixels = torch.rand(images, 3, side, side, device=device)
    return Batch(views=(pixels, pixels), labels=rows[:, None] // EACH, rows=rows, step=0)


def seconds_of(work: Callable[[], object], device: str) -> float:
    """The median of a call."""
    return in_turn({"": work}, STEPS, device, WARM_UP)[""].used(device)


# ------------------------------------------------------------------------------------------------------------- settings


def measured(
    encoder: str, loss: str, images: int, side: int, device: str, settings: dict[str, Any]
) -> tuple[float, Spent, float, Tensor]:
    """In this process: megabytes that a step adds, the median of its time, seconds of the first one, embeddings."""
    torch.set_num_threads(1)
    arm, batch = arm_of(encoder, loss, images, side, device, **settings), batch_of(images, side, device)
    with computing_in(settings["precision"]):
        first = timed(lambda: arm.step(batch_of(EACH, side, device), 1.0), device).clock
        before = memory(device, now=True)
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats()
        spent = in_turn({"": lambda: arm.step(batch, 1.0)}, 3, device, warm_up=1)[""]
        grown = memory(device) - before
        again = arm_of(encoder, loss, images, side, device, **PLAIN).encoder.eval()  # as it was before the steps
        with torch.no_grad(), autocast(torch.device(device)):
            embedded = functional.normalize(again(batch.views[0][:64]).float())
    return grown, spent, first, embedded.cpu()


def settings_of(names: list[str], images: int, encoder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings by the words of the table."""
    for name in names:
        if name == "chunks":
            for size in (images // 2, images // 4, images // 8):
                yield f"{chunks(images, size)} chunks of {size}", {"chunk": size}
        elif name != "checkpointing" or "timm" in encoder:  # others keep all activations
            yield name.replace("_", " "), SETTINGS[name]


def by_setting(encoder: str, given: Any) -> str:
    """Memory and time of a step as shares of the plain one."""
    case = (encoder, given.losses[0], given.images, given.side, given.device)
    plain = apart(measured, *case, PLAIN)
    if plain is None:
        return f"{encoder}: the plain step takes more memory than there is"
    rows = [[f"plain: {plain[0]:.0f} MB, {plain[1].used(given.device):.2f} s", "1.00", "1.00", ""]]
    for name, changed in settings_of(given.settings, given.images, encoder):
        got = apart(measured, *case, PLAIN | changed)
        if got is None:
            rows.append([name, "out of memory", "", ""])
            continue
        away = (got[3] - plain[3]).norm(dim=1).mean()
        shares = (got[0] / plain[0], got[1].used(given.device) / plain[1].used(given.device))
        rows.append([name, *(f"{share:.2f}" for share in shares), f"{away:.4f}" if "precision" in changed else ""])
    return markdown([encoder, "memory", "time", "embeddings apart"], rows)


# ----------------------------------------------------------------------------------------------------- on a GPU at most


def waits(arm: LossArm, batch: Batch) -> str:
    """Where the host waits for the GPU in a step, by file and line."""
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
    return ", ".join(sorted({f"{Path(one.filename).name}:{one.lineno}" for one in told})) or "nowhere"


def by_loss(encoder: str, given: Any) -> str:
    """The share of every loss in its step, and where its step waits."""
    rows, batch = [], batch_of(given.images, given.side, given.device)
    for name in given.losses:
        arm = arm_of(encoder, name, given.images, given.side, given.device)
        step = seconds_of(lambda arm=arm: arm.step(batch, 1.0), given.device)
        views = arm.descriptor.views
        embedded = torch.randn(given.images, views, DIM, device=given.device).squeeze(1).requires_grad_()

        def alone(arm: LossArm = arm, embedded: Tensor = embedded) -> None:
            torch.stack(list(arm.loss.terms(embedded, batch.labels).values())).sum().backward()

        share = f"{100 * seconds_of(alone, given.device) / step:.1f} %"
        held_up = "no GPU" if given.device == "cpu" else waits(arm, batch)
        rows.append([name, f"{step * 1e3:.0f}", f"{given.images / step:.0f}", share, held_up])
    return markdown(["loss", "step, ms", "images/s", "of it the loss", "the host waits"], rows)


def by_nccl(encoder: str, given: Any) -> str:
    """What gathering and adding cost in a group of one, where nothing is sent."""
    backend = "gloo" if given.device == "cpu" else "nccl"
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    try:
        arm = arm_of(encoder, given.losses[0], given.images, given.side, given.device)
        batch = batch_of(given.images, given.side, given.device)
        rows = torch.randn(given.images, DIM, device=given.device, requires_grad=True)
        gathered = Whole.apply(rows)
        gathered.square().sum().backward()
        assert torch.equal(gathered, rows) and torch.equal(rows.grad, 2 * rows)
        flat = torch.cat([weight.detach().reshape(-1) for weight in arm.encoder.parameters()])
        step, gather, add = (
            seconds_of(work, given.device)
            for work in (
                lambda: arm.step(batch, 1.0),
                lambda: Whole.apply(rows).sum().backward(),
                lambda: dist.all_reduce(flat),
            )
        )
    finally:
        dist.destroy_process_group()
    return f"{backend}, one process: gathering {100 * gather / step:.2f} %, adding {100 * add / step:.2f} % of a step"


def whole(encoder: str, given: Any) -> str:
    """Print images a second of a whole run."""
    config = MetricLearningConfig(
        data=DataChoice(source="drawn"),
        losses=(Choice(name="smooth_ap"),),
        encoder=encoder_of(encoder),
        minutes=given.seconds / 60,
        device=given.device,
    )
    with tempfile.TemporaryDirectory() as folder:
        whole_run.measure(config, Path(folder))
    return ""


PARTS = {"whole": whole, "settings": by_setting, "losses": by_loss, "nccl": by_nccl}


def main() -> None:
    """Print every part for every encoder."""
    given = arguments(
        __doc__,
        parts=(list(PARTS), "what is measured", list(PARTS)),
        encoders=(["timm:model=vit_base_patch32_224"], "of the catalogue"),
        losses=(["supcon", "smooth_ap", "roadmap", "contextual", "proxy_anchor"], "the first one in every part"),
        settings=(["chunks", *SETTINGS], "in the order of the table", ["chunks", *SETTINGS]),
        images=(1024, "of a batch"),
        side=(224, "of an image"),
        seconds=(60.0, "of the whole run"),
        device=("cuda", "cuda or cpu"),
    )
    if given.device != "cpu" and not torch.cuda.is_available():
        print("A GPU is needed, and torch finds none here. Nothing was measured.")
        return
    print(f"{given.device}, {given.images} images of {given.side} pixels, {given.losses[0]}\n")
    for encoder in given.encoders:
        for part in given.parts:
            print(f"{encoder}, {part}\n\n{PARTS[part](encoder, given)}\n", flush=True)


if __name__ == "__main__":
    main()
