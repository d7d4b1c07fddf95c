"""Several processes train what one does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.distributed.double import in_double, trained
from tests.distributed.processes import run
from tests.tiny import write_images
from trainers.config import MAX_ARMS
from trainers.losses import LOSSES


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
@pytest.mark.parametrize("worlds", [(2, 1), (1, 2), (4, 2)])
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
