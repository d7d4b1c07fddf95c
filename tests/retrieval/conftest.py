"""Runs of a few steps on real files, shared by the tests of retrieval."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.finetuning.world import mend_config, write_coco
from tests.tiny import tiny_config, tiny_contrastive, write_images
from trainers.config import DataChoice
from trainers.kinds import kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder


def trained(root: Path, config: object) -> RunFolder:
    """A run, trained to its end."""
    folder = RunFolder.create(root, config)  # type: ignore[arg-type]
    loop = kind_of(folder.config).loop()(folder)
    loop.advance(60)
    loop.finish()
    return folder


def contrastive_config(images: Path, **changes: object) -> ContrastiveConfig:
    """Two methods on the images of :func:`tests.tiny.write_images`, for three steps."""
    data = DataChoice(source=str(images), image_size=24, held_out="images")
    few = {"data": data, "batch": 16, "steps": 3, "head_steps": 1, "probe_size": 30}
    methods = (Choice(name="simclr"), Choice(name="moco_v2", parameters={"queue": 16}))
    return tiny_contrastive(images, *methods, **(few | changes))


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight training and six test classes in two groups."""
    return write_images(tmp_path_factory.mktemp("images"), groups=2)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, images: Path) -> RunFolder:
    """A run of two losses. Nothing may be written to it."""
    return trained(tmp_path_factory.mktemp("runs"), tiny_config(images, snapshot_steps=3))


@pytest.fixture
def copy(run: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy of the run, which may be changed."""
    return RunFolder(Path(shutil.copytree(run.path, tmp_path / run.id)))


@pytest.fixture(scope="session")
def contrastive_run(run: RunFolder, images: Path) -> RunFolder:
    """A run of two methods, beside it."""
    return trained(run.path.parent, contrastive_config(images))


@pytest.fixture(scope="session")
def finetuned(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A fine-tuning of two recipes on photographs with boxes."""
    home = tmp_path_factory.mktemp("finetuned")
    return trained(home / "runs", mend_config(write_coco(home / "coco"), {"removed": False}, {}))


@pytest.fixture(scope="session")
def pots(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """One loss on the drawn pots, whose objects are known to the pixel."""
    home = tmp_path_factory.mktemp("pots")
    data = DataChoice(source="drawn", image_size=16, max_images=960, held_out="images")
    return trained(home / "runs", tiny_config(home, "smooth_ap", data=data, steps=2, snapshot_steps=2))
