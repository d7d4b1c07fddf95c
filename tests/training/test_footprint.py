"""What a run is estimated to take, held against what it takes."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainers.config import DataChoice, RunConfig
from trainers.data import access
from trainers.errors import UserError
from trainers.kinds import kind_of
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.kinds.metric_learning.suited import footprint as metric_learning_footprint
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.training.footprint import PROGRAM, Footprint, Shape, check_fits

ROOT = Path(__file__).resolve().parents[2]
SHAPE = Shape(images=4000, channels=3, side=64, classes=100)
SMALL = {
    "steps": 3,
    "minutes": None,
    "threads": 1,
    "probe_size": 100,
    "data": DataChoice(source="drawn", image_size=32),
}


def config(*losses: str, **changes: object) -> RunConfig:
    return MetricLearningConfig(losses=tuple(Choice(name=name) for name in losses), **changes)  # type: ignore[arg-type]


def footprint(config: RunConfig, shape: Shape | None = None) -> Footprint:
    return kind_of(config).footprint(config) if shape is None else metric_learning_footprint(config, shape)


MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, used = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(process.returncode, used.ru_maxrss)
"""


def peak(command: list[str]) -> int:
    """Largest resident size of a process in bytes.

    A small process starts it: what the starting process holds is counted as the peak of what it starts.
    """
    env = {**os.environ, "PYTHONPATH": str(ROOT), "RANKSCOPE_CACHE": "off"}
    line = [sys.executable, "-c", MEASURE, sys.executable, *command]
    status, kilobytes = subprocess.run(line, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    assert status == "0"
    return int(kilobytes) * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.long
@pytest.mark.parametrize(
    "asked",
    [
        config("supcon", classes_per_batch=8, images_per_class=4, **SMALL),
        config("smooth_ap", "supcon", classes_per_batch=64, images_per_class=16, **SMALL),
    ],
    ids=["small", "batch"],
)
def test_a_run_takes_what_was_estimated(tmp_path: Path, asked: RunConfig) -> None:
    folder = RunFolder.create(tmp_path, asked)
    measured, estimated = peak(["-m", "trainers.worker", str(folder.path)]), footprint(asked).total
    assert folder.state().phase == "finished"
    folder.db.close()
    assert estimated / 4 < measured < 1.5 * estimated


@pytest.fixture(scope="module")
def compiled() -> None:
    """The compiled loops are in numba's cache: compiling them takes more memory than the losses."""
    subprocess.run([sys.executable, "-c", "from trainers.losses import kernel; kernel()"], cwd=ROOT, check=True)


STEP = """
import sys, torch
from trainers.losses import LOSSES, kernel
from trainers.losses._memory import give_memory
kernel()  # the compiler is part of the program
name, batch, ring, classes = sys.argv[1], *map(int, sys.argv[2:5])
plain = LOSSES[name].build(num_classes=classes, dim=64)
loss, _ = give_memory(plain, LOSSES[name], size=ring, after=0, dim=64, levels=1)
loss.memory.push(torch.randn(ring, 64), torch.arange(ring) % classes)
rows = torch.randn(batch, 64, requires_grad=True)
if "idle" not in sys.argv:
    loss(rows, torch.arange(batch)[:, None] % classes).backward()
"""


@pytest.mark.long
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("name", "batch", "ring", "classes"),
    [
        ("smooth_ap", 256, 8192, 16),
        ("supcon", 256, 16_384, 16),
        ("triplet", 512, 1024, 32),  # these keep more of a batch
        ("softbin_ap", 512, 1024, 32),
    ],
)
def test_a_loss_with_a_memory_takes_what_was_estimated(name: str, batch: int, ring: int, classes: int) -> None:
    words = [name, str(batch), str(ring), str(classes)]
    measured = peak(["-c", STEP, *words]) - peak(["-c", STEP, *words, "idle"])
    asked = config(name, memory=ring, classes_per_batch=classes, images_per_class=16)
    estimated = footprint(asked, dataclasses.replace(SHAPE, classes=classes)).pairs
    # losses walk through a memory in blocks; whether they hold all of it at once is not known beforehand
    assert measured < 1.5 * estimated, (measured, estimated)
    assert batch > 256 or estimated / 16 < measured, (measured, estimated)


def test_every_number_counts() -> None:
    least = footprint(config("supcon", classes_per_batch=8, images_per_class=4, dim=16), SHAPE)
    assert least.total < 1.5 * PROGRAM
    larger = {
        "activations": config("supcon", classes_per_batch=64, images_per_class=16),
        "memories": config("supcon", dim=512, memory=65_536),
        "encoders": config("supcon", encoder=Choice(name="conv4", parameters={"width": 128})),
        "evaluation": config("supcon", probe_size=5000),
    }
    for part, asked in larger.items():
        assert getattr(footprint(asked, SHAPE), part) > 2 * getattr(least, part), part
    one, four = (footprint(config(*["supcon"] * count, memory=65_536, dim=512), SHAPE) for count in (1, 4))
    assert four.memories == 4 * one.memories and four.encoders == 4 * one.encoders
    few = footprint(config("smooth_ap", memory=65_536), dataclasses.replace(SHAPE, classes=4))
    assert few.total > 10e9 and "comparisons" in few.largest


def test_a_trainer_that_strangers_started_minds_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = config("smooth_ap", memory=65_536)
    few = dataclasses.replace(SHAPE, classes=4)
    check_fits(footprint(asked, few))
    monkeypatch.setenv(access.PUBLIC, "1")
    with pytest.raises(UserError, match="GB of memory"):
        check_fits(footprint(asked, few))
    monkeypatch.setenv("RANKSCOPE_RUN_GB", "1000")
    check_fits(footprint(asked, few))
