"""Several processes train what one does, and parts of a loss add up to the whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.distributed.double import in_double, trained
from tests.distributed.processes import run, started
from tests.tiny import write_images
from trainers.config import MAX_ARMS
from trainers.losses import LOSSES
from trainers.parameters import specs
from trainers.training.query_shares import part

SHARED = tuple(name for name, entry in LOSSES.items() if entry.own_queries)


@pytest.fixture
def double() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        in_double(patch)
        yield
    torch.set_default_dtype(torch.float32)


def compare(tmp_path: Path, world: int, losses: tuple[str, ...]) -> None:
    images = write_images(tmp_path / "images")
    alone = trained(images, tmp_path / "alone", list(losses))
    run(world, "-m", "tests.distributed.double", str(images), str(tmp_path), *losses)
    for rank in range(world):
        together = load_file(tmp_path / f"{rank}.safetensors")
        assert together.keys() == alone.keys()
        for name, value in alone.items():
            apart = (value - together[name]).abs().max().item()
            assert apart < 1e-9, f"{name} in process {rank}: {apart}"


@pytest.mark.usefixtures("double")
def test_two_processes_train_the_weights_of_one(tmp_path: Path) -> None:
    """A loss with a memory, one with proxies, one with two views of every image."""
    compare(tmp_path, 2, ("contrastive", "proxy_anchor", "supcon_out"))


@pytest.mark.long
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("world", [2, 4])
@pytest.mark.parametrize("first", range(0, len(LOSSES), MAX_ARMS))
def test_every_loss_trains_the_same_weights(tmp_path: Path, world: int, first: int) -> None:
    compare(tmp_path, world, tuple(LOSSES)[first : first + MAX_ARMS])


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("losses", [("happier", "supcon_out")])
def test_processes_that_share_the_queries_train_the_weights_of_one(
    tmp_path: Path, losses: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a batch that is larger than allowed each compares its own rows with all; one loss has proxies, one views."""
    monkeypatch.setenv("SETTINGS", json.dumps({"memory": 0}))
    monkeypatch.setenv("LARGEST", "4")
    compare(tmp_path, 2, losses)


@pytest.mark.long
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("first", range(0, len(SHARED), MAX_ARMS))
def test_every_loss_whose_parts_add_up_trains_the_same_weights(
    tmp_path: Path, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETTINGS", json.dumps({"memory": 0}))
    monkeypatch.setenv("LARGEST", "4")
    compare(tmp_path, 4, SHARED[first : first + MAX_ARMS])


@pytest.mark.parametrize(("loss", "memory"), [("contextual", 0), ("roadmap", 30)])
def test_a_large_batch_is_refused_where_parts_do_not_add_up(
    tmp_path: Path, loss: str, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETTINGS", json.dumps({"memory": memory, "memory_after": 0}))
    images = write_images(tmp_path / "images")
    words = ["-m", "tests.distributed.double", str(images), str(tmp_path), loss]
    with started(2, words, {"LARGEST": "4"}) as processes:
        said = [process.communicate(timeout=120)[0] for process in processes]
    assert all("of a batch of 12 images cannot be shared by processes" in text for text in said)


RESNET = {"encoder": "timm", "encoder_parameters": {"model": "resnet10t", "pretrained": False}}


@pytest.mark.long
@pytest.mark.usefixtures("double")
def test_activations_computed_again_have_the_statistics_of_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETTINGS", json.dumps({**RESNET, "checkpointing": True}))
    compare(tmp_path, 2, ("contrastive",))


@pytest.mark.long
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("worlds", [(2, 1), (1, 2), (4, 2), (2, 4)])
def test_a_run_resumes_in_another_number_of_processes(tmp_path: Path, worlds: tuple[int, int]) -> None:
    images = write_images(tmp_path / "images")
    losses = ("contrastive", "proxy_anchor")
    alone = trained(images, tmp_path / "alone", list(losses))
    first, then = (["-m", "tests.distributed.double", str(images), str(tmp_path), *losses] for _ in worlds)
    run(worlds[0], *first, told={"STOP_AFTER": "7"})
    for rank in range(worlds[0], worlds[1]):
        shutil.copytree(tmp_path / "rank0", tmp_path / f"rank{rank}")
    run(worlds[1], *then)
    for rank in range(worlds[1]):
        together = load_file(tmp_path / f"{rank}.safetensors")
        assert max((value - together[name]).abs().max().item() for name, value in alone.items()) < 1e-9


METHODS = (
    ("moco_v1:queue=20,momentum=0.9,positives=2", "simclr", "end_to_end:shuffle=true", "memory_bank:negatives=30"),
    ("supcon:joint=true", "supcon_queue:queue=20,momentum=0.9", "cross_entropy", "max_margin"),
    ("moco_v2:queue=20,batch=4", 'end_to_end:sharing="separate"'),
)


@pytest.mark.long
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("norm", ["batch", "split"])
@pytest.mark.parametrize("methods", METHODS, ids=lambda methods: methods[0].partition(":")[0])
def test_every_method_trains_the_same_weights(
    tmp_path: Path, methods: tuple[str, ...], norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With batch statistics of the whole batch, and of groups of it that processes have whole, among shuffled keys."""
    monkeypatch.setenv("NORM", norm)
    compare(tmp_path, 2, methods)


LABELS = {
    "equal classes": torch.arange(12).repeat_interleave(4),
    "unequal classes": torch.tensor([c for c, images in enumerate((9, 5, 4, 2, 7, 3, 1, 5)) for _ in range(images)]),
}
TOLERANCE = 1e-9


def variants() -> Iterator[Any]:
    """Every loss with a gallery as it is, and with every other choice of its parameters."""
    for name, entry in LOSSES.items():
        if not entry.gallery:
            continue
        yield pytest.param(name, {}, id=name)
        for spec in specs(entry.parameters):
            for value in (False, True) if spec.type is bool else spec.rule.choices or ():
                if value != spec.default:
                    yield pytest.param(name, {spec.name: value}, id=f"{name}:{spec.name}={value}")


def gradients(name: str, parameters: dict[str, Any], rows: Tensor, labels: Tensor, processes: int) -> list[Tensor]:
    """The loss and its gradients, computed whole, or in the parts of so many processes."""
    entry = LOSSES[name]
    torch.manual_seed(0)
    tree = torch.stack([torch.arange(int(labels.max()) + 1) // 2**level for level in range(3)], 1)
    net = entry.build(num_classes=len(tree), dim=rows.shape[-1], class_labels=tree, **parameters).double()
    rows = rows.clone().requires_grad_()
    levels = tree[labels]
    if processes == 1:
        parts = [net.terms(rows, levels)]
    else:
        parts = [part(net.terms, rows, levels, first, processes) for first in range(processes)]
    loss = torch.stack([term for each in parts for term in each.values()]).sum()
    loss.backward()
    return [loss.detach(), *(each.grad for each in (rows, *net.parameters()) if each.grad is not None)]


def test_a_loss_without_a_gallery_is_not_computed_in_parts() -> None:
    assert all(entry.gallery for entry in LOSSES.values() if entry.own_queries)


@pytest.mark.parametrize(("name", "parameters"), list(variants()))
def test_parts_add_up_where_it_is_said_and_nowhere_else(name: str, parameters: dict[str, Any]) -> None:
    entry = LOSSES[name]
    worst = 0.0
    for labels in LABELS.values():
        shape = (len(labels), entry.views, 8) if entry.views > 1 else (len(labels), 8)
        rows = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        whole = gradients(name, parameters, rows, labels, 1)
        for processes in (2, 4):
            shared = gradients(name, parameters, rows, labels, processes)
            worst = max(worst, *((a - b).abs().max().item() for a, b in zip(whole, shared, strict=True)))
    assert entry.adds_up(entry.checked(parameters)) == (worst < TOLERANCE), f"apart by {worst:.1e}"
