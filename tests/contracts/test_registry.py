"""Every family of descriptors: adding a loss, encoder, sampler, model, fill, detector is adding a file."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import write_images
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError
from trainers.image_text.models import MODELS
from trainers.losses import LOSSES
from trainers.object_removal.detectors import DETECTORS
from trainers.object_removal.fills import FILLS
from trainers.optimization import OPTIMISERS
from trainers.parameters import specs
from trainers.registry import Descriptor
from trainers.retrieval.galleries import GALLERIES
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.reranking import RERANKINGS
from trainers.samplers import SAMPLERS
from trainers.training.augmentations import AUGMENTATIONS
from trainers.untrained.ways import UNTRAINED

FAMILIES = {
    "losses": LOSSES,
    "encoders": ENCODERS,
    "samplers": SAMPLERS,
    "image_text.models": MODELS,
    "object_removal.fills": FILLS,
    "object_removal.detectors": DETECTORS,
    "training.augmentations": AUGMENTATIONS,
}
TABLES = {
    **FAMILIES,
    "optimization.optimizers": OPTIMISERS,
    "retrieval.galleries": GALLERIES,
    "retrieval.indexes": INDEXES,
    "retrieval.reranking": RERANKINGS,
    "untrained.ways": UNTRAINED,
}
ENTRIES = [
    pytest.param(entry, id=f"{family}-{name}") for family, all_ in TABLES.items() for name, entry in all_.items()
]

FILE = """
from dataclasses import replace
from trainers.{module} import DESCRIPTOR{s} as first
DESCRIPTOR = replace(first{at}, name="extra", title="Extra {family}")
"""
BASED_ON = {
    "losses": "losses.average_precision",
    "encoders": "encoders.small",
    "samplers": "samplers.m_per_class",
    "image_text.models": "image_text.models.vsepp",
    "object_removal.fills": "object_removal.fills.padding",
    "object_removal.detectors": "object_removal.detectors.transformers_models",
    "training.augmentations": "training.augmentations.light",
}
"""The module of a family whose entry, the first of several, is added once more."""
USE = """
import importlib.util, sys
from pathlib import Path

extra, images, runs = map(Path, sys.argv[1:])
for folder in extra.iterdir():
    spec = importlib.util.find_spec(f"trainers.{folder.name}")
    spec.submodule_search_locations.append(str(folder))
    sys.modules[spec.name] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)

from tests.tiny import tiny_config
from trainers.cli.main import main
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.object_removal.detectors import DETECTORS
from trainers.parameters import Choice
from trainers.runs import RunFolder

for verb in ("losses", "encoders", "models", "augmentations"):
    assert main([verb]) == 0
own = {"encoder": "extra", "sampler": "extra", "augmentation": Choice(name="extra")}
config = tiny_config(images, "extra", steps=2, **own)
run = MetricLearningLoop(RunFolder.create(runs, config))
run.advance(60)
run.finish()
assert run.step == 2
scenes, model = "drawn_scenes:train=50,val=20,test=20", "extra:width=8"
assert main(["score", "--data", scenes, "--model", model, "--fill", "extra", "--queries", "3"]) == 0
assert "extra" in DETECTORS
"""


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_described(entry: Descriptor) -> None:
    assert isinstance(entry, Descriptor) and entry.title and entry.sentence.endswith(".") and len(entry.sentence) < 140
    with pytest.raises(ParameterError, match="no parameter 'nonsense'"):
        entry.checked({"nonsense": 1})
    assert all(spec.rule.help for spec in specs(entry.parameters))
    reason = entry.lacking()
    assert reason is None or len(reason) > 20


def test_a_name_stands_for_one_entry() -> None:
    for entries in FAMILIES.values():
        assert [name for name, entry in entries.items() if name != entry.name] == []
        assert [entry.order for entry in entries.values()] == sorted(entry.order for entry in entries.values())


def test_one_file_adds_an_entry_to_each_family(tmp_path: Path) -> None:
    for family, module in BASED_ON.items():
        several = hasattr(importlib.import_module(f"trainers.{module}"), "DESCRIPTORS")
        source = FILE.format(module=module, family=family, s="S" * several, at="[0]" * several)
        (tmp_path / "extra" / family).mkdir(parents=True)
        (tmp_path / "extra" / family / "extra.py").write_text(source, encoding="utf-8")
    images, runs = write_images(tmp_path / "images"), tmp_path / "runs"
    command = [sys.executable, "-c", USE, str(tmp_path / "extra"), str(images), str(runs)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    shown = ("losses", "encoders", "image_text.models", "training.augmentations")
    assert all(title in done.stdout for title in ("ODmAP_at_1", *(f"Extra {family}" for family in shown)))


BESIDE = """
import threading
from explorer.tabs.object_removal.detecting import detectors
from trainers.encoders import ENCODERS
from trainers.image_text.small import small_tokeniser

def timm():
    parameters = {"model": "resnet18", "pretrained": False}
    ENCODERS["timm"].build(channels=3, side=32, dim=8, parameters=parameters)

begin = threading.Barrier(3)
failed = []

def in_turn(work):
    begin.wait()
    try:
        work()
    except BaseException as error:
        failed.append(repr(error))

threads = [threading.Thread(target=in_turn, args=(work,)) for work in (detectors, lambda: small_tokeniser(32), timm)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failed, flush=True)
"""


@pytest.mark.long
def test_none_of_them_ends_in_a_deadlock() -> None:
    ended = subprocess.run([sys.executable, "-c", BESIDE], capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout == "[]\n", ended.stdout + ended.stderr
