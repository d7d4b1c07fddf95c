"""Encoders in repositories of the Hub, by the look-alike of it: tiny models with random weights."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from safetensors.torch import save

from tests.fake_hub import environment, fake_hub

PROGRAM = """
import json, sys
from trainers.encoders import ENCODERS
from trainers.errors import UserError

answers = []
for model in json.loads(sys.argv[1]):
    try:
        built = ENCODERS["timm"].build(channels=3, side=32, dim=4, parameters={"model": model})
        total = sum(value.detach().double().sum() for value in built.backbone.parameters())
        answers.append([float(total), built.mean.flatten().tolist()])
    except UserError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""
MEAN = [0.1, 0.2, 0.3]


@pytest.fixture(scope="module")
def tiny() -> torch.nn.Module:
    torch.manual_seed(3)
    model: torch.nn.Module = timm.create_model("test_resnet", pretrained=False, num_classes=5)
    return model


@pytest.fixture(scope="module")
def hub(tiny: torch.nn.Module) -> Iterator[Any]:
    weights = save({name: value.contiguous() for name, value in tiny.state_dict().items()})
    about = {"mean": MEAN, "std": [1.0] * 3, "input_size": [3, 160, 160], "num_classes": 5, "classifier": "fc"}
    config = json.dumps({"architecture": "test_resnet", "pretrained_cfg": about}).encode()
    elsewhere = json.dumps(
        {"architecture": "test_resnet", "pretrained_cfg": {**about, "file": "/etc/hostname"}}
    ).encode()
    with fake_hub() as server:
        server.write("models", "some/tiny", {"config.json": config, "model.safetensors": weights})
        server.write("models", "some/reaching", {"config.json": elsewhere, "model.safetensors": weights})
        server.write("models", "some/pickled", {"config.json": config, "pytorch_model.bin": b"\x80\x04N."})
        server.write("models", "some/other", {"config.json": b'{"model_type": "bert"}', "model.safetensors": weights})
        yield server


def build(home: Path, hub: Any, *models: str, **also: str) -> list[Any]:
    env = environment(hub.url, home, **also)
    command = [sys.executable, "-c", PROGRAM, json.dumps(models)]
    made = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert made.returncode == 0, made.stderr
    answers: list[Any] = json.loads(made.stdout)
    return answers


def test_a_model_of_the_hub_is_built_with_its_weights_and_nothing_else_of_it(
    hub: Any, tiny: torch.nn.Module, tmp_path: Path
) -> None:
    body = (value.detach() for name, value in tiny.named_parameters() if not name.startswith("fc"))
    wanted = float(sum(value.double().sum() for value in body))
    names = ["hf-hub:some/tiny", "hf_hub:some/tiny@main", "hf-hub:some/reaching"]
    refused = ["hf-hub:some/pickled", "hf-hub:some/other", "hf-hub:some/none", "hf-hub:../../etc"]
    got = build(tmp_path, hub, *names, *refused)
    for total, mean in got[:3]:
        assert total == pytest.approx(wanted, rel=1e-6) and mean == pytest.approx(MEAN)
    pickled, other, none, path = got[3:]
    assert "has no model.safetensors" in pickled
    assert "holds no timm model" in other
    assert "is not on the Hub, or private" in none
    assert "is written hf-hub:owner/name" in path
    assert build(tmp_path, hub, "hf-hub:some/tiny", HF_HUB_OFFLINE="1") == got[:1], "without a network, from the cache"
