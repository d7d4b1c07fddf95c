"""A GPU must come to what the CPU comes to, and the host must not wait for it where it need not.

python -m tests.campaigns.cuda [--parts losses metrics] [--figures cuda.json]

Every loss, with variants, values and gradients: in float64 on the GPU against float64 on the CPU to 1e-11, which leaves
the order of summation alone, and in float32 to 1e-3 of the gradient's length, since a cosine that is wrong in its last
bit is divided by widths of 0.01 and may pass its neighbour. Every metric, whose products are float64 on a GPU, to
1e-12. Losses, metrics, steps and looks run with ``torch.cuda.set_sync_debug_mode("error")``. Then whole runs of every
kind, three steps in float32 without TF32 against the same steps on the CPU, and in bfloat16 against those; every
setting of memory and speed; runs that are killed and resumed; and what is said where memory or a device is missing.
With ``--device cpu`` the campaign tries itself.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from tests.campaigns._device import Trial
from tests.campaigns._fuse import trainer
from tests.campaigns._operations import losses, memories, metrics, steps
from tests.campaigns._outcome import Outcome, weights
from tests.contracts.test_encoders import OFFLINE
from tests.finetuning.world import mend_config, write_coco
from tests.programs import arguments
from tests.tiny import opened, tiny_config, tiny_contrastive, to_end, write_images
from trainers.config import RunConfig
from trainers.devices.device import choose
from trainers.errors import ParameterError
from trainers.kinds.contrastive.methods import METHODS
from trainers.optimization import OPTIMISERS
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.worker import Worker

STEP, HALF = 1e-3, 0.05  # of a run's loss, relative: within three steps in float32, of the first one in bfloat16


def kinds_of_run(place: Path) -> dict[str, RunConfig]:
    """Runs of three steps in float32, of every kind, method, optimizer and setting of memory, by what they try."""
    images, scenes = place / "images", place / "scenes"
    if not images.exists():
        write_images(images)
        write_coco(scenes)
    plain: dict[str, object] = {"steps": 3, "precision": "float32", "snapshot_steps": 3}
    resnet: dict[str, object] = {"model": "resnet18", "pretrained": False}

    def learning(*names: str, **changes: object) -> RunConfig:
        return tiny_config(images, *names, **(plain | changes))

    def mending(*recipes: dict[str, object], **changes: object) -> RunConfig:
        return mend_config(scenes, *recipes, **(plain | changes))

    return {
        "metric learning": learning("smooth_ap", "happier", "supcon_out", "proxy_anchor", "contextual"),
        "a memory": learning("smooth_ap", "happier", memory=48, memory_after=1),
        "in chunks": learning("smooth_ap", chunk=4),
        "checkpointed": learning("smooth_ap", checkpointing=True, encoder="timm", encoder_parameters=resnet),
        "channels last off": learning("smooth_ap", channels_last="off"),
        "channels last on": learning("smooth_ap", channels_last="on"),
        "a frozen encoder": learning("smooth_ap", encoder="timm_frozen", encoder_parameters=OFFLINE["timm"]),
        **{f"optimizer {name}": learning("smooth_ap", optimiser=name) for name in OPTIMISERS},
        **{f"contrastive, {name}": tiny_contrastive(images / "train", _method(name), **plain) for name in METHODS},
        "object removal, tiny CLIP": mending({"removed": False}, {}),
        "object removal, the shipped model": mending({"removed": False}, {}, model=Choice(name="tiny_clip")),
        "object removal, two towers": mending(model=Choice(name="two_towers")),
        "object removal, VSE++": mending(model=Choice(name="vsepp")),
    }


def runs(trial: Trial) -> None:
    """Whole runs against the same run on the CPU."""
    for title, config in kinds_of_run(trial.place).items():
        with trial.of("runs in float32", title) as failures:
            _compare_run(trial, title, config, failures)


def settings(trial: Trial) -> None:
    """Whole runs in half precision, and of a compiled encoder, against those in float32."""
    configs = kinds_of_run(trial.place)
    for title, config in configs.items():
        with trial.of("runs in bfloat16", title) as failures:
            _finite(trial, config.changed(precision="auto"), failures)
    for title, changes in {"float16": {"precision": "fp16"}, "compiled": {"compiled": True}}.items():
        with trial.of("runs with other settings", title) as failures:
            _finite(trial, configs["channels last on"].changed(**changes), failures)


def _method(name: str) -> Choice:
    takes = METHODS[name].checked({})
    small = {"queue": 12, "negatives": 12}
    return Choice(name=name, parameters={key: value for key, value in small.items() if hasattr(takes, key)})


def _numbers_of(config: RunConfig, root: Path, device: str) -> dict[tuple[int, int, str], float]:
    """All numbers of a run that is trained to its end."""
    loop = to_end(opened(root, config.changed(device=device)))
    loop.finish()
    loop.folder.db.close()
    return {(s.arm, s.step, s.key): s.value for s in loop.folder.scalars()}


@contextmanager
def _without_tf32() -> Iterator[None]:
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def _compare_run(trial: Trial, title: str, config: RunConfig, failures: list[str]) -> None:
    with _without_tf32():
        here = _numbers_of(config, trial.place / "here", "cpu")
        there = _numbers_of(config, trial.place / "there", str(trial.device))
    losses = [key for key in here if key[2] == "loss" and key[1] <= 3]  # a later stage begins with other random numbers
    missing = {key for key in here if "processor" not in key[2]} - set(there)
    failures += [f"numbers are missing: {sorted(missing)[:3]}"] * bool(missing) + ["no loss"] * (not losses)
    for key in (key for key in losses if key in there):
        trial.error("loss of a run, float32", abs(there[key] - here[key]) / max(abs(here[key]), 1e-2), STEP, failures)
    trial.figures[f"{title}, first and last loss"] = [[here[k], there.get(k)] for k in (losses[0], losses[-1])]


def _finite(trial: Trial, config: RunConfig, failures: list[str]) -> None:
    plain = _numbers_of(config.changed(precision="float32", compiled=False), trial.place / "here", str(trial.device))
    found = _numbers_of(config, trial.place / "there", str(trial.device))
    for key in plain:
        if key[2] == "loss" and key[1] == 1:  # before the optimizer has made small differences large
            got = found.get(key, math.nan)
            trial.error(
                f"loss of a run, {config.precision}", abs(got - plain[key]) / max(abs(plain[key]), 0.1), HALF, failures
            )


# ------------------------------------------------------------------------------------------------ kills


def kills(trial: Trial) -> None:
    """Runs that are killed twice and resumed, beside two that nobody interrupts."""
    images = write_images(trial.place / "killed")
    many = {"steps": 60, "snapshot_steps": 10, "device": str(trial.device)}
    queue = Choice(name="moco_v2", parameters={"queue": 24})
    configs = {
        "metric learning": tiny_config(images, "smooth_ap", "supcon_out", **many),
        "contrastive": tiny_contrastive(images / "train", queue, **(many | {"head_steps": 6})),
    }
    note = trial.place / "moments.json"
    for title, config in configs.items():
        with trial.of("killed and resumed", title) as failures:
            whole, again, killed = (RunFolder.create(trial.place / "runs", config) for _ in range(3))
            for folder in (whole, again):
                trainer(folder.path, note).join()
            moments = [n for n, what in enumerate(json.loads(note.read_text())) if what == "checkpoint"]
            for fuse in (moments[len(moments) // 2], 40):
                process = trainer(killed.path, note, fuse)
                process.join()
                failures += [f"it was not killed, but ended with {process.exitcode}"] * (process.exitcode != -9)
            trainer(killed.path, note).join()
            outcome = Outcome(whole)
            trial.figures[f"{title}, uninterrupted twice"] = outcome.differences(again) or "the same bit for bit"
            trial.figures[f"{title}, largest difference of a weight"] = [_apart(whole, again), _apart(whole, killed)]
            failures += outcome.differences(killed)


def _apart(one: RunFolder, other: RunFolder) -> float:
    first, second = weights(one), weights(other)
    return max(
        (float((first[name].double() - second[name].double()).abs().max()) for name in first if first[name].numel()),
        default=math.nan,
    )


# ------------------------------------------------------------------------------------------------ what is missing


def missing(trial: Trial) -> None:
    """The sentences on a device that is not there and on memory that runs out."""
    with trial.of("what is said", "a device that is not there") as failures:
        try:
            choose("cuda:99")
            failures.append("cuda:99 was taken")
        except ParameterError as error:
            trial.figures["cuda:99"] = str(error)
    trial.figures["device"] = choose(str(trial.device))[1]
    if trial.device.type == "cpu":
        return
    with trial.of("what is said", "memory that runs out") as failures:
        images = write_images(trial.place / "few")
        config = tiny_config(images, "smooth_ap", device=str(trial.device), steps=2)
        folder = RunFolder.create(trial.place / "runs", config)
        torch.cuda.set_per_process_memory_fraction(1e-5)
        torch.cuda.empty_cache()
        try:
            state = Worker(folder).run()
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        trial.figures["out of memory"] = str(state.error)
        failures += [f"{state.phase}: {state.error}"] * ("memory of the GPU" not in str(state.error))


PARTS: dict[str, Callable[[Trial], None]] = {
    part.__name__: part for part in (losses, memories, metrics, steps, runs, settings, kills, missing)
}


def campaign(device: str, parts: list[str]) -> Trial:
    """All of the parts."""
    with tempfile.TemporaryDirectory(prefix="cuda-") as folder:
        trial = Trial(device=choose(device)[0], place=Path(folder).resolve())
        for name in parts:
            begun = time.monotonic()
            PARTS[name](trial)
            trial.figures[f"seconds of {name}"] = round(time.monotonic() - begun, 1)
    return trial


def main() -> int:
    """Exit status 1 if anything failed."""
    given = arguments(
        __doc__,
        parts=(list(PARTS), "in this order", list(PARTS)),
        device=("cuda", "cuda, cuda:N, or cpu to try the campaign itself"),
        figures=(Path, "JSON file for the errors and what else was measured"),
    )
    trial = campaign(given.device, given.parts)
    text = json.dumps(trial.figures, indent=1, default=str)
    print(text)
    if given.figures is not None:
        given.figures.write_text(text)
    return trial.tally.end()


if __name__ == "__main__":
    sys.exit(main())
