"""Packages of ``RANKSCOPE_KINDS`` that cannot be used: each is left out alone, with a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainers.kinds import OWN

ROOT = Path(__file__).resolve().parents[2]
GOOD = ROOT / "tests" / "contracts" / "kind"
OTHER = "from trainers.kinds.toy.kind import Toy\n\nclass Other(Toy):\n    {}\n\nDESCRIPTOR = Other()\n"
BAD = {
    "absent_import": ("import no_such_module\n", "No module named 'no_such_module'"),
    "bad_syntax": ("def f(:\n", "SyntaxError"),
    "raises": ("raise RuntimeError('the licence is missing')\n", "the licence is missing"),
    "leaves": ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
    "nothing": ("", "it has no DESCRIPTOR"),
    "no_kind": ("DESCRIPTOR = 'kind'\n", "its DESCRIPTOR is no Kind"),
    "abstract": ("from trainers.kinds.base import Kind\nDESCRIPTOR = Kind()\n", "abstract"),
    "same_name": (OTHER.format("name = 'sweep'"), "another kind has the name 'sweep'"),
    "same_verb": (OTHER.format("name, verb = 'b', 'train'"), "the verb 'train'"),
    "no_verb": (OTHER.format("name, verb = 'c', ''"), "it needs the text 'verb'"),
    "other_config": (OTHER.format("name, verb = 'd', 'd'"), "its configuration is of the kind 'toy'"),
    "metric_learning": (OTHER.format("order = 1"), "another module has this name"),
}


def asked(*words: str, kinds: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-W", "error", *words]
    env = {**os.environ, "RANKSCOPE_KINDS": kinds, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(line, env=env, capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The good kind, every bad package, a folder that is not there, and a file."""
    place = tmp_path_factory.mktemp("kinds")
    for name, (code, _) in BAD.items():
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(code, encoding="utf-8")
    (place / "file").write_text("", encoding="utf-8")
    return os.pathsep.join(map(str, (GOOD, place, place / "nowhere", place / "file")))


def test_all_that_cannot_be_used_is_left_out_and_said_and_the_rest_works(kinds: str, tmp_path: Path) -> None:
    done = asked("-m", "trainers", "toy", "--steps", "2", "--head-steps", "1", "--runs", str(tmp_path), kinds=kinds)
    assert done.returncode == 0 and "whole test set" in done.stdout, done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("rankscope: ")]
    assert len(lines) == len(BAD) + 2
    for name, (_, words) in BAD.items():
        (said,) = (line for line in lines if f"The kind of run {name!r} of" in line)
        assert "is left out" in said and words in said
    assert any("nowhere', which is not there" in line for line in lines)
    assert any("file', which is no folder" in line for line in lines)


PAGE = """
from pathlib import Path
import sys
from explorer import Explorer, Settings
explorer = Explorer(Settings(runs=Path(sys.argv[1])))
from trainers.kinds import KINDS
print(*KINDS)
"""


def test_the_page_is_built_without_them(kinds: str, tmp_path: Path) -> None:
    done = asked("-W", "default", "-c", PAGE, str(tmp_path), kinds=kinds)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {*OWN, "toy"}
    assert done.stderr.count("is left out") == len(BAD)


FLAGS = """
from dataclasses import dataclass
from typing import ClassVar
from trainers.parameters import parameter
from trainers.kinds.toy.kind import Toy, ToyConfig

@dataclass(frozen=True, kw_only=True)
class OtherConfig(ToyConfig):
    kind: ClassVar[str] = "{name}"
    runs: int = parameter(1, help="A setting whose flag is taken.")

class Other(Toy):
    name, verb, config = "{name}", "{verb}", {config}

DESCRIPTOR = Other()
"""


def test_one_whose_command_cannot_be_made_has_none(tmp_path: Path) -> None:
    for name, verb, config in (("taken_flag", "own", "OtherConfig"), ("taken_verb", "list", "OtherConfig")):
        (tmp_path / name).mkdir()
        code = FLAGS.format(name=name, verb=verb, config=config)
        (tmp_path / name / "__init__.py").write_text(code, encoding="utf-8")
    done = asked("-m", "trainers", "list", "--runs", str(tmp_path), kinds=f"{GOOD}{os.pathsep}{tmp_path}")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert done.stderr.count("has no command: its flags cannot be made") == 2, done.stderr
