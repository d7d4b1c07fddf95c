"""Losses of every shape train a real run: real images, sampler, encoder, checkpoint, resume; all do in long tests."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tests.equivalence import divided, loop_shape
from tests.tiny import tiny_config, write_images
from tests.training.batches import next_batch
from tests.training.reopened import reopened
from trainers.config import MAX_ARMS
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.losses import LOSSES
from trainers.optimization import OPTIMISERS
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.training.augmentations import AUGMENTATIONS

STEPS, CUT = 5, 3
GALLERY = [name for name, loss in LOSSES.items() if loss.gallery]
VIT = {"model": "test_vit", "pretrained": False, "side": 32, "projection": "pca"}
BACKBONES: dict[str, dict[str, object]] = {
    "timm_frozen": {"hidden": 0, "pooling": "gem"},
    "timm": {"layer_norm": True, "last_blocks": 2, "layer_decay": 0.5, "pooling": "cls"},
}
SETTINGS: dict[str, dict[str, object]] = {
    "chunks": {"chunk": 5},
    "layout": {"channels_last": "off", "chunk": 5},
    **{name: {"encoder": name, "dim": 6, "encoder_parameters": VIT | more} for name, more in BACKBONES.items()},
    **{name: {"optimiser": name, "schedule": "step", "drops": (0.5,), "warm_up": 2} for name in OPTIMISERS},
    **{name: {"augmentation": Choice(name=name)} for name in AUGMENTATIONS},
}
"""Settings with which runs resume, beside those of other tests of this contract."""
# what an optimizer keeps and what an augmentation draws is tested with each by itself
QUICK = ("chunks", "layout", *BACKBONES, "sgd", "lars", "none", "light", "moco_v2", "randaugment")


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("flat"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("tree"), groups=3)


def tensors(run: MetricLearningLoop) -> dict[str, torch.Tensor]:
    return {name: value.clone() for arm in run.arms for name, value in arm.tensors().items()}


def train_cut_and_resume(root: Path, images: Path, *losses: str, **changes: object) -> MetricLearningLoop:
    """Train to the end; then the same from a checkpoint in between, which must give the same to the last bit."""
    whole = MetricLearningLoop(RunFolder.create(root, tiny_config(images, *losses, steps=STEPS, **changes)))
    assert not whole.advance(60) and whole.step == STEPS
    whole.finish()
    values = [scalar.value for scalar in whole.folder.scalars()]
    assert values and all(map(math.isfinite, values))

    broken = MetricLearningLoop(RunFolder.create(root, whole.config))
    start = tensors(broken)
    again = reopened(broken, CUT)
    again.advance(60)
    want, got = tensors(whole), tensors(again)
    assert want.keys() == got.keys() > start.keys()
    assert [name for name in want if not torch.equal(want[name], got[name])] == []
    for arm in range(len(losses)):
        assert any(not torch.equal(start[name], got[name]) for name in start if name.startswith(f"arm{arm}/encoder"))
    return whole


def together(names: list[str]) -> list[list[str]]:
    """As many losses to a run as it takes: they share images, batches and the scoring, not weights or state."""
    return [names[first : first + MAX_ARMS] for first in range(0, len(names), MAX_ARMS)]


def in_turn(names: list[str]) -> pytest.MarkDecorator:
    """Runs of one loss of each shape, and long ones of the others."""
    first, others = divided(names, loop_shape)
    groups = [*together(first), *(pytest.param(group, marks=pytest.mark.long) for group in together(others))]
    return pytest.mark.parametrize("names", groups, ids=lambda names: names[0])


@in_turn([name for name, loss in LOSSES.items() if loss.views == 1])
def test_trains_with_a_label_tree(tmp_path: Path, tree: Path, names: list[str]) -> None:
    check_batches_and_proxies(train_cut_and_resume(tmp_path, tree, *names), names)


@in_turn([name for name, loss in LOSSES.items() if loss.views > 1])
def test_trains_with_views(tmp_path: Path, tree: Path, names: list[str]) -> None:
    check_batches_and_proxies(train_cut_and_resume(tmp_path, tree, *names), names)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in SETTINGS]
)
def test_trains_with_a_setting(tmp_path: Path, flat: Path, name: str) -> None:
    run = train_cut_and_resume(tmp_path, flat, "supcon" if name in AUGMENTATIONS else "contextual", **SETTINGS[name])
    if name in BACKBONES:
        first = MetricLearningLoop(RunFolder.create(tmp_path, run.config)).arms[0].encoder.state_dict()
        after = run.arms[0].encoder.state_dict()
        changed = {key.split(".")[0] for key, value in after.items() if not torch.equal(value, first[key])}
        assert changed == ({"head"} if name == "timm_frozen" else {"head", "backbone"})
    if name in AUGMENTATIONS:
        first, second = next_batch(run).views
        assert torch.equal(first, second) == (name == "none")
    if name in OPTIMISERS:
        assert run.arms[0].optimizer.optimiser.param_groups[0]["lr"] == pytest.approx(run.config.learning_rate * 0.1)


def check_batches_and_proxies(run: MetricLearningLoop, names: list[str]) -> None:
    probe = run.folder.probe()
    assert probe is not None and probe.hierarchy.depth == 2
    batch = next_batch(run)
    assert len(batch.views) == LOSSES[names[0]].views
    counts = batch.labels[:, 0].unique(return_counts=True)[1]
    assert counts.tolist() == [run.config.images_per_class] * run.config.classes_per_batch
    for arm in run.arms:
        assert not arm.descriptor.proxies or arm.loss.proxies.grad is not None


@in_turn([name for name, loss in LOSSES.items() if loss.hierarchy])
def test_a_tree_of_one_level_will_do(tmp_path: Path, flat: Path, names: list[str]) -> None:
    train_cut_and_resume(tmp_path, flat, *names)


@in_turn(GALLERY)
def test_trains_with_a_memory(tmp_path: Path, tree: Path, names: list[str]) -> None:
    run = train_cut_and_resume(tmp_path, tree, *names, memory=40, memory_after=2)
    log = (run.folder.path / "log.txt").read_text()
    for arm in run.arms:
        memory = arm.loss.memory
        assert memory.rows.shape == (40, run.config.width) and memory.labels.shape == (40, 2)
        assert memory.pushed == STEPS * 12 * (2 if arm.descriptor.views > 1 and not arm.loss.loss.queue else 1)
        assert f"memory: {arm.descriptor.title} keeps its last 40 embeddings" in log


def test_the_memory_counts_from_the_step_asked_for(tmp_path: Path, tree: Path) -> None:
    run = MetricLearningLoop(RunFolder.create(tmp_path, tiny_config(tree, "xbm_contrastive", steps=4, memory_after=2)))
    for step in range(4):
        run.take_step()
        run.checkpoint()  # writes the numbers of the step
        written = {scalar.key for scalar in run.folder.scalars() if scalar.step == step + 1}
        assert any(key.startswith("term/memory_") for key in written) == (step >= 2)
