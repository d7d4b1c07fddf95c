"""Every family of descriptors: adding a loss, encoder, sampler, model, fill, detector is adding a file."""

from __future__ import annotations

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
from trainers.parameters import specs
from trainers.registry import Descriptor
from trainers.retrieval.galleries import GALLERIES
from trainers.retrieval.indexes import INDEXES
from trainers.retrieval.reranking import RERANKINGS
from trainers.samplers import SAMPLERS
from trainers.training.augmentations import AUGMENTATIONS
from trainers.training.optimization import OPTIMISERS

FAMILIES = {
    "losses": LOSSES,
    "encoders": ENCODERS,
    "samplers": SAMPLERS,
    "image_text.models": MODELS,
    "object_removal.fills": FILLS,
    "object_removal.detectors": DETECTORS,
    "retrieval.reranking": RERANKINGS,
    "training.augmentations": AUGMENTATIONS,
}
TABLES = {
    **FAMILIES,
    "optimization.optimizers": OPTIMISERS,
    "retrieval.galleries": GALLERIES,
    "retrieval.indexes": INDEXES,
}
ENTRIES = [
    pytest.param(entry, id=f"{family}-{name}") for family, all_ in TABLES.items() for name, entry in all_.items()
]

FILES = {
    "losses": """
from dataclasses import replace
from trainers.losses.average_precision import SMOOTH_AP
DESCRIPTOR = replace(SMOOTH_AP, name="extra_loss", title="Extra loss")
""",
    "encoders": """
from trainers.encoders.base import EncoderDescriptor
from trainers.encoders.small import Conv4, Conv4Parameters
DESCRIPTOR = EncoderDescriptor(
    name="extra_encoder", title="Extra encoder", sentence="Another one.", parameters=Conv4Parameters,
    learning_rate=1e-3, make=Conv4,
)
""",
    "samplers": """
from trainers.samplers.base import SamplerDescriptor
from trainers.samplers.m_per_class import build
DESCRIPTOR = SamplerDescriptor(name="extra_sampler", title="Extra sampler", sentence="Another one.", build=build)
""",
    "image_text.models": """
from trainers.image_text.base import ModelDescriptor
from trainers.image_text.models.vsepp import Vse, VseParameters
DESCRIPTOR = ModelDescriptor(
    name="extra_model", title="Extra model", sentence="Another one.", paper="None", parameters=VseParameters, make=Vse
)
""",
    "object_removal.fills": """
from trainers.object_removal.fills.base import FillDescriptor
DESCRIPTOR = FillDescriptor(
    name="extra_fill", title="Extra fill", sentence="Another one.", paper="None", fill=lambda image, mask, _: image // 2
)
""",
    "object_removal.detectors": """
from dataclasses import dataclass
import numpy as np
from trainers.object_removal.detectors.base import DetectorDescriptor, Raw
from trainers.parameters import parameter
@dataclass(frozen=True, kw_only=True)
class Parameters:
    score: float = parameter(0.5, low=0.0, high=1.0, help="Objects the network is less sure of are left out.")
DESCRIPTOR = DetectorDescriptor(
    name="extra_detector", title="Extra detector", sentence="Another one.", paper="None", parameters=Parameters,
    make=lambda chosen: lambda image: Raw(boxes=np.array([[1.0, 1, 5, 5]]), names=["dog"], scores=np.array([0.9])),
)
""",
    "retrieval.reranking": """
from trainers.retrieval.reranking.base import Reranking
DESCRIPTOR = Reranking(
    name="extra_reranking", title="Extra re-ranking", sentence="Another one.", paper="None", year=2026, url="",
    score=lambda rows, _: -rows @ rows[0],
)
""",
    "training.augmentations": """
from trainers.training.augmentations.base import AugmentationDescriptor, unit
DESCRIPTOR = AugmentationDescriptor(
    name="extra_augmentation", title="Extra augmentation", sentence="Another one.", paper="None",
    make=lambda parameters, channels: lambda images, draws: unit(images).flip(-2),
)
""",
}
USE = """
import importlib.util, sys
from pathlib import Path

extra, images, runs = map(Path, sys.argv[1:])
for folder in extra.iterdir():
    spec = importlib.util.find_spec(f"trainers.{folder.name}")
    spec.submodule_search_locations.append(str(folder))
    sys.modules[spec.name] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)

import numpy as np
from tests.tiny import tiny_config
from trainers.cli.main import main
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.object_removal.detectors import DETECTORS
from trainers.object_removal.fills import FILLS, paint
from trainers.parameters import Choice
from trainers.retrieval.reranking import RERANKINGS
from trainers.runs import RunFolder

for verb in ("losses", "encoders", "models", "augmentations"):
    assert main([verb]) == 0
own = {"encoder": "extra_encoder", "sampler": "extra_sampler", "augmentation": Choice(name="extra_augmentation")}
config = tiny_config(images, "extra_loss", steps=2, **own)
run = MetricLearningLoop(RunFolder.create(runs, config))
run.advance(60)
run.finish()
assert run.step == 2
scenes, model = "drawn_scenes:train=50,val=20,test=20", "extra_model:width=8"
assert main(["score", "--data", scenes, "--model", model, "--fill", "extra_fill", "--queries", "3"]) == 0
order = RERANKINGS["extra_reranking"].rerank(np.ones(1), np.array([[0.5], [0.2]]), np.array([0.5, 0.2]))
assert order.tolist() == [1, 0]
assert DETECTORS["extra_detector"].build({})(np.zeros((8, 8, 3), np.uint8)).names == ("dog",)
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
    for family, source in FILES.items():
        (tmp_path / "extra" / family).mkdir(parents=True)
        (tmp_path / "extra" / family / "extra.py").write_text(source, encoding="utf-8")
    images, runs = write_images(tmp_path / "images"), tmp_path / "runs"
    command = [sys.executable, "-c", USE, str(tmp_path / "extra"), str(images), str(runs)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    for title in ("Extra loss", "Extra encoder", "Extra model", "Extra augmentation", "ODmAP_at_1"):
        assert title in done.stdout
