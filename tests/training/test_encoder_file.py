"""Encoders of real runs: exported, loaded into timm and the registry's encoders, and the start of other runs."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import timm
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

from tests.contracts.test_training import tensors
from tests.tiny import SIDE, opened, tiny_config, tiny_contrastive, to_end
from tests.training.batches import next_batch
from tests.training.reopened import reopened
from trainers.cli.main import main
from trainers.config import RunConfig
from trainers.encoders import ENCODERS, Encoder
from trainers.encoders.norms import replace_norms
from trainers.errors import ParameterError, UserError
from trainers.kinds import check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.plans.config import SweepConfig
from trainers.retrieval.encoders import encoder_of_file
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes
from trainers.training.loop import Loop

MODELS = ("test_resnet", "test_vit")
OWN = {name: Choice(name=name, parameters={"width": 8}) for name in ("conv4", "small_conv")}
TIMM, DEPTHS = (
    {model: Choice(name="timm", parameters={"model": model, "pretrained": False}) for model in models}
    for models in (MODELS, ("resnet18", "resnet34"))
)
FROZEN = Choice(name="timm_frozen", parameters={"model": "test_resnet", "pretrained": False, "hidden": 16})
TRAINED = OWN | TIMM


def metric_learning(images: Path, encoder: Choice, **changes: object) -> RunConfig:
    config = tiny_config(images, "smooth_ap", "supcon_out", steps=3)
    none = {"augmentation": Choice(name="none")} if ENCODERS[encoder.name].frozen else {}
    return dataclasses.replace(config, encoder=encoder, **(none | changes))


def contrastive(images: Path, encoder: Choice, **changes: object) -> RunConfig:
    methods = (Choice(name="moco_v2", parameters={"queue": 8, "momentum": 0.5}), Choice(name="simclr"))
    data = dataclasses.replace(metric_learning(images, encoder).data, held_out="images")
    return tiny_contrastive(images, *methods, **{"data": data, "encoder": encoder, "steps": 3, **changes})


KINDS: dict[str, Callable[..., RunConfig]] = {"metric_learning": metric_learning, "contrastive": contrastive}


def trained(root: Path, config: RunConfig) -> Loop:
    return to_end(opened(root, config))


def begun(root: Path, config: RunConfig) -> Loop:
    """A run with a checkpoint of what it starts with."""
    loop = opened(root, config)
    loop.checkpoint()
    return loop


def encoder_of(loop: Loop, arm: int) -> Encoder:
    return loop.arms[arm].encoder  # type: ignore[attr-defined]


def plain(net: nn.Module) -> nn.Module:
    """For scoring, in the memory layout that a new network has: sums in another order differ in their last bits."""
    return net.eval().to(memory_format=torch.contiguous_format)


def exported(loop: Loop, arm: int, path: Path) -> dict[str, str]:
    words = ["export", loop.folder.id, "--arm", str(arm), "--out", str(path), "--runs", str(loop.folder.path.parent)]
    assert main([*words, "--without-head"]) == 0
    with safe_open(path, framework="pt") as file:
        return file.metadata()


def built(about: dict[str, str]) -> Encoder:
    """The registry's encoder that a file's metadata describe, without head."""
    encoder = json.loads(about["encoder"])
    torch.manual_seed(99)
    net = ENCODERS[encoder["name"]].build(
        channels=int(about["channels"]), side=int(about["side"]), dim=3, parameters=encoder["parameters"]
    )
    net.without_head()
    return net


PIXELS = torch.rand(5, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))


# -------------------------------------------------------------------- export


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OWN)
def test_the_registrys_encoder_takes_the_file(tmp_path: Path, images: Path, kind: str, name: str) -> None:
    loop = trained(tmp_path, KINDS[kind](images, OWN[name]))
    about = exported(loop, 1, tmp_path / "encoder.safetensors")
    assert about["run"] == loop.folder.id and about["arm"] == "1" and about["step"] == str(loop.step)
    assert (about["channels"], about["side"]) == ("3", str(SIDE)) and "norm" not in about
    net = built(about)
    net.load_state_dict(load_file(tmp_path / "encoder.safetensors"))
    source = encoder_of(loop, 1)
    source.without_head()
    assert torch.equal(plain(net)(PIXELS), plain(source)(PIXELS))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", TIMM)
def test_timm_takes_the_file(tmp_path: Path, images: Path, kind: str, model: str) -> None:
    loop = trained(tmp_path, KINDS[kind](images, TIMM[model]))
    about = exported(loop, 0, tmp_path / "encoder.safetensors")
    tensors = load_file(tmp_path / "encoder.safetensors")
    net = timm.create_model(model, num_classes=0)
    net.load_state_dict(tensors)
    registry = built(about)
    registry.backbone.load_state_dict(tensors)
    source = encoder_of(loop, 0)
    source.without_head()
    expected = plain(source)(PIXELS)
    assert torch.equal(plain(registry)(PIXELS), expected)
    pixels = source.normalise(PIXELS)
    if net.pretrained_cfg["fixed_input_size"]:
        side = net.pretrained_cfg["input_size"][-1]
        pixels = nn.functional.interpolate(pixels, size=(side, side), mode="bicubic", antialias=True)
    assert torch.equal(plain(net)(pixels), expected)


def test_frozen_features_are_exported_as_timms(tmp_path: Path, images: Path) -> None:
    loop = trained(tmp_path, metric_learning(images, FROZEN))
    about = exported(loop, 1, tmp_path / "encoder.safetensors")
    net = timm.create_model("test_resnet", num_classes=0)
    net.load_state_dict(load_file(tmp_path / "encoder.safetensors"))
    expected = plain(encoder_of(loop, 1)).features(PIXELS)
    assert torch.equal(plain(net)(built(about).normalise(PIXELS)), expected)


def test_group_normalisation_is_exported_where_it_can_be_loaded(
    tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = trained(tmp_path, contrastive(images, OWN["conv4"], norm="group"))
    about = exported(own, 0, tmp_path / "own.safetensors")
    net = replace_norms(built(about), about["norm"])
    net.load_state_dict(load_file(tmp_path / "own.safetensors"))
    assert torch.equal(plain(net)(PIXELS), plain(encoder_of(own, 0))(PIXELS))
    without = begun(tmp_path, contrastive(images, TIMM["test_vit"], norm="layer"))  # it has no batch normalisation
    exported(without, 0, tmp_path / "vit.safetensors")
    timm.create_model("test_vit", num_classes=0).load_state_dict(load_file(tmp_path / "vit.safetensors"))
    other = begun(tmp_path, contrastive(images, TIMM["test_resnet"], norm="group"))
    words = ("--runs", str(tmp_path), "--out", str(tmp_path / "no.safetensors"))
    said = refused(capsys, other.folder.id, *words, "--without-head")
    assert "group normalisation" in said and "cannot load it" in said and "Leave `--without-head` out" in said
    assert not (tmp_path / "no.safetensors").exists()
    assert main(["export", other.folder.id, *words]) == 0 and "by timm" not in (tmp_path / "no.md").read_text()
    loaded = encoder_of_file(tmp_path / "no.safetensors").network
    assert torch.equal(plain(loaded)(PIXELS), plain(encoder_of(other, 0))(PIXELS))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(["export", *words]) == 1
    said = capsys.readouterr().err
    assert said.startswith("rankscope: ") and said.count("\n") == 1
    return said


def test_the_lines_of_the_documentation_load_the_files(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "contrastive.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    resnet = Choice(name="timm", parameters={"model": "resnet18", "pretrained": False})
    monkeypatch.chdir(tmp_path)
    for example, encoder in zip(examples, (resnet, Choice(name="conv4")), strict=True):
        alike = metric_learning(images, encoder)
        loop = opened(tmp_path, dataclasses.replace(alike, data=dataclasses.replace(alike.data, image_size=32)))
        loop.checkpoint()
        exported(loop, 0, tmp_path / "encoder.safetensors")
        names: dict[str, nn.Module] = {}
        exec(example, names)
        lines = [line for line in example.splitlines() if line and "import " not in line]
        assert 2 <= len(lines) <= 3
        assert names["encoder"].eval()(torch.rand(2, 3, 32, 32)).shape[0] == 2


def test_what_cannot_be_exported_is_refused_in_words(
    tmp_path: Path, images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = opened(tmp_path, metric_learning(images, OWN["conv4"]))
    here = ("--runs", str(tmp_path))
    assert "checkpoint" in refused(capsys, loop.folder.id, *here)
    loop.checkpoint()
    assert "2 arms, counted from 0; got 2" in refused(capsys, loop.folder.id, "--arm", "2", *here)
    assert "got -1" in refused(capsys, loop.folder.id, "--arm", "-1", *here)
    assert "There is no run '../elsewhere'" in refused(capsys, "../elsewhere", *here)
    assert "0" * 26 in refused(capsys, "0" * 26, *here)
    finetuning = RunFolder.create(tmp_path, FinetuningConfig())
    assert "trains no encoder of the catalogue" in refused(capsys, finetuning.id, "--without-head", *here)
    assert "no checkpoint" in refused(capsys, finetuning.id, *here)
    assert "Let it end in .safetensors" in refused(capsys, loop.folder.id, "--out", str(tmp_path / "model.md"), *here)
    (tmp_path / "file").write_text("")
    for place in ("none/encoder.safetensors", "file/encoder.safetensors", ""):
        out = str(tmp_path / place)
        assert f"{out} cannot be written: " in refused(capsys, loop.folder.id, "--out", out, *here)
    for name in ("last", "previous"):
        write_bytes(loop.folder.path / "ckpt" / f"{name}.safetensors", b"no weights")
    assert "checkpoint" in refused(capsys, loop.folder.id, *here)


# --------------------------------------------------------------------- start


def own_part(encoder: Encoder) -> dict[str, torch.Tensor]:
    behind = tuple(f"{name}." for name in type(encoder).behind)
    return {name: value.clone() for name, value in encoder.state_dict().items() if not name.startswith(behind)}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    "name",
    [name if name in ("conv4", "test_resnet") else pytest.param(name, marks=pytest.mark.long) for name in TRAINED],
)
def test_metric_learning_starts_from_a_contrastive_run(tmp_path: Path, images: Path, name: str) -> None:
    source = trained(tmp_path, contrastive(images, TRAINED[name]))
    weights = {arm: own_part(encoder_of(source, arm)) for arm in range(2)}
    assert not same(weights[0], weights[1])
    afresh = opened(tmp_path, metric_learning(images, TRAINED[name]))
    for arm, written in ((0, source.folder.id), (1, f"{source.folder.id}:1")):
        loop = opened(tmp_path, metric_learning(images, TRAINED[name], start=written))
        for index in range(2):
            assert same(own_part(encoder_of(loop, index)), weights[arm])
            head, own = encoder_of(loop, index).head, encoder_of(afresh, index).head
            assert same(dict(head.state_dict()), dict(own.state_dict())), "its head is its own"
        assert f"encoder of run {source.folder.id}, arm {arm}, at step 5" in log(loop)
    while loop.advance(60):
        pass
    assert not same(own_part(encoder_of(loop, 0)), weights[1])


def log(loop: Loop) -> str:
    return (loop.folder.path / "log.txt").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_a_contrastive_run_starts_from_another_run(tmp_path: Path, images: Path, kind: str) -> None:
    source = trained(tmp_path, KINDS[kind](images, OWN["conv4"]))
    loop = opened(tmp_path, contrastive(images, OWN["conv4"], start=source.folder.id, norm="split"))
    weights = own_part(encoder_of(source, 0))
    assert all(same(own_part(encoder_of(loop, arm)), weights) for arm in range(2))
    assert same(own_part(loop.arms[0].method.moco.key_encoder.backbone), weights)  # type: ignore[attr-defined]
    while loop.advance(60):
        pass


def test_frozen_features_of_a_trained_encoder(tmp_path: Path, images: Path) -> None:
    source = trained(tmp_path, contrastive(images, TIMM["test_resnet"]))
    config = metric_learning(images, FROZEN, start=source.folder.id)
    loop = opened(tmp_path, config)
    assert same(own_part(encoder_of(loop, 0)), own_part(encoder_of(source, 0)))
    loop.take_step()
    loop.checkpoint()
    shutil.rmtree(source.folder.path)
    again = kind_of(config).loop()(RunFolder.open(tmp_path, loop.folder.id))
    features, same_features = (next_batch(each).views[0] for each in (loop, again))
    assert torch.equal(same_features, features), "from the run's own checkpoint"


@pytest.mark.parametrize("kind", KINDS)
def test_it_resumes_to_the_same_bits_after_the_first_run_is_gone(tmp_path: Path, images: Path, kind: str) -> None:
    source = trained(tmp_path, contrastive(images, OWN["conv4"]))
    config = KINDS[kind](images, OWN["conv4"], start=source.folder.id, steps=5)
    whole, cut = opened(tmp_path, config), opened(tmp_path, config)
    shutil.rmtree(source.folder.path)
    assert same(*(tensors(to_end(loop)) for loop in (whole, reopened(cut))))


@pytest.mark.parametrize(
    ("kind", "given", "changes", "encoder", "words"),
    [
        ("contrastive", "conv4", {}, Choice(name="conv4", parameters={"width": 16}), "first of them body.0.0.weight"),
        ("contrastive", "conv4", {}, OWN["small_conv"], "is not the one of this run"),
        ("contrastive", "conv4", {}, TIMM["test_resnet"], "is not the one of this run"),
        ("contrastive", "conv4", {"norm": "group"}, OWN["conv4"], "It was trained with group normalisation"),
        # though all that is needed would fit
        ("metric_learning", "resnet34", {"dim": 4}, DEPTHS["resnet18"], "of another shape"),
    ],
    ids=["wider", "another", "timm", "group", "deeper"],
)
def test_another_encoder_is_refused(
    tmp_path: Path, images: Path, kind: str, given: str, changes: dict[str, object], encoder: Choice, words: str
) -> None:
    source = begun(tmp_path, KINDS[kind](images, (OWN | DEPTHS)[given], **changes))
    with pytest.raises(UserError, match=words):
        opened(tmp_path, metric_learning(images, encoder, start=source.folder.id))


def test_a_start_that_is_not_there_is_refused(tmp_path: Path, images: Path) -> None:
    source = opened(tmp_path, contrastive(images, OWN["conv4"]))
    with pytest.raises(UserError, match="checkpoint"):
        opened(tmp_path, metric_learning(images, OWN["conv4"], start=source.folder.id))
    source.checkpoint()
    for written, words in (("0" * 26, "0" * 26), (f"{source.folder.id}:2", "2 arms, counted from 0; got 2")):
        with pytest.raises(UserError, match=words):
            opened(tmp_path, metric_learning(images, OWN["conv4"], start=written))
    finetuning = RunFolder.create(tmp_path, FinetuningConfig())
    with pytest.raises(UserError, match="trains no encoder"):
        opened(tmp_path, metric_learning(images, OWN["conv4"], start=finetuning.id))


@pytest.mark.parametrize(
    "text",
    ["", "..", "../runs", "/tmp/run", "0" * 25, "0" * 27, "O" * 26, f"{'0' * 26}:", f"{'0' * 26}:-1", f"{'0' * 26}:1:1",
     f"{'0' * 26}/..", f"{'0' * 26}:٣", f"{'0' * 26}\n", f" {'0' * 26}"],
)  # fmt: skip
@pytest.mark.parametrize("kind", [MetricLearningConfig, ContrastiveConfig])
def test_only_ids_are_checked_as_a_start(kind: type[RunConfig], text: str) -> None:
    check(kind(start=None))
    check(kind(start="0" * 26))
    check(kind(start=f"{'0' * 26}:3"))
    with pytest.raises(ParameterError, match="A run to start from is written as its id"):
        check(kind(start=text))


def test_seeds_start_from_the_run_of_a_sweep_with_the_same_seed(tmp_path: Path, images: Path) -> None:
    alike = metric_learning(images, OWN["conv4"])
    plan = RunFolder.create(tmp_path, SweepConfig(run=alike, seeds=(3, 5)))
    sources = {}
    for seed in (3, 5):
        part = RunFolder.create(tmp_path, dataclasses.replace(alike, seed=seed), part_of=plan.id)
        sources[seed] = kind_of(part.config).loop()(part)
        sources[seed].checkpoint()
    for seed in (3, 5):
        loop = opened(tmp_path, dataclasses.replace(alike, seed=seed, start=f"{plan.id}:1"))
        assert same(own_part(encoder_of(loop, 0)), own_part(encoder_of(sources[seed], 1)))
        assert f"encoder of run {sources[seed].folder.id}, arm 1" in log(loop)
    with pytest.raises(UserError, match=r"has none with that seed\. Choose a sweep that has this seed"):
        opened(tmp_path, dataclasses.replace(alike, seed=4, start=plan.id))
    RunFolder.create(tmp_path, dataclasses.replace(alike, seed=5), part_of=plan.id)
    with pytest.raises(UserError, match="has 2 with that seed"):
        opened(tmp_path, dataclasses.replace(alike, seed=5, start=plan.id))
