"""Fine-tuning that starts from the encoder of a run: real short runs, what they copy, and what is refused."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.finetuning.world import SIDE, mend_config
from tests.tiny import opened, tiny_config, tiny_contrastive, to_end, write_images
from trainers.cli.main import main
from trainers.config import DataChoice, RunConfig
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError, UserError
from trainers.image_text.models import MODELS
from trainers.kinds import check, kind_of
from trainers.parameters import Choice
from trainers.retrieval.encoders import encoders_of_run
from trainers.runs import RunFolder
from trainers.runs.identity import read_config
from trainers.training.encoder_file import RunEncoders
from trainers.training.loop import Loop

SMALL = Choice(name="conv4", parameters={"width": 8})
RESNET = Choice(name="timm", parameters={"model": "test_resnet", "pretrained": False})
WRITTEN = {"conv4:width=8": SMALL, "timm:model=test_resnet;pretrained=false": RESNET}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("images") / "made", train=4, test=3, each=6)


def towers(photos: Path, written: str = "conv4:width=8", **changes: object) -> RunConfig:
    model = Choice(name="two_towers", parameters={"encoder": written, "dim": 16})
    return mend_config(photos, {"removed": False}, {}, model=model, **changes)


def pretraining(images: Path, encoder: Choice, **changes: object) -> RunConfig:
    methods = (Choice(name="simclr"), Choice(name="moco_v2", parameters={"queue": 8, "momentum": 0.5}))
    data = DataChoice(source=str(images), image_size=SIDE, held_out="images")
    return tiny_contrastive(images, *methods, **{"data": data, "encoder": encoder, "head_steps": 0, **changes})


def weights(loop: Loop, arm: int) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in loop.arms[arm].model.state_dict().items()}  # type: ignore[attr-defined]


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def tower(all_: dict[str, torch.Tensor], *, own: bool) -> dict[str, torch.Tensor]:
    return {name.removeprefix("encoder."): x for name, x in all_.items() if name.startswith("encoder.") == own}


@pytest.mark.parametrize(
    "written", [name if name.startswith("conv4") else pytest.param(name, marks=pytest.mark.long) for name in WRITTEN]
)
def test_it_starts_from_a_contrastive_run_and_resumes_without_it(
    tmp_path: Path, photos: Path, images: Path, written: str
) -> None:
    source = to_end(opened(tmp_path, pretraining(images, WRITTEN[written])))
    given = RunEncoders(source.folder).tensors(1)
    config = towers(photos, written, start=f"{source.folder.id}:1", steps=4)
    assert read_config(config.to_json()) == config
    whole, cut, afresh = (opened(tmp_path, one) for one in (config, config, towers(photos, written)))
    for arm in range(2):
        assert same(tower(weights(whole, arm), own=True), given)
        rest, own = (tower(weights(loop, arm), own=False) for loop in (whole, afresh))
        assert same(rest, own), "projection, text tower and temperature are its own"
    assert not same(tower(weights(afresh, 0), own=True), given)
    log = (whole.folder.path / "log.txt").read_text()
    assert f"encoder of run {source.folder.id}, arm 1, at step 2" in log
    cut.take_step()
    cut.checkpoint()
    shutil.rmtree(source.folder.path)
    again = kind_of(config).loop()(RunFolder.open(tmp_path, cut.folder.id))
    assert again.step == 1
    for loop in (whole, again):
        to_end(loop)
    assert not same(tower(weights(whole, 0), own=True), given)
    assert all(same(weights(whole, arm), weights(again, arm)) for arm in range(2))


def test_it_starts_from_metric_learning_and_from_fine_tuning(tmp_path: Path, photos: Path, images: Path) -> None:
    alike = tiny_config(images, "smooth_ap", steps=2)
    metric = dataclasses.replace(alike, encoder=SMALL, data=dataclasses.replace(alike.data, image_size=SIDE))
    first = to_end(opened(tmp_path, metric))
    second = to_end(opened(tmp_path, towers(photos, start=first.folder.id)))
    third = opened(tmp_path, towers(photos, start=f"{second.folder.id}:1"))
    assert same(tower(weights(third, 0), own=True), tower(weights(second, 1), own=True))
    fourth = opened(tmp_path, dataclasses.replace(metric, start=f"{second.folder.id}:1"))
    own = tower(weights(second, 1), own=True)
    found = {name: x for name, x in fourth.arms[0].encoder.state_dict().items() if name in own}  # type: ignore[attr-defined]
    assert same(found, own)


def test_its_image_tower_is_exported(tmp_path: Path, photos: Path) -> None:
    loop = to_end(opened(tmp_path, towers(photos)))
    file = tmp_path / "encoder.safetensors"
    assert (
        main(["export", loop.folder.id, "--arm", "1", "--out", str(file), "--without-head", "--runs", str(tmp_path)])
        == 0
    )
    net = ENCODERS["conv4"].build(channels=3, side=SIDE, dim=3, parameters={"width": 8})
    net.without_head()
    net.load_state_dict(load_file(file))
    pixels, model = torch.rand(4, 3, SIDE, SIDE), encoders_of_run(loop.folder).read(1).network
    assert torch.equal(model.projection(net.eval()(pixels)), model.image_features(pixels))


def test_another_encoder_is_refused(tmp_path: Path, photos: Path, images: Path) -> None:
    source = opened(tmp_path, pretraining(images, SMALL))
    source.checkpoint()
    for other in ("conv4", "small_conv:width=8", "timm:model=test_resnet;pretrained=false"):
        with pytest.raises(UserError, match=r"is not the one of this run: .* Choose the same encoder"):
            opened(tmp_path, towers(photos, other, start=source.folder.id))
    group = opened(tmp_path, pretraining(images, SMALL, norm="group"))
    group.checkpoint()
    with pytest.raises(UserError, match="It was trained with group normalisation"):
        opened(tmp_path, towers(photos, start=group.folder.id))


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model.encoder is None])
def test_a_model_with_another_image_tower_takes_no_start(photos: Path, name: str) -> None:
    config = mend_config(photos, model=Choice(name=name), start="0" * 26)
    assert config.encoder_prefix == ""
    with pytest.raises(ParameterError, match=r"cannot start from the encoder of a run.*this one can: two_towers\."):
        check(config)


def test_the_flag_is_that_of_other_kinds(tmp_path: Path, photos: Path, images: Path) -> None:
    source = to_end(opened(tmp_path, pretraining(images, SMALL)))
    words = ["finetune", "--data", str(photos), "--model", "two_towers:conv4:width=8,dim=16", "--steps", "1"]
    words += ["--batch", "8", "--threads", "1", "--runs", str(tmp_path)]
    assert main([*words, "--start", f"{source.folder.id}:1"]) == 0
    assert main([*words, "--start", source.folder.id, "--model", "vsepp"]) == 1
