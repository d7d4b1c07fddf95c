"""Encoders compiled, or with less memory: the numbers of the plain ones, to the bit or within rounding."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch._dynamo.utils import counters

from tests.contracts.test_training import tensors
from tests.finetuning.world import mend_config
from tests.tiny import opened, tiny_config, tiny_contrastive, to_end
from tests.training.reopened import reopened
from tests.training.test_precision import apart
from trainers.config import Config, RunConfig
from trainers.encoders import ENCODERS, Encoder
from trainers.errors import UserError
from trainers.kinds import check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.training.compiling import compile_encoders
from trainers.training.embedding import folded
from trainers.training.loop import COMPILING
from trainers.training.memory import checkpointed, computed_again, encode_in_chunks

CONV4 = Choice(name="conv4", parameters={"width": 8})
RESNET = Choice(name="timm", parameters={"model": "resnet18", "pretrained": False})
VIT = Choice(name="timm", parameters={"model": "vit_tiny_patch16_224", "pretrained": False, "side": 32})
SIDE, DIM = 32, 8
ROOT = Path(__file__).resolve().parents[2]
traced = torch.compile
pytestmark = pytest.mark.filterwarnings(  # torch forgets what it compiled
    "ignore:Exception ignored in.*WeakIdKeyDictionary:pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture
def without_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoders are traced and differentiated as ever, and torch's own kernels compute: that takes seconds."""
    monkeypatch.setattr(torch, "compile", lambda function, **_options: traced(function, backend="aot_eager"))
    torch._dynamo.reset()
    counters.clear()


def built(encoder: Choice, *, compiled: bool, dtype: torch.dtype = torch.float32, chunk: int | None = None) -> Encoder:
    torch.manual_seed(0)
    net = ENCODERS[encoder.name].build(channels=3, side=SIDE, dim=DIM, parameters=encoder.parameters)
    net = net.to(dtype).to(memory_format=torch.channels_last).train()
    if compiled:
        compile_encoders(net)
    encode_in_chunks(net, chunk)
    return net


def stepped(net: Encoder, images: int = 16, *, fewer: bool = False) -> list[Tensor]:
    """The gradient of a batch."""
    dtype = next(net.parameters()).dtype
    again = checkpointed(net) if fewer else []
    net.zero_grad()
    batch = torch.rand(images, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1)).to(dtype)
    out = net(batch.contiguous(memory_format=torch.channels_last))
    with computed_again(again):
        (out * torch.linspace(-1, 1, out.numel(), dtype=dtype).reshape(out.shape)).sum().backward()
    return [weight.grad.double() for weight in net.parameters() if weight.grad is not None]


def versions() -> int:
    return counters["stats"]["unique_graphs"]


def length(values: list[Tensor]) -> float:
    return torch.cat([value.flatten() for value in values]).norm().item()


def from_exact(encoder: Choice, *, chunk: int | None = None, fewer: bool = False) -> tuple[float, float]:
    """How far the gradients of the plain and of the compiled encoder are from that in float64, as shares of it."""
    exact = stepped(built(encoder, compiled=False, dtype=torch.float64, chunk=chunk))
    away = []
    for compiled in (False, True):
        grads = stepped(built(encoder, compiled=compiled, chunk=chunk), fewer=fewer)
        away.append(length([one - other for one, other in zip(grads, exact, strict=True)]) / length(exact))
    return away[0], away[1]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("chunk", [None, 6])
@pytest.mark.parametrize("encoder", [CONV4, VIT], ids=["conv4", "vit"])
def test_compiled_gradients_are_as_close_to_float64_as_plain_ones(encoder: Choice, chunk: int | None) -> None:
    plain, compiled = from_exact(encoder, chunk=chunk)
    assert 0 < compiled < 3 * plain < 1e-4


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("without_code")
@pytest.mark.parametrize("encoder", [RESNET, VIT], ids=["batch statistics", "layer normalisation"])
def test_activations_are_computed_again_in_compiled_encoders(encoder: Choice) -> None:
    plain, compiled = from_exact(encoder, fewer=True)
    assert versions() and 0 < compiled < 3 * plain < 1e-3


@pytest.mark.usefixtures("without_code")
@pytest.mark.parametrize("chunk", [pytest.param(None, marks=pytest.mark.long), 6])
def test_batches_of_all_sizes_are_compiled_once_and_evaluation_never(chunk: int | None) -> None:
    """For 16 images and more and for fewer, as torch convolves them; of chunks without a gradient and with it."""
    net = built(CONV4, compiled=True, chunk=chunk)
    stepped(net, 16)
    stepped(net, 15)
    known = versions()
    assert known == 2
    for images in (14, 13, 11, 9, 16):
        stepped(net, images)
    stepped(built(CONV4, compiled=True, chunk=chunk), 12)  # another arm
    twin, plain = folded(net), built(CONV4, compiled=False)
    assert not twin.training and twin(torch.rand(3, 3, SIDE, SIDE)).shape == (3, DIM)
    assert versions() == known
    assert list(net.state_dict()) == list(plain.state_dict())


@pytest.mark.usefixtures("without_code")
@pytest.mark.parametrize("kind", ["metric learning", pytest.param("momentum encoder", marks=pytest.mark.long)])
def test_compiled_runs_train_the_same_within_rounding(tmp_path: Path, images: Path, kind: str) -> None:
    made: dict[str, RunConfig] = {
        "metric learning": tiny_config(images, "supcon", "proxy_anchor"),
        "momentum encoder": tiny_contrastive(images, chunk=5),
    }
    config = replace(made[kind], steps=2, optimiser="sgd", learning_rate=1e-3)
    loops = [opened(tmp_path, replace(config, compiled=compiled)) for compiled in (False, True)]
    for loop in loops:
        known = versions()
        assert (COMPILING in loop.how_far) == loop.config.compiled
        loop.take_step()
        assert (versions() > known) == loop.config.compiled and COMPILING not in loop.how_far
        loop.take_step()
    plain, compiled = (tensors(loop) for loop in loops)  # type: ignore[arg-type]
    assert list(plain) == list(compiled)
    weights = [name for name, value in plain.items() if value.is_floating_point()]
    assert apart([compiled[name] for name in weights], [plain[name] for name in weights]) < 1e-4


def test_image_text_models_are_refused(tmp_path: Path, scenes: Path) -> None:
    with pytest.raises(UserError, match="only encoders of images alone are compiled"):
        opened(tmp_path, mend_config(scenes, compiled=True))


@pytest.mark.long
@pytest.mark.usefixtures("without_code")
def test_a_compiled_run_resumes_compiled_or_not(tmp_path: Path, images: Path) -> None:
    """The setting in its configuration may be changed."""
    whole = opened(tmp_path, tiny_config(images, "contextual", compiled=True))
    whole.take_step()
    whole.checkpoint()
    kept = tensors(whole)  # type: ignore[arg-type]
    whole.take_step()
    path = whole.folder.path / "config.json"
    for compiled in (True, False):
        path.write_text(replace(whole.config, compiled=compiled).to_json())
        again = type(whole)(RunFolder.open(tmp_path, whole.folder.id))
        assert again.config.compiled == compiled and again.step == 1
        got = tensors(again)  # type: ignore[arg-type]
        assert kept.keys() == got.keys() and all(torch.equal(kept[name], got[name]) for name in kept)
        again.take_step()
        got, want = tensors(again), tensors(whole)  # type: ignore[arg-type]
        names = [name for name in want if name.startswith("arm0/encoder") and want[name].is_floating_point()]
        assert apart([got[name] for name in names], [want[name] for name in names]) < 1e-3


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", ["metric learning", "chunks of two sizes", "bf16"])
def test_a_compiled_run_resumes_to_the_bit(tmp_path: Path, images: Path, kind: str) -> None:
    """Torch forgets what it compiled in between, as in another process."""
    config: RunConfig = tiny_config(images, "supcon", "proxy_anchor", precision="bf16" if kind == "bf16" else "float32")
    if kind == "chunks of two sizes":
        config = tiny_contrastive(images, chunk=5)
    whole, cut = (opened(tmp_path, replace(config, compiled=True)) for _ in range(2))
    for _ in range(6):
        whole.take_step()
    again = reopened(cut, 3)
    torch._dynamo.reset()
    counters.clear()
    for _ in range(3):
        again.take_step()
    assert versions(), "it was compiled again"
    want, got = tensors(whole), tensors(again)  # type: ignore[arg-type]
    assert want.keys() == got.keys() and [name for name in want if not torch.equal(want[name], got[name])] == []


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ({"CXX": "{}/none", "TORCHINDUCTOR_CACHE_DIR": "{}/cache"}, "A compiled encoder needs a C++ compiler"),
        ({"TORCHINDUCTOR_CACHE_DIR": "{}/file/below"}, "Set TORCHINDUCTOR_CACHE_DIR to one that can"),
    ],
    ids=["compiler", "folder"],
)
def test_what_a_machine_lacks_is_named(tmp_path: Path, images: Path, lacks: dict[str, str], said: str) -> None:
    (tmp_path / "file").touch()
    words = ["--data", str(images), "--losses", "supcon", "--steps", "1", "--compiled", "--device", "cpu"]
    words += ["--encoder", "conv4"]
    done = subprocess.run(
        [sys.executable, "-m", "trainers", "train", *words, "--runs", str(tmp_path / "runs")],
        env=os.environ | {name: value.format(tmp_path) for name, value in lacks.items()},
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode and said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def gradient(encoder: Choice, *, fewer: bool, chunk: int | None = None) -> tuple[list[Tensor], list[Tensor], int]:
    """The gradient of a batch, the buffers after it, and how many numbers were kept for it, at the highest."""
    net = built(encoder, compiled=False, chunk=chunk)
    encoders = checkpointed(net) if fewer else []
    assert bool(encoders) == fewer
    kept = 0

    def keep(value: Tensor) -> Tensor:
        nonlocal kept
        kept += value.numel()
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        out = net(torch.rand(8, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(1)))
    with computed_again(encoders):
        (out * torch.linspace(-1, 1, out.numel()).reshape(out.shape)).sum().backward()
    grads = [weight.grad for weight in net.parameters() if weight.grad is not None]
    return grads, list(net.buffers()), kept


@pytest.mark.parametrize("chunk", [None, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize("encoder", [RESNET, VIT], ids=["batch statistics", "layer normalisation"])
def test_checkpointing_has_the_same_gradient_to_the_bit(encoder: Choice, chunk: int | None) -> None:
    """Running statistics are those of one forward pass, too."""
    grads, buffers, kept = gradient(encoder, fewer=False, chunk=chunk)
    same, theirs, fewer = gradient(encoder, fewer=True, chunk=chunk)
    assert any(grad.any() for grad in grads)
    assert all(torch.equal(one, other) for one, other in zip(same, grads, strict=True))
    assert all(torch.equal(one, other) for one, other in zip(theirs, buffers, strict=True))
    assert chunk or fewer < 0.5 * kept


TOWERS = Choice(name="two_towers", parameters={"encoder": "timm:model=resnet18;pretrained=false", "side": 32})


@pytest.mark.long
def test_runs_of_every_kind_train_the_same_weights_with_checkpointing(
    tmp_path: Path, images: Path, scenes: Path
) -> None:
    configs = (
        tiny_config(images, "supcon", encoder="timm", encoder_parameters=RESNET.parameters, steps=2),
        tiny_contrastive(images, encoder=RESNET),
        mend_config(scenes, model=TOWERS, steps=2),
    )
    for config in configs:
        plain, fewer = (to_end(opened(tmp_path, replace(config, checkpointing=on))) for on in (False, True))
        assert len(fewer.arms[0].checkpointed) == (2 if config.kind == "contrastive" else 1)
        want, got = tensors(plain), tensors(fewer)  # type: ignore[arg-type]
        assert [name for name in want if not torch.equal(want[name], got[name])] == []


@pytest.mark.parametrize("channels_last", ["on", pytest.param("off", marks=pytest.mark.long)])
def test_layouts_differ_by_rounding_and_are_those_asked_for(
    tmp_path: Path, images: Path, scenes: Path, channels_last: str
) -> None:
    for config in (tiny_config(images, "supcon"), tiny_contrastive(images), mend_config(scenes, steps=2)):
        config = replace(config, steps=2, optimiser="sgd", learning_rate=1e-3)
        loops = [opened(tmp_path, replace(config, channels_last=layout)) for layout in ("auto", channels_last)]
        layout = torch.channels_last if channels_last == "on" else torch.contiguous_format
        convolutions = [w for net in loops[1].arms[0].networks.values() for w in net.parameters() if w.ndim == 4]
        assert convolutions and all(weight.is_contiguous(memory_format=layout) for weight in convolutions)
        for loop in loops:
            loop.take_step()
        made = [[w.detach() for net in loop.arms[0].networks.values() for w in net.parameters()] for loop in loops]
        assert apart(made[1], made[0]) < 1e-4, config.kind


@pytest.mark.parametrize("config", [MetricLearningConfig(), ContrastiveConfig(), FinetuningConfig()])
def test_chunks_are_off_unless_asked_for_and_need_less_memory(config: Config) -> None:
    kind = kind_of(config)
    assert config.single.chunk is None and any("chunk" in section.names for section in kind.sections)
    off, chunked = (dataclasses.replace(config, chunk=size) for size in (0, 16))
    check(off)
    check(chunked)
    whole = kind.footprint(config)
    assert kind.footprint(off) == whole
    assert kind.footprint(chunked).activations < 0.5 * whole.activations
