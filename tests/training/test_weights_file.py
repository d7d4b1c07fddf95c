"""Weights that other programs wrote: which names are read, what did not match, what is refused, runs that start so."""

from __future__ import annotations

import argparse
import json
import pickle
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import timm
import torch
import torchvision
from safetensors.torch import save_file
from torch import Tensor, nn

from explorer.page.form.form import Form
from explorer.page.kinds import PAGES
from tests.tiny import opened, tiny_config, to_end
from tests.training.test_encoder_file import OWN, exported, log, own_part, same
from trainers.cli.main import main
from trainers.cluster.packing import packed, unpack
from trainers.config import RunConfig
from trainers.encoders import Encoder
from trainers.errors import ParameterError, UserError
from trainers.kinds import KINDS, check, kind_of
from trainers.kinds.checks import pinned
from trainers.parameters import Choice
from trainers.runs import RunFolder, list_runs
from trainers.training.footprint import unloaded, without_values
from trainers.training.weights_file import WeightsFile, match

State = Mapping[str, Tensor]


def encoder(model: str) -> Encoder:
    torch.manual_seed(5)
    return unloaded(Choice(name="timm", parameters={"model": model}), channels=3, side=160, dim=4)


def behind(front: str, state: State) -> dict[str, Tensor]:
    return {f"{front}{name}": value for name, value in state.items()}


def resnet() -> nn.Module:
    torch.manual_seed(1)
    return torchvision.models.resnet18().eval()


def vit() -> nn.Module:
    torch.manual_seed(1)
    made = torchvision.models.VisionTransformer(
        image_size=160, patch_size=16, num_layers=6, num_heads=2, hidden_dim=64, mlp_dim=192, num_classes=7
    )
    nn.init.normal_(made.class_token)
    return made.eval()


def moco(state: State) -> Any:
    both = behind("module.encoder_q.", state) | behind("module.encoder_k.", {n: -v for n, v in state.items()})
    return {"epoch": 3, "state_dict": both, "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}}}


FORMS: dict[str, tuple[str, Callable[[State], Any], str]] = {
    "plain": (".pth", lambda state: dict(state), ""),
    "parallel": (".pt", lambda state: {"model": behind("module.", state)}, " (in 'model' behind 'module.')"),
    "moco": (".pth.tar", moco, " (in 'state_dict' behind 'module.encoder_q.')"),
    "lightning": (".ckpt", lambda state: {"state_dict": behind("model.backbone.", state), "epoch": 1},
                  " (in 'state_dict' behind 'model.backbone.')"),
    "half": (".safetensors", lambda state: {n: v.half() if v.is_floating_point() else v for n, v in state.items()}, ""),
    "without_counts": (".pt", lambda state: {n: v for n, v in state.items() if "num_batches" not in n}, ""),
}  # fmt: skip


def averaged(state: State) -> dict[str, Tensor]:
    return {name: value + 1 if value.is_floating_point() else value for name, value in state.items()}


def numbered(state: State) -> dict[str, Tensor]:
    """As ``nn.Sequential(*resnet.children())`` has them."""
    children = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "fc")
    parts = {name: name.partition(".") for name in state}
    return {f"{children.index(child)}.{rest}": state[name] for name, (child, _, rest) in parts.items()}


def renumbered(state: State) -> dict[str, Tensor]:
    return {f"tensors.{number}": value for number, value in enumerate(state.values())}


AVERAGE = "the average over the steps is taken, with which its authors evaluate"
NETWORKS: dict[str, tuple[Callable[[State], Any], str, str, float]] = {
    "timm": (
        lambda s: {"state_dict": dict(s), "state_dict_ema": averaged(s), "args": argparse.Namespace(lr=0.1)},
        "in 'state_dict_ema'", f"match in 'state_dict' (w.pt:state_dict), which is not taken; {AVERAGE}", 2),
    "timm:state_dict": (lambda s: {"state_dict": dict(s), "state_dict_ema": averaged(s)}, "in 'state_dict'", "", 1),
    "torchvision": (
        lambda s: {"model": dict(s), "args": argparse.Namespace(path=Path("out"), rate=np.float64(0.1)),
                   "model_ema": behind("module.", averaged(s)) | {"n_averaged": torch.tensor(3)}},
        "in 'model_ema' behind 'module.'", f"as many match in 'model' (w.pt:model), which is not taken; {AVERAGE}", 2),
    "dino": (
        lambda s: {"student": behind("module.backbone.", s), "teacher": behind("backbone.", averaged(s)),
                   "args": argparse.Namespace(output_dir=Path("out")), "epoch": 100},
        "in 'teacher' behind 'backbone.'", "in 'student' behind 'module.backbone.' (w.pt:student)", 2),
    "dino:student": (
        lambda s: {"student": behind("module.backbone.", s), "teacher": behind("backbone.", averaged(s))},
        "in 'student' behind 'module.backbone.'", "", 1),
    "lightly": (
        lambda s: {"state_dict": behind("teacher_backbone.", averaged(s)) | behind("student_backbone.", s)},
        "in 'state_dict' behind 'teacher_backbone.'", "(w.pt:student_backbone)", 2),
    "supcontrast": (
        lambda s: {"opt": argparse.Namespace(best=np.arange(3)), "model": behind("encoder.module.", s)},
        "in 'model' behind 'encoder.module.'", "", 1),
    "byol": (lambda s: {"target_encoder": averaged(s), "online_encoder": dict(s)},
             "in 'online_encoder'", "match in 'target_encoder' (w.pt:target_encoder), which is not taken", 1),
    "lightning": (
        lambda s: {"state_dict": behind("model.body.0.", s), "hyper_parameters": defaultdict(int, a=1)},
        "in 'state_dict' behind 'model.body.0.'", "", 1),
    "deepspeed": (lambda s: {"module": behind("_forward_module.extractor.", s), "args": deque([Path("x")])},
                  "in 'module' behind '_forward_module.extractor.'", "", 1),
    "sequential": (lambda s: behind("backbone.", numbered(s)),
                   "behind 'backbone.', children of a Sequential, matched by order and shape", "", 1),
    "without_head": (lambda s: numbered({n: v for n, v in s.items() if not n.startswith("fc.")}),
                     "children of a Sequential, matched by order and shape", "", 1),
    "pair": (lambda s: ("resnet18", dict(s)), "in '1'", "", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", NETWORKS)
def test_of_several_networks_one_is_taken_and_it_is_said_which(tmp_path: Path, case: str) -> None:
    make, place, told, mean = NETWORKS[case]
    torch.save(make(resnet().state_dict()), tmp_path / "w.pt")
    file = WeightsFile.of(":".join([str(tmp_path / "w.pt"), *case.split(":")[1:]]))
    found = match(encoder("resnet18"), file.noted())
    assert found.summary == f"100 of the encoder's 100 tensors are in the file ({place})"
    lines = [line for line in found.lines() if not line.startswith("in the file and not used")]
    assert told in "".join(lines) and bool(told) == bool(lines)
    assert found.tensors["backbone.layer1.0.bn1.weight"].mean() == mean
    assert WeightsFile.of(str(file.noted())) == file.noted()


def test_what_timms_training_saves_is_read(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = timm.create_model("resnet18")
    ema = timm.utils.ModelEmaV3(model, decay=0.5)
    for weight in model.parameters():
        weight.data.add_(1)
    ema.update(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    given = argparse.Namespace(model="resnet18", output=Path("out"))
    saver = timm.utils.CheckpointSaver(model, optimizer, args=given, model_ema=ema, checkpoint_dir=str(tmp_path))
    saver.save_checkpoint(3, metric=np.float64(71.5))
    found = match(encoder("resnet18"), WeightsFile.of(str(tmp_path / "last.pth.tar")).noted())
    assert found.place == "in 'state_dict_ema'" and found.count == 100
    torch.testing.assert_close(found.tensors["backbone.conv1.weight"], model.conv1.weight.data - 0.5)


def test_what_lightning_saves_is_read(tmp_path: Path) -> None:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self, args: argparse.Namespace) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.extractor = resnet()

    trainer = lightning.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, default_root_dir=tmp_path)
    trainer.strategy.connect(Module(argparse.Namespace(rate=np.float32(0.1), folder=Path("images"))))
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    found = match(encoder("resnet18"), WeightsFile.of(str(tmp_path / "last.ckpt")).noted())
    assert found.place == "in 'state_dict' behind 'extractor.'" and found.count == 100


class Around(Encoder):
    """A model as an encoder has it."""

    wraps = "backbone"

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__((0.0,), (1.0,))
        self.backbone = backbone


def of_transformers(kind: str) -> tuple[nn.Module, nn.Module]:
    """A small model of transformers, and the same of timm with other weights."""
    import transformers as hf
    from timm.models import convnext, resnet, swin_transformer, vision_transformer

    tokens: Any = {"image_size": 32, "patch_size": 8, "num_hidden_layers": 2, "hidden_size": 32}
    heads: Any = {"num_attention_heads": 2}
    own: Any = {"img_size": 32, "patch_size": 8, "depth": 2, "embed_dim": 32, "num_heads": 2, "num_classes": 0}
    if kind == "vit":
        vit = hf.ViTModel(hf.ViTConfig(**tokens, **heads, intermediate_size=64))
        return vit, vision_transformer.VisionTransformer(**own, mlp_ratio=2)
    if kind == "dinov2":
        dino = hf.Dinov2Model(hf.Dinov2Config(**tokens, **heads, mlp_ratio=2))
        return dino, vision_transformer.VisionTransformer(**own, mlp_ratio=2, init_values=1.0)
    if kind == "swin":
        about: Any = {"embed_dim": 16, "patch_size": 2, "num_heads": (2, 4)}
        swin = hf.SwinModel(hf.SwinConfig(**about, depths=(2, 2), image_size=32, window_size=4))
        timms = swin_transformer.SwinTransformer(**about, depths=(2, 2), img_size=32, window_size=4, num_classes=0)
        return swin, timms
    if kind == "convnext":
        wide: Any = {"depths": (1, 1, 1, 1)}
        next_ = hf.ConvNextModel(hf.ConvNextConfig(hidden_sizes=[8, 16, 24, 32], **wide))
        return next_, convnext.ConvNeXt(dims=(8, 16, 24, 32), num_classes=0, **wide)
    basic = hf.ResNetConfig(embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[1] * 4, layer_type="basic")
    return hf.ResNetModel(basic), resnet.ResNet(resnet.BasicBlock, (1, 1, 1, 1), num_classes=0)


@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize("kind", ["vit", "dinov2", "swin", "convnext", "resnet"])
def test_what_transformers_saves_becomes_timms(tmp_path: Path, kind: str, shards: bool) -> None:
    torch.manual_seed(1)
    theirs, timms = of_transformers(kind)
    for value in theirs.state_dict().values():
        if value.is_floating_point():
            value.add_(torch.rand_like(value), alpha=0.1)
    theirs.eval().save_pretrained(tmp_path, max_shard_size="20KB" if shards else "1GB")  # type: ignore[operator]
    name = min(path.name for path in tmp_path.glob("model*")) if shards else "model.safetensors"
    file = WeightsFile.of(str(tmp_path / name)).noted()
    assert file.path.name == ("model.safetensors.index.json" if shards else name)
    found = match(Around(timms), file)
    assert found.how.startswith("names of transformers") and found.count == found.wanted
    Around(timms).load_state_dict(found.tensors, strict=False)
    pixels = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        given = theirs(pixels)
        wanted = given.last_hidden_state[:, 0] if kind in ("vit", "dinov2") else given.pooler_output.flatten(1)
        torch.testing.assert_close(timms.eval()(pixels), wanted, rtol=1e-3, atol=1e-4)


def test_an_index_that_names_files_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.bin.index.json").write_text(json.dumps({"weight_map": {"a": "../b.bin"}}))
    with pytest.raises(UserError, match="is no index of files of weights: it names no files beside it"):
        WeightsFile.of(str(tmp_path / "a.bin.index.json")).noted()


def written(path: Path, content: Any) -> WeightsFile:
    if path.suffix == ".safetensors":
        save_file({name: value.contiguous() for name, value in content.items()}, path)
    else:
        torch.save(content, path)
    return WeightsFile.of(str(path)).noted()


@pytest.mark.parametrize("form", FORMS)
def test_a_resnet_of_torchvision_becomes_timms(tmp_path: Path, form: str) -> None:
    theirs, mine = resnet(), encoder("resnet18")
    suffix, wrap, how = FORMS[form]
    found = match(mine, written(tmp_path / f"weights{suffix}", wrap(theirs.state_dict())))
    assert found.summary == f"100 of the encoder's 100 tensors are in the file{how}"
    assert (found.missing, found.misshapen) == ((), ())
    assert {name.rpartition("fc.")[2] for name in found.unused} >= {"weight", "bias"}
    assert len(found.unused) == (2 + len(theirs.state_dict()) if form == "moco" else 2)
    mine.load_state_dict(found.tensors, strict=False)
    theirs.fc = nn.Identity()
    pixels = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    apart = (mine.eval().backbone(pixels) - theirs(pixels)).abs().max()  # type: ignore[operator]
    assert apart < (1e-2 if form == "half" else 1e-5)


def test_a_vision_transformer_of_torchvision_becomes_timms(tmp_path: Path) -> None:
    theirs, mine = vit(), encoder("test_vit")
    found = match(mine, written(tmp_path / "vit.pth", theirs.state_dict()))
    assert found.how == "names of torchvision" and found.count == found.wanted and len(found.unused) == 2
    mine.load_state_dict(found.tensors, strict=False)
    theirs.heads = nn.Identity()
    pixels = torch.rand(2, 3, 160, 160, generator=torch.Generator().manual_seed(0))
    assert (mine.eval().backbone(pixels) - theirs(pixels)).abs().max() < 1e-4  # type: ignore[operator]


def test_the_image_tower_of_open_clip_becomes_timms(tmp_path: Path) -> None:
    with torch.device("meta"):
        whole = open_clip.CLIP(**open_clip.get_model_config("ViT-B-32"))
    state = {name: torch.zeros(()).expand(value.shape) for name, value in whole.state_dict().items()}  # a small file
    chosen = Choice(name="timm", parameters={"model": "vit_base_patch32_clip_224.openai"})
    found = match(without_values(chosen, channels=3, side=224, dim=4), written(tmp_path / "clip.pt", state))
    assert found.how.startswith("converted by timm") and found.count == found.wanted


@pytest.mark.parametrize("head", [True, False])
@pytest.mark.parametrize("name", ["conv4", "small_conv"])
def test_what_this_program_exports_is_taken(tmp_path: Path, images: Path, name: str, head: bool) -> None:
    source = to_end(opened(tmp_path, tiny_config(images, "smooth_ap", "supcon_out", steps=2, encoder=name)))
    file = tmp_path / "weights.safetensors"
    if head:
        assert main(["export", source.folder.id, "--arm", "1", "--out", str(file), "--runs", str(tmp_path)]) == 0
    else:
        exported(source, 1, file)
    config = tiny_config(images, "smooth_ap", steps=2, encoder=name, weights=str(file))
    loop = opened(tmp_path, config)
    assert same(own_part(loop.arms[0].encoder), own_part(source.arms[1].encoder))  # type: ignore[attr-defined]
    assert ("in the file and not used: " in log(loop)) == ("head.weight" in log(loop)) == head


class Evil:
    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.place,)


def _nan(state: State) -> State:
    return {name: value * torch.nan if value.is_floating_point() else value for name, value in state.items()}


NOT_PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "sparse": lambda value: value.to_sparse(),
    "meta": lambda value: value.to("meta"),
    "quantized": lambda value: torch.quantize_per_tensor(value, 0.1, 0, torch.qint8),
    "complex": lambda value: value.to(torch.complex64),
    "nested": lambda value: torch.nested.nested_tensor([value]),
}


def _with(made: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """A network whose weights of rank 4, a fifth of all, are not plain."""
    return {name: made(value) if value.dim() == 4 else value for name, value in resnet().state_dict().items()}


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "another": (lambda p: torch.save(vit().state_dict(), p), "is not of this encoder: 0 of the encoder's 100 tensors"),
    "half_of_it": (lambda p: torch.save(dict([*resnet().state_dict().items()][:60]), p), "and 90% are needed; not in"),
    "whole_network": (lambda p: torch.save(resnet(), p), r"holds more than tensors \(torchvision.*c.state_dict\(\)"),
    "script": (lambda p: torch.jit.save(torch.jit.script(nn.Linear(2, 2)), p), r"TorchScript.*torch.jit.load\("),
    "code": (lambda p: torch.save({"a": Evil(p.with_name("ran"))}, p), r"holds more than tensors \(.*getattr"),
    "earlier": (lambda p: torch.save({"a": Evil(p)}, p, _use_new_zipfile_serialization=False), r"tensors \(getattr\)"),
    "renamed": (lambda p: torch.save(renumbered(resnet().state_dict()), p),
                "has tensors of this encoder's shapes under names that are not known here: tensors.0, .*conv1.weight"),
    "pickle": (lambda p: p.write_bytes(pickle.dumps(Evil(p.with_name("ran")))), "holds more than tensors"),
    "garbage": (lambda p: p.write_bytes(b"weights"), "holds more than tensors, or is damaged"),
    "no_tensors": (lambda p: torch.save({"epoch": 3}, p), "no dictionary of tensors by name"),
    **{kind: (lambda p, made=made: torch.save(_with(made), p), "not in the file as dense real numbers.*: conv1.weight")
       for kind, made in NOT_PLAIN.items()},
    "nan": (lambda p: torch.save(_nan(resnet().state_dict()), p), r"numbers that are none \(NaN or infinite\)"),
    "not_there": (lambda p: None, "cannot be read: No such file"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")  # of torch, of kinds of tensors that it is about to change
@pytest.mark.filterwarnings("ignore:`torch.jit")  # files of it are about
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_such_file_is_refused_in_a_sentence(tmp_path: Path, case: str) -> None:
    make, words = REFUSED[case]
    path = tmp_path / "weights.pt"
    make(path)
    with pytest.raises(UserError, match=words):
        match(encoder("resnet18"), WeightsFile.of(str(path)).noted())
    assert not (tmp_path / "ran").exists(), "nothing of it is run"


def test_what_did_not_match_is_listed(tmp_path: Path) -> None:
    state = dict(resnet().state_dict())
    state["conv1.weight"] = torch.zeros(64, 1, 7, 7)
    del state["layer4.1.bn2.bias"]
    found = match(encoder("resnet18"), written(tmp_path / "weights.pt", {"student": state, "teacher": dict(state)}))
    assert found.summary == "98 of the encoder's 100 tensors are in the file (in 'teacher')"
    assert found.lines() == [
        "not in the file as dense real numbers, so they begin untrained: layer4.1.bn2.bias",
        "of another shape in the file, likewise: conv1.weight [64, 1, 7, 7] for [64, 3, 7, 7]",
        "in the file and not used: fc.weight, fc.bias",
        f"as many match in 'student' (weights.pt:student), which is not taken; {AVERAGE}",
    ]


# ---------------------------------------------------------------- runs


def of_file(images: Path, file: Path, **changes: object) -> RunConfig:
    return tiny_config(images, "smooth_ap", steps=3, weights=str(file), **changes)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(3)
    state = unloaded(OWN["conv4"], channels=3, side=24, dim=2).state_dict()
    torch.save({"state_dict": behind("module.", state)}, tmp_path / "weights.pt")
    return tmp_path / "weights.pt"


def test_a_run_by_command_starts_from_a_file_and_says_what_matched(
    tmp_path: Path, images: Path, weights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "--encoder conv4:width=8 --image-size 24 --dim 8 --classes-per-batch 4 --images-per-class 3 --steps 2"
    words = ["--losses", "smooth_ap", *small.split(), "--weights", str(weights), "--runs", str(tmp_path / "runs")]
    assert main(["train", "--data", str(images), *words, "--device", "cpu"]) == 0
    said = capsys.readouterr().err
    (folder,) = list_runs(tmp_path / "runs")
    told = (folder.path / "log.txt").read_text()
    for text in (said, told):
        assert "20 of the encoder's 20 tensors are in the file (in 'state_dict' behind 'module.')" in text
        assert "in the file and not used: module.head.weight" in text
    kept = folder.config.single.weights  # type: ignore[attr-defined]
    assert kept == str(WeightsFile.of(str(weights)).noted()) and kept.startswith(f"{weights}@")
    assert main(["train", "--data", str(images), *words, "--device", "cpu", "--start", folder.id]) == 1
    assert "from a run or from a file of weights; got both" in capsys.readouterr().err


def test_a_changed_file_is_noticed(tmp_path: Path, images: Path, weights: Path) -> None:
    config = pinned(of_file(images, weights))
    loop = opened(tmp_path, config)
    given = {name: value for name, value in own_part(loop.arms[0].encoder).items()}  # type: ignore[attr-defined]
    begun = RunFolder.create(tmp_path, config)
    loop.checkpoint()
    torch.save({"other": torch.zeros(3)}, weights)
    with pytest.raises(UserError, match=r"have changed: their sha256 begins with .* Put that file back"):
        kind_of(config).loop()(begun)
    again = kind_of(config).loop()(RunFolder.open(tmp_path, loop.folder.id))
    assert same(own_part(again.arms[0].encoder), given), "from its checkpoint"  # type: ignore[attr-defined]
    assert "the run goes on from its checkpoint" in log(again) and "have changed" in log(again)


def test_a_run_on_another_machine_has_its_file(tmp_path: Path, images: Path, weights: Path) -> None:
    folder = RunFolder.create(tmp_path, pinned(of_file(images, weights)))
    here = kind_of(folder.config).loop()(folder)
    sent = packed(RunFolder.create(tmp_path, folder.config, run_id="0" * 25 + "1"))
    weights.unlink()
    unpack(sent, tmp_path / "elsewhere")
    there = kind_of(folder.config).loop()(RunFolder.open(tmp_path / "elsewhere", "0" * 25 + "1"))
    assert same(own_part(there.arms[0].encoder), own_part(here.arms[0].encoder))  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["metric_learning", "contrastive", "finetuning"])
def test_the_form_offers_it_where_no_strangers_are(kind: str) -> None:
    own, public = (Form(kind=KINDS[kind], page=PAGES[kind], public=public) for public in (False, True))
    assert "weights" in own.names and "weights" not in public.names


def test_bad_settings_are_refused(tmp_path: Path, images: Path) -> None:
    file = written(tmp_path / "w.pt", {"teacher": resnet().state_dict()})
    with pytest.raises(UserError, match=r"no network behind the name 'ema'. This encoder is in 'teacher'"):
        match(encoder("resnet18"), WeightsFile.of(f"{file.path}:ema"))
    with pytest.raises(ParameterError, match=r"ends in \.safetensors, \.pt"):
        check(of_file(images, tmp_path / "weights.onnx"))
    with pytest.raises(ParameterError, match="cannot start from a file of weights: its image tower"):
        check(KINDS["finetuning"].configured({"weights": "a.pt"}))
