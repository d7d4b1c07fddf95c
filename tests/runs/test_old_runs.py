"""Run folders of the version before open and resume; older ones, newer ones, and lost settings are told of.

``tests/fixtures/runs/README.md`` says how each folder was made.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.explorer.page import Page
from trainers.cli.main import main
from trainers.config import Config
from trainers.encoders import ENCODERS
from trainers.errors import ParameterError, RunError
from trainers.kinds import check, kind_of
from trainers.kinds.contrastive.config import ContrastiveConfig
from trainers.kinds.metric_learning.config import MetricLearningConfig
from trainers.parameters import Choice
from trainers.plans.children import Children, add_seeds
from trainers.plans.config import SweepConfig
from trainers.runs import RunFolder
from trainers.runs.atomic_files import read_tensors
from trainers.runs.earlier import with_former_defaults
from trainers.runs.identity import read_config
from trainers.runs.records import RunState

FIXTURES = Path(__file__).parents[1] / "fixtures"
STEPS = 3  # after many steps the rounding of another processor leads elsewhere; after three it does not
RESUMED: dict[str, dict[str, tuple[float, float]]] = json.loads((FIXTURES / "resumed.json").read_text())
"""By archive and tensor: the :func:`sketch` of the checkpoint ``STEPS`` steps after its own version resumed it."""


def unpacked(name: str, root: Path) -> RunFolder:
    """Unpack an archive; returns its run, or its plan."""
    with tarfile.open(FIXTURES / "runs" / f"{name}.tar.xz") as archive:
        archive.extractall(root, filter="data")
    (path,) = (path for path in root.iterdir() if not (path / "part_of").exists())
    return RunFolder(path)


def sketch(path: Path) -> dict[str, tuple[float, float]]:
    """Norm, and product with cos(0), cos(1), ..., of every tensor of a checkpoint in float64."""
    flat = {name: tensor.double().flatten() for name, tensor in read_tensors(path)[0].items()}
    waves = {name: torch.cos(torch.arange(len(tensor), dtype=torch.float64)) for name, tensor in flat.items()}
    return {name: (tensor.norm().item(), (tensor @ waves[name]).item()) for name, tensor in flat.items()}


def stopped(root: Path) -> RunFolder:
    """Return the run that was stopped: the only one with a checkpoint."""
    (checkpoint,) = root.glob("*/ckpt/last.safetensors")
    return RunFolder(checkpoint.parents[1])


def test_every_archive_is_tried() -> None:
    assert sorted(RESUMED) == sorted(path.name.removesuffix(".tar.xz") for path in (FIXTURES / "runs").glob("*.xz"))


@pytest.mark.parametrize("name", RESUMED)
def test_it_opens_and_resumes_to_the_same_numbers(name: str, tmp_path: Path) -> None:
    first = unpacked(name, tmp_path / "runs")
    page = Page(tmp_path / "runs", tmp_path / "recorded", tmp_path / "assets")
    (card,) = (card for card in page.cards() if card["id"] == first.id)
    assert (card["phase"], card["error"]) == ("stopped", None) and "resume" in card["acts"]
    folder = stopped(tmp_path / "runs")
    about = page.json(f"run/{folder.id}")
    assert len(about["arms"]) == folder.config.arms and about["step"] == folder.state().step > 0
    assert len(page.json(f"run/{folder.id}/poll")["metrics"]) == len(folder.scalars()) > 10
    page.library.close()

    loop = kind_of(folder.config).loop()(folder, lambda _text, _share: None)
    begun = loop.step
    while loop.step < begun + STEPS:
        assert loop.advance(1e-3)  # less than a step takes: one at a time
    loop.checkpoint()
    resumed = sketch(folder.path / "ckpt" / "last.safetensors")
    assert resumed.keys() == RESUMED[name].keys()
    for tensor, (norm, wave) in RESUMED[name].items():
        assert resumed[tensor] == pytest.approx((norm, wave), rel=1e-4, abs=1e-4 * norm), tensor
    loop.finish()
    scored = {scalar.arm for scalar in folder.scalars() if scalar.key.startswith("test/")}
    assert scored == set(range(folder.config.arms))
    folder.db.close()


@pytest.mark.long
def test_a_sweep_goes_on_with_the_runs_that_were_left(tmp_path: Path) -> None:
    plan = unpacked("sweep_stopped", tmp_path)
    before = {child.id: RunFolder(tmp_path / child.id).state() for child in Children(plan).all() if child.outcome}
    done = {run: state.updated for run, state in before.items() if state.phase == "finished"}
    assert main(["resume", plan.id, "--runs", str(tmp_path)]) == 0
    assert {child.phase for child in Children(plan).all()} == {"finished"} and done
    assert {run: RunFolder(tmp_path / run).state().updated for run in done} == done, "none is trained twice"
    plan.db.close()


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("timm_frozen", {}, {"model": "resnet18", "head": "mlp"}),
        ("timm_frozen", {"model": "test_vit", "hidden": 0}, {"model": "test_vit", "hidden": 0, "head": "mlp"}),
        ("timm", {"pretrained": False}, {"model": "resnet18", "pretrained": False}),
        ("conv4", {}, {}),
    ],
)
@pytest.mark.parametrize("plan", [False, True])
def test_encoders_of_the_version_before_keep_model_and_head(name: str, given: Any, kept: Any, plan: bool) -> None:
    run = MetricLearningConfig(encoder=Choice(name=name, parameters=given), dim=64)
    written = (SweepConfig(run=run) if plan else run).to_json()
    versions = ('"version": 4', '"version": 3') if plan else ('"version": 3', '"version": 2')
    assert read_config(written).single.encoder.parameters == given
    config: Any = read_config(written.replace(*versions)).single
    assert config.encoder == Choice(name=name, parameters=kept) and config.width == 64
    descriptor = ENCODERS[name]
    if name == "timm_frozen":
        values = descriptor.checked(kept)
        assert values.kind == ("linear" if given else "mlp") and descriptor.dim(kept) == 64
    towers = with_former_defaults({"name": "two_towers", "parameters": {"encoder": "timm:pretrained=false"}})
    assert towers["parameters"]["encoder"] == "timm:model=resnet18;pretrained=false"


@pytest.mark.parametrize(
    ("version", "words"), [(99, r"newer version .* update it\.$"), (1, r"of version 1, .* train it again\.$")]
)
def test_a_run_of_another_version_is_listed_with_a_sentence(version: int, words: str, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "runs", MetricLearningConfig())
    path = folder.path / "config.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, "version": version} if version > 1 else {"mend": None, "encoder": "conv4"}))
    with pytest.raises(RunError, match=rf"cannot be opened\. It was written by .*{words}"):
        _ = RunFolder.open(tmp_path / "runs", folder.id).config
    page = Page(tmp_path / "runs", tmp_path / "recorded", tmp_path / "assets")
    (card,) = page.cards()
    assert card["damaged"] and "cannot be opened. It was written by" in card["error"]
    page.library.close()


@pytest.mark.parametrize("config", [ContrastiveConfig(), SweepConfig(run=ContrastiveConfig())], ids=["run", "plan"])
def test_a_run_with_a_setting_that_is_gone_is_shown_and_not_resumed(
    config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder.create(tmp_path / "runs", config)
    folder.db.set_state(RunState(phase="stopped", message="stopped; it can be resumed"))
    path = folder.path / "config.json"
    values = json.loads(path.read_text())
    values.get("run", values).update(corruptions=True, reference=1)
    path.write_text(json.dumps(values))
    page = Page(tmp_path / "runs", tmp_path / "recorded", tmp_path / "assets")
    words = "It was begun with corruptions true, reference 1, which this version of the program does not have"
    assert folder.config == config and folder.config.lost_words.startswith(words)
    (card,) = page.cards()
    assert card["error"] is None and card["message"].startswith(words) and "resume" not in card["acts"]
    page.library.close()
    with pytest.raises(ParameterError, match=words):
        check(folder.config)
    assert main(["resume", folder.id, "--runs", str(tmp_path / "runs")]) == 1
    assert words in capsys.readouterr().err and folder.state().phase == "stopped"
    if isinstance(config, SweepConfig):
        with pytest.raises(ParameterError, match=words):
            add_seeds(folder, 1)
