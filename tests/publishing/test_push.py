"""A run on the Hub, by the look-alike of it: what is uploaded, its card, loading it again, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from huggingface_hub import ModelCard
from PIL import Image

from tests.contracts.test_encoders import answers_of as build
from tests.fake_hub import environment, fake_hub
from tests.made_up_plan import make_plan, sweep
from tests.tiny import tiny_config, write_images
from trainers.comparison.markup import markdown_text
from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.publishing.card import NAME, began_published, card, write_picture
from trainers.runs import RunFolder
from trainers.training.encoder_file import RunEncoders


@pytest.fixture(scope="module")
def hub() -> Iterator[Any]:
    with fake_hub() as server:
        yield server


def trained(root: Path, images: Path, **changes: Any) -> RunFolder:
    loop = MetricLearningLoop(RunFolder.create(root, tiny_config(images, steps=2, **changes)))
    loop.advance(60)
    loop.finish()
    loop.checkpoint()
    return loop.folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunFolder, RunFolder]:
    root = tmp_path_factory.mktemp("runs")
    images = write_images(tmp_path_factory.mktemp("images") / "discs")
    timm = {"encoder": "timm", "encoder_parameters": {"model": "test_resnet", "pretrained": False}}
    return root, trained(root, images, **timm), trained(root, images)


def push(hub: Any, home: Path, root: Path, *words: str, token: str = "hf_x") -> subprocess.CompletedProcess[str]:
    env = environment(hub.url, home, HF_TOKEN=token)
    command = [sys.executable, "-m", "trainers", "push", *words, "--runs", str(root)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)


def test_a_timm_encoder_is_loaded_again_with_the_weights_of_its_arm(hub: Any, runs: Any, tmp_path: Path) -> None:
    root, run, _ = runs
    done = push(hub, tmp_path, root, run.id, "--arm", "1", "--to", "tester/discs", "--json")
    assert done.returncode == 0, done.stderr
    repo = hub.repos["models", "tester/discs"]
    files = repo.commits[repo.sha("main")]
    assert json.loads(done.stdout)["files"] == sorted(files) == [
        "README.md", "config.json", "embedding.safetensors", "model.safetensors", "results.json", "run.json"
    ]  # fmt: skip
    data = ModelCard(files["README.md"].decode()).data
    results = json.loads(files["results.json"])
    (first, *_) = data.eval_results
    assert first.metric_value == pytest.approx(results[first.metric_type], abs=1e-5)
    assert data.base_model is None and "test_resnet" in files["README.md"].decode(), "it began untrained"
    assert first.dataset_split == "whole test set, 36 images" and data.library_name == "timm"
    assert "SupCon" in files["README.md"].decode() and "Khosla et al., NeurIPS 2020" in files["README.md"].decode()
    backbone = RunEncoders(run).tensors(1)
    wanted = float(sum(value.double().sum() for name, value in backbone.items() if _is_weight(name)))
    ((total, _),) = build(tmp_path, hub, "hf-hub:tester/discs")
    assert total == pytest.approx(wanted, rel=1e-6)


def _is_weight(name: str) -> bool:
    return not name.endswith(("running_mean", "running_var", "num_batches_tracked"))


@pytest.mark.long
def test_other_encoders_are_uploaded_and_refusals_are_sentences(hub: Any, runs: Any, tmp_path: Path) -> None:
    root, _, run = runs
    done = push(hub, tmp_path, root, run.id, "--to", "tester/conv", "--private")
    assert done.returncode == 0 and "/commit/" in done.stdout, done.stderr
    repo = hub.repos["models", "tester/conv"]
    assert repo.private and "embedding.safetensors" in repo.commits[repo.sha("main")]
    hub.fault(match="POST .*tester/busy/commit", status=429, headers={"Retry-After": "300"}, times=-1)
    hub.fault(match="POST .*tester/others/commit", status=412, times=2)
    hub.fault(match="POST /api/repos/create", status=403, times=1)
    refused = {
        ("tester/first", "hf_x"): "This token may not write to 'tester/first'",
        ("no name", "hf_x"): "A repository as owner/name was needed",
        ("tester/conv", ""): "takes uploads from those who are logged in",
        ("tester/busy", "hf_x"): "asked too often from here. Try again in 300 s",
    }
    for (to, token), words in refused.items():
        ended = push(hub, tmp_path, root, run.id, "--to", to, token=token)
        assert ended.returncode == 1 and words in ended.stderr and "Traceback" not in ended.stderr, ended.stderr
    assert push(hub, tmp_path, root, run.id, "--to", "tester/others").returncode == 0, "somebody else had committed"


@pytest.mark.long
def test_a_comparison_is_a_dataset_that_opens_again(hub: Any, tmp_path: Path) -> None:
    plan = make_plan(tmp_path / "runs", sweep("smooth_ap", "happier"))
    done = push(hub, tmp_path, tmp_path / "runs", plan.id, "--to", "tester/seeds", "--json")
    assert done.returncode == 0 and "comparison.safetensors" in json.loads(done.stdout)["files"], done.stderr
    program = "import datasets; print(len(datasets.load_dataset('tester/seeds', 'results', split='train')))"
    env = environment(hub.url, tmp_path, HF_TOKEN="hf_x")
    opened = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert int(opened.stdout) >= 2, opened.stderr


@pytest.mark.parametrize(
    ("pretrained", "begins", "published"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"weights": "/home/ada/own.pt@0123456789abcdef"}, False),
        (True, {"start": "0" * 25 + "1"}, False),
    ],
)
def test_a_card_names_the_weights_that_the_run_began_with(
    tmp_path: Path, pretrained: bool, begins: dict[str, str], published: bool
) -> None:
    timm = {"encoder": "timm", "encoder_parameters": {"model": "test_resnet", "pretrained": pretrained}}
    run = RunFolder.create(tmp_path, tiny_config(tmp_path, **timm, **begins))
    assert began_published(run.config) == published
    text = card(run, 0, "ada/net", timm="", picture="")
    assert ("- **Started from**: own.pt@0123456789abcdef\n" in text) == ("weights" in begins) and "/home" not in text


RECORDED = Path(__file__).resolve().parents[2] / "assets" / "recorded"


def test_a_card_shows_the_map_and_the_curve_of_its_arm(tmp_path: Path) -> None:
    recorded = [RunFolder.open(RECORDED, path.parent.name) for path in RECORDED.glob("*/config.json")]
    run = next(run for run in recorded if run.config.kind == "metric_learning" and run.newest_map() is not None)
    drawn = []
    for arm in (0, 1):
        said = write_picture(run, arm, tmp_path)
        assert said.startswith("Map of ") and "at every map, up to step" in said
        drawn.append(np.asarray(Image.open(tmp_path / NAME)))
        middle = drawn[-1].shape[1] // 2
        for half in (drawn[-1][60:, :middle], drawn[-1][60:, middle:]):
            assert 0.002 < (half < 200).any(-1).mean() < 0.5, "points and a line, on white"
    assert (drawn[0] != drawn[1]).any()
    assert f"![a <b>]({NAME})".replace("<b>", markdown_text("<b>")) in card(run, 0, "ada/net", timm="", picture="a <b>")
    assert NAME not in card(run, 0, "ada/net", timm="", picture="")


def test_a_run_without_maps_has_no_picture(tmp_path: Path) -> None:
    plan = make_plan(tmp_path / "runs", sweep("smooth_ap"))
    assert write_picture(plan, 0, tmp_path) == "" and not (tmp_path / NAME).exists()
