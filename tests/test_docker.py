"""The container, as far as it can be checked without building it: what it copies, runs, writes and is told."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
_LINES = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text()).splitlines()
STEPS = [tuple(line.split(" ", 1)) for line in _LINES if line.strip() and not line.lstrip().startswith("#")]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())


def given(instruction: str) -> list[str]:
    return [rest for name, rest in STEPS if name == instruction]


def copied() -> list[str]:
    return [rest.split()[0] for rest in given("COPY")]


def test_what_is_copied_is_there_and_is_sent_to_the_builder() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(copied()) == sorted(kept) and all((ROOT / name).exists() for name in copied())
    needed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    outside = [path for path in needed.split() if not any(fnmatch.fnmatch(path, f"{one}*") for one in copied())]
    wheel = {"hatch_build.py", "rankscope.py"}
    assert {path for path in outside if not path.startswith("tests/")} == wheel, "the page needs what is copied alone"


def test_it_does_not_run_as_root_and_writes_to_the_volume_alone() -> None:
    (user,) = given("USER")
    assert f"useradd --create-home --uid 1000 {user}" in given("RUN")[0] and f"chown {user} /data" in given("RUN")[0]
    written = dict(pair.split("=", 1) for pair in shlex.split(given("ENV")[-1]))
    assert given("VOLUME") == ["/data"] and all(path.startswith("/data/") for path in written.values())
    code = "".join(path.read_text() for part in ("app.py", "trainers", "explorer") for path in _python(ROOT / part))
    own = [name for name in written if name.startswith("RANKSCOPE_")]
    assert own and all(f'"{name}"' in code for name in own), "each is read"


def _python(place: Path) -> list[Path]:
    return [place] if place.is_file() else list(place.rglob("*.py"))


def test_its_command_is_one_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    import app

    python, script, *flags = json.loads(given("CMD")[0])
    assert (python, script) == ("python", "app.py")
    monkeypatch.setattr(sys, "argv", [script, *flags])
    asked = app.arguments()
    assert asked.public and asked.host == "0.0.0.0" and [str(asked.port)] == given("EXPOSE")
    assert f":{asked.port}/" in given("HEALTHCHECK")[0]


def test_torch_and_torchvision_come_from_one_index() -> None:
    pattern = re.search(r"grep -E '(.+?)' requirements.txt", given("RUN")[1])
    assert pattern
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if re.match(pattern[1], line)]
    assert [re.split(r"[><=\[ ]", line)[0] for line in lines] == ["torch", "torchvision"]


def test_services_reap_children_and_leave_time_for_a_checkpoint() -> None:
    for name, service in COMPOSE["services"].items():
        assert service["init"] is True and int(service["stop_grace_period"].rstrip("s")) > 10, name
        assert service["volumes"] == ["rankscope:/data"] and "rankscope" in COMPOSE["volumes"]
        assert service["ports"] == [f"{given('EXPOSE')[0]}:{given('EXPOSE')[0]}"]
    assert "deploy" in COMPOSE["services"]["rankscope-cuda"] and "deploy" not in COMPOSE["services"]["rankscope"]
