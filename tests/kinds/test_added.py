"""Packages of ``RANKSCOPE_KINDS`` whose verb or flags are taken: they have no command, and all else works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from trainers.kinds import OWN

ROOT = Path(__file__).resolve().parents[2]
CODE = """
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
COMMAND = """
import sys
from trainers.kinds import KINDS
print(*KINDS)
from trainers.cli.main import main
sys.exit(main(["list", "--runs", sys.argv[1]]))
"""


def test_the_command_line_works_without_them(tmp_path: Path) -> None:
    taken = "runs: int = parameter(1, help='A setting whose flag is taken.')"
    for name, verb, setting in (("taken_flag", "own", taken), ("taken_verb", "list", "pass")):
        (tmp_path / "kinds" / name).mkdir(parents=True)
        code = CODE.format(name=name, verb=verb, setting=setting)
        (tmp_path / "kinds" / name / "__init__.py").write_text(code, encoding="utf-8")
    named = os.pathsep.join(map(str, (ROOT / "tests" / "contracts" / "kind", tmp_path / "kinds", tmp_path / "nowhere")))
    env = {**os.environ, "RANKSCOPE_KINDS": named, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-c", COMMAND, str(tmp_path)]
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert set(done.stdout.split("\n")[0].split()) == {*OWN, "toy", "taken_flag", "taken_verb"}
    assert done.stderr.count("has no command: its flags cannot be made") == 2, done.stderr
