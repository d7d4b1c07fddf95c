"""Compiled encoders: the numbers of the plain ones within rounding, compiled a few times, weights under their names."""

from __future__ import annotations

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
from tests.tiny import opened, tiny_config, tiny_contrastive
from tests.training.reopened import reopened
from tests.training.test_memory import RESNET, VIT
from tests.training.test_precision import apart
from trainers.config import RunConfig
from trainers.encoders import ENCODERS, Encoder
from trainers.errors import UserError
from trainers.parameters import Choice
from trainers.runs import RunFolder
from trainers.training.compiling import compile_encoders
from trainers.training.embedding import folded
from trainers.training.loop import COMPILING
from trainers.training.memory import checkpointed, computed_again, encode_in_chunks

CONV4 = Choice(name="conv4", parameters={"width": 8})
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
@pytest.mark.parametrize("chunk", [None, 6])
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
@pytest.mark.parametrize("kind", ["metric learning", "momentum encoder"])
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
