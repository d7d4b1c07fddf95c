"""Packages of ``RANKSCOPE_KINDS`` that cannot be used: each is left out alone, with a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import trainers.kinds
from trainers.kinds import OWN
from trainers.kinds._added import added_kinds

ROOT = Path(__file__).resolve().parents[2]
GOOD = ROOT / "tests" / "contracts" / "kind"
OTHER = """
from trainers.kinds.metric_learning.kind import MetricLearning

class Other(MetricLearning):
    {}

DESCRIPTOR = Other()
"""
BAD = {
    "absent_import": ("import no_such_module\n", "No module named 'no_such_module'"),
    "bad_syntax": ("def f(:\n", "SyntaxError"),
    "raises": ("raise RuntimeError('the licence is missing')\n", "the licence is missing"),
    "leaves": ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
    "nothing": ("", "it has no DESCRIPTOR"),
    "no_kind": ("DESCRIPTOR = 'kind'\n", "its DESCRIPTOR is not a Kind"),
    "abstract": ("from trainers.kinds.base import Kind\nDESCRIPTOR = Kind()\n", "abstract"),
    "same_name": (OTHER.format("name = 'sweep'"), "another kind has the name 'sweep'"),
    "same_verb": (OTHER.format("name, verb = 'b', 'train'"), "the verb 'train'"),
    "no_verb": (OTHER.format("name, verb = 'c', ''"), "it needs the text 'verb'"),
    "other_config": (
        OTHER.format("name, verb, old_verbs = 'd', 'd', ()"),
        "its configuration is of the kind 'metric_learning'",
    ),
    "metric_learning": (OTHER.format("order = 1"), "another module has this name"),
}
USABLE = """
from dataclasses import dataclass
from typing import ClassVar
from trainers.parameters import parameter
from trainers.kinds.metric_learning.kind import MetricLearning
from trainers.kinds.metric_learning.config import MetricLearningConfig

@dataclass(frozen=True, kw_only=True)
class OtherConfig(MetricLearningConfig):
    kind: ClassVar[str] = "{name}"
    {setting}

class Other(MetricLearning):
    name, verb, old_verbs, config = "{name}", "{verb}", (), OtherConfig

DESCRIPTOR = Other()
"""


def package(place: Path, name: str, code: str) -> None:
    (place / name).mkdir()
    (place / name / "__init__.py").write_text(code, encoding="utf-8")


def test_all_that_cannot_be_used_is_left_out_and_said_and_the_rest_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = ModuleType("made_kinds")  # so that what is imported here goes with the test
    beside.__path__ = list(trainers.kinds.__path__)
    monkeypatch.setitem(sys.modules, "made_kinds", beside)
    for name, (code, _) in BAD.items():
        package(tmp_path, name, code)
    package(tmp_path, "good", USABLE.format(name="good", verb="good", setting="pass"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    folders = os.pathsep.join(map(str, (tmp_path, tmp_path / "nowhere", tmp_path / "file")))
    try:
        found, said = added_kinds(beside, folders, OWN)
    finally:
        for name in [name for name in sys.modules if name.startswith("made_kinds.")]:
            del sys.modules[name]
    assert list(found) == ["good"] and found["good"].config().kind == "good"
    for name, (_, words) in BAD.items():
        (sentence,) = (line for line in said if f"The kind of run {name!r} of" in line)
        assert "is left out" in sentence and words in sentence
    assert any("nowhere', which is not there" in line for line in said)
    assert any("file', which is no folder" in line for line in said)
    assert len(said) == len(BAD) + 2


COMMAND = """
import sys
from trainers.kinds import KINDS
print(*KINDS)
from trainers.cli.main import main
sys.exit(main(["list", "--runs", sys.argv[1]]))
"""


def test_the_command_line_works_without_them(tmp_path: Path) -> None:
    runs, kinds = tmp_path / "runs", tmp_path / "kinds"
    kinds.mkdir()
    runs.mkdir()
    package(kinds, "absent_import", BAD["absent_import"][0])
    taken = "runs: int = parameter(1, help='A setting whose flag is taken.')"
    package(kinds, "taken_flag", USABLE.format(name="taken_flag", verb="own", setting=taken))
    package(kinds, "taken_verb", USABLE.format(name="taken_verb", verb="list", setting="pass"))
    named = os.pathsep.join(map(str, (GOOD, kinds, tmp_path / "nowhere")))
    env = {**os.environ, "RANKSCOPE_KINDS": named, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-c", COMMAND, str(runs)]
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert set(done.stdout.split("\n")[0].split()) == {*OWN, "toy", "taken_flag", "taken_verb"}
    assert done.stderr.count("is left out") == 1 and "nowhere', which is not there" in done.stderr
    assert done.stderr.count("has no command: its flags cannot be made") == 2, done.stderr
