"""What the settings of a step of training change, and what of it the loss takes.

python -m tests.benchmarks.step [--device cpu] [--settings chunks bf16]
python -m tests.benchmarks.step --share smooth_ap happier --images 256 --encoders timm:model=resnet50

Memory and time of a step in chunks, in bf16, channels last, checkpointed and compiled, as shares of the plain step
(float32, all at once), each in a process of its own, and how far its embeddings are from the plain ones. Random
weights, ViT-B/32 at 224 pixels and a batch of 1,024 unless told otherwise. On a CPU memory is what a step adds to the
process, and time is the processor's, of one thread; on a GPU they are what torch allocates and the clock. A first step
of four images is not counted: it makes gradients and the optimizer's state, and has the compiler work, whose seconds
are said. With ``--share`` the step of each loss, in the precision that a run takes, beside the forward and backward
pass of the loss alone, from embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tests.benchmarks._arm import EACH, arm_of, noise
from tests.benchmarks._harness import Spent, apart, grown, in_turn, timed
from tests.programs import arguments, markdown
from trainers.devices.precision import autocast, computing_in
from trainers.losses import LOSSES
from trainers.training.memory import chunks

DIM = 512  # numbers of an embedding
PLAIN = {"precision": "float32", "channels_last": "off"}
SETTINGS: dict[str, dict[str, Any]] = {
    "bf16": {"precision": "bf16"},
    "fp16": {"precision": "fp16"},
    "channels_last": {"channels_last": "on"},
    "checkpointing": {"checkpointing": True},
    "compiled": {"compiled": True},
}


def measured(
    encoder: str, loss: str, images: int, side: int, device: str, settings: dict[str, Any]
) -> tuple[float, Spent, float, Tensor]:
    """In this process: megabytes that a step adds, the median of its time, seconds of the first one, embeddings."""
    torch.set_num_threads(1)
    case = (encoder, loss, images, side, DIM, device)
    arm, batch = arm_of(*case, **settings), noise(images, side, device)
    with computing_in(settings["precision"]):
        first = timed(lambda: arm.step(noise(EACH, side, device), 1.0), device).clock
        spent, added = grown(lambda: arm.step(batch, 1.0), 3, device)
        again = arm_of(*case, **PLAIN).encoder.eval()  # as it was before the steps
        with torch.no_grad(), autocast(torch.device(device)):
            embedded = functional.normalize(again(batch.views[0][:64]).float())
    return added, spent, first, embedded.cpu()


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
    case = (encoder, given.loss, given.images, given.side, given.device)
    plain = apart(measured, *case, PLAIN)
    if plain is None:
        return f"{encoder}: the plain step takes more memory than there is"
    rows = [[f"plain: {plain[0]:.0f} MB, {plain[1].used(given.device):.2f} s", "1.00", "1.00", ""]]
    for name, changed in settings_of(given.settings, given.images, encoder):
        got = apart(measured, *case, PLAIN | changed)
        if got is None:
            rows.append([name, "out of memory", "", ""])
            continue
        name += f", first step {got[2]:.0f} s" if "compiled" in changed else ""
        away = (got[3] - plain[3]).norm(dim=1).mean()
        shares = (got[0] / plain[0], got[1].used(given.device) / plain[1].used(given.device))
        rows.append([name, *(f"{share:.2f}" for share in shares), f"{away:.4f}" if "precision" in changed else ""])
    return markdown([encoder, "memory", "time", "embeddings apart"], rows)


def by_loss(encoder: str, given: Any) -> str:
    """Time of a step with each loss, and of the loss alone."""
    rows = []
    for name in given.share:
        arm = arm_of(encoder, name, given.images, given.side, DIM, given.device)
        batch = noise(given.images, given.side, given.device)
        shape = (given.images, LOSSES[name].views, DIM) if LOSSES[name].views > 1 else (given.images, DIM)
        embeddings = torch.randn(shape, device=given.device, requires_grad=True)
        works = {
            "step": lambda arm=arm, batch=batch: arm.step(batch, 1.0),
            "loss": lambda arm=arm, batch=batch, rows=embeddings: arm.loss(rows, batch.labels).backward(),
        }
        step, loss = (spent.used(given.device) for spent in in_turn(works, 8, given.device, warm_up=3).values())
        images = given.images * LOSSES[name].views / step
        rows.append(
            [LOSSES[name].title, f"{1e3 * step:.1f}", f"{images:,.0f}", f"{1e3 * loss:.1f}", f"{loss / step:.0%}"]
        )
    return markdown([encoder, "step, ms", "images/s", "loss alone, ms", "share"], rows)


def main() -> None:
    """Print every part for every encoder."""
    given = arguments(
        __doc__,
        encoders=(["timm:model=vit_base_patch32_224"], "of the catalogue"),
        loss=("supcon", "of the catalogue"),
        share=([""], "losses of the catalogue, in place of the settings"),
        settings=(["chunks", *SETTINGS], "in the order of the table", ["chunks", *SETTINGS]),
        images=(1024, "of a batch"),
        side=(224, "of an image"),
        device=("cuda", "cuda or cpu"),
    )
    if given.device != "cpu" and not torch.cuda.is_available():
        print("A GPU is needed, and torch finds none here. Nothing was measured.")
        return
    told = by_loss if any(given.share) else by_setting
    print(
        f"{given.device}, {given.images} images of {given.side} pixels{'' if any(given.share) else f', {given.loss}'}\n"
    )
    for encoder in given.encoders:
        print(f"{told(encoder, given)}\n", flush=True)


if __name__ == "__main__":
    main()
