"""A file outside the program adds a loss, in every process that trains with it."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from pathlib import Path

import pytest

from tests.distributed.processes import run as run_together
from tests.distributed.processes import started
from tests.examples import ROOT
from tests.explorer.served_page import GRADIO_WARNINGS, PREFIX, served
from tests.plugins.program import NAME, SMALL, python, trainers, write_example
from trainers.errors import UserError
from trainers.losses import LOSSES
from trainers.plugins.record import Needed
from trainers.runs import RunFolder, list_runs

ALL = """
import json, sys
from trainers.cli.main import main

sys.exit(sum(main(words) for words in json.loads(sys.argv[1])))
"""


def test_the_page_begins_with_a_file_and_its_commands_train(tmp_path: Path) -> None:
    file = write_example(tmp_path)
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    assert page.index("## A file of your own") < page.index("## In the program")
    (block,) = re.findall(r"## A file of your own.*?```bash\n(.*?)```", page, re.DOTALL)
    *training, serving = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert all(words[:3] == ["python", "-m", "trainers"] for words in training)
    told = json.dumps([[*words[3:], *SMALL] for words in training])
    done = python(tmp_path, "-c", ALL, told)
    assert done.returncode == 0 and done.stdout.count("Soft margin  ") == len(training), done.stderr
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    needed = (Needed(names=("soft_margin",), title=str(file), digest=digest),)
    assert [folder.plugins for folder in list_runs(tmp_path / "runs")] == [needed] * len(training)
    assert serving == ["python", "app.py", "--plugin", NAME]


BEGIN = """
import sys
from pathlib import Path
from trainers import plugins
from trainers.cli.main import main
from trainers.losses import FAMILIES, LOSSES

assert "soft_margin" not in LOSSES
assert plugins.use("my_loss.py") is plugins.use("my_loss.py")
assert LOSSES["soft_margin"] in FAMILIES["Pair and triplet"]
assert main(["sweep", "--losses", "soft_margin", "--seeds", "0", "1", *sys.argv[1:]]) == 0

from trainers.kinds.metric_learning.loop import MetricLearningLoop
from trainers.runs import RunFolder, list_runs
from trainers.runs.records import RunState

one = next(folder for folder in list_runs(Path("runs")) if folder.part_of)
loop = MetricLearningLoop(RunFolder.create(Path("half"), one.config))
loop.take_step()
loop.snapshot()
loop.checkpoint()
loop.folder.db.set_state(RunState(phase="interrupted", step=1))
"""


@GRADIO_WARNINGS
@pytest.mark.long
def test_a_run_finds_its_file_in_sweeps_and_when_it_is_resumed(tmp_path: Path) -> None:
    file = write_example(tmp_path)
    done = python(tmp_path, "-c", BEGIN, *SMALL)
    assert done.returncode == 0, done.stderr
    trained, half = list_runs(tmp_path / "runs"), list_runs(tmp_path / "half")[0]
    assert [(folder.state().phase, len(folder.plugins)) for folder in trained] == [("finished", 1)] * 3

    is_shown(tmp_path, half)
    refused = python(tmp_path, "-c", REFUSED, half.id)
    assert refused.returncode == 0, refused.stdout + refused.stderr
    assert half.state().phase == "interrupted" and file.is_file(), "nothing of it has changed"

    resumed = trainers(tmp_path, "resume", "last", "--runs", "half", RANKSCOPE_PLUGINS=NAME)
    assert resumed.returncode == 0 and half.state().phase == "finished", resumed.stderr


REFUSED = """
import contextlib, io, sys
from pathlib import Path
from trainers.cli.main import main

file = Path("my_loss.py")
text = file.read_text()

def said(*words):
    with contextlib.redirect_stderr(io.StringIO()) as told:
        assert main(["resume", sys.argv[1], "--runs", "half", *words]) == 1
    return told.getvalue()

assert "was not named on this start. To train this run, start with --plugin" in said()
file.unlink()
assert "a file that is not there any more" in said()
file.write_text(text + "1 / 0\\n")
assert f"line {len(text.splitlines()) + 1}: ZeroDivisionError" in said("--plugin", "my_loss.py")
file.write_text(text + "# changed\\n")
assert "which has changed since: its SHA-256 began with" in said("--plugin", "my_loss.py")
file.write_text(text)
"""


def is_shown(place: Path, half: RunFolder) -> None:
    """A page that does not use the file shows its runs and hands them out; it refuses to train one on."""
    assert "soft_margin" not in LOSSES
    (place / "page").mkdir()
    (place / "page" / "runs").symlink_to(place / "half")
    with served(place / "page") as page:
        (entry,) = page.run("list_runs").json()["data"][0]
        about = page.run("run_status", half.id).json()["data"][0]
        assert entry["losses"] == ["soft_margin"] and about["metrics"][0]["R_at_1"] is not None
        for rest in ("", "/poll", "/files", "/download/metrics.csv"):
            assert page.client.get(f"{PREFIX}/run/{half.id}{rest}").status_code == 200, rest
        with pytest.raises(UserError, match="was not named on this start"):
            page.explorer.training._runs.resume(half.id, "")


TOGETHER = """
import os, sys
from trainers.cli.main import main

named = ["--plugin", sys.argv[1]] if os.environ["RANK"] == "0" else []
sys.exit(main(["train", "--losses", "soft_margin", *sys.argv[2:], *named]))
"""


@pytest.mark.long
def test_processes_together_use_the_same_file(tmp_path: Path) -> None:
    file, runs = write_example(tmp_path), tmp_path / "runs"
    run_together(2, "-m", "trainers", "train", "--losses", str(file), *SMALL, "--runs", str(runs))
    assert list_runs(runs)[0].state().phase == "finished"
    with started(2, ["-c", TOGETHER, str(file), *SMALL, "--runs", str(tmp_path / "other")], {}) as processes:
        outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert "Process 1: This run was begun with soft_margin" in outputs[0]
