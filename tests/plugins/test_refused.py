"""What is no use is a sentence, and nothing runs that nobody named: not for a run from elsewhere, not for strangers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.plugins.program import NAME, python, write_example
from tests.tiny import tiny_config
from trainers import plugins
from trainers.errors import RunError, UserError
from trainers.plugins.record import recorded
from trainers.runs import RunFolder

METRIC = """
from trainers.metrics.measure import Measure
DESCRIPTOR = Measure(name={name!r}, title="T", sentence="S.", family="ranking")
"""
FILES = {
    "x = (\n": "line 1: SyntaxError: '(' was never closed",
    "import torch\n\nx = nothing\n": "line 3: NameError: name 'nothing' is not defined",
    "raise SystemExit(3)": "line 1: SystemExit: 3",
    "import no_such_module_here": "line 1: ModuleNotFoundError: No module named 'no_such_module_here'",
    "x = 1": "defines no DESCRIPTOR, so it adds nothing",
    "DESCRIPTOR = 3": "A descriptor of a loss, a metric, an encoder, a dataset",
    METRIC.format(name="mine")
    + "DESCRIPTORS = (DESCRIPTOR,)\n": "Several of its entries are named 'mine'. Rename them",
    METRIC.format(name="a:b"): "A name of letters, digits and _ was needed; got 'a:b'",
    METRIC.format(name="R_at_k"): "there is a 'R_at_k' in trainers.metrics.catalogue already. Rename it",
}


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that are named, and where modules are found, are as before afterwards."""
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setenv(plugins.FAILED, "")
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.parametrize("text", FILES)
def test_a_file_that_is_no_use_is_a_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as refused:
        plugins.use(tmp_path / "mine.py")
    said = str(refused.value)
    assert (
        said.startswith(str(tmp_path / "mine.py")) and FILES[text] in said and said.count("Nothing of it is used") < 2
    )
    assert plugins.used() == ()


CHILD = """
import sys
from trainers import plugins
from trainers.errors import UserError
from trainers.plugins.record import recorded

plugins.begin()
try:
    plugins.check(recorded(sys.argv[1].encode()))
except UserError as error:
    print(error)
"""


def test_a_file_that_failed_is_run_once_and_what_needs_it_says_why_in_every_process(tmp_path: Path) -> None:
    file, other = tmp_path / "mine.py", tmp_path / "other.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('once')\n1 / 0\n", encoding="utf-8")
    other.write_text(METRIC.format(name="other"), encoding="utf-8")
    os.environ[plugins.VARIABLE] = os.pathsep.join(map(str, (file, other)))
    begun = "import subprocess, sys; from trainers import plugins; plugins.begin(); plugins.begin()"
    begun += "; assert len(plugins.named()) == 1; subprocess.run([sys.executable, '-c', *sys.argv[1:]], check=True)"
    done = python(tmp_path, "-c", begun, CHILD, json.dumps([TABLE | {"title": str(file)}]))
    assert done.returncode == 0 and (tmp_path / "ran").read_text() == "once", done.stderr
    why = f"{file}, line 2: ZeroDivisionError: division by zero. Nothing of it is used."
    assert (done.stdout, done.stderr) == (f"{why}\n", f"rankscope: {why}\n")


@pytest.mark.parametrize("name", ["absent.py", "folder.py", "text.txt"])
def test_what_is_no_python_file_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "text.txt").write_text("raise OSError")
    with pytest.raises(UserError, match="A Python file"):
        plugins.use(tmp_path / name)


TABLE = {"names": ["x"], "title": "/x.py", "digest": "0" * 64}


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"3", b"[3]", b"[" * 50_000, b"\xff", b"[]" + b" " * 2**17),
        *(json.dumps([TABLE | change]).encode() for change in ({"names": []}, {"names": [3]}, {"digest": "0"})),
        *(json.dumps([TABLE | {"title": title}]).encode() for title in ("a\nb", "x" * 2000, 3, None)),
    ],
)
def test_a_damaged_record_is_a_sentence_and_the_run_opens(content: bytes, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, tiny_config(tmp_path))
    assert folder.plugins == () and not (folder.path / "plugins.json").exists()
    (folder.path / "plugins.json").write_bytes(content)
    assert RunFolder.open(tmp_path, folder.id).config.arms == 2
    with pytest.raises(RunError, match=r"plugins\.json|damaged"):
        _ = folder.plugins


@pytest.mark.parametrize("title", ["/" + "x" * 900 + ".py", "~nobody/x.py", "a package 1.0"])
def test_a_run_from_elsewhere_says_what_it_needs_and_runs_nothing(title: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="This run was begun with x of"):
        plugins.check(recorded(json.dumps([TABLE | {"title": title}]).encode()))


PAGE = """
import os, sys
sys.argv = ["app.py", *sys.argv[1:]]
import app
from trainers import plugins

flags = app.arguments()
try:
    app.begin_plugins(flags.plugin, public=flags.public)
    os.environ["RANKSCOPE_PUBLIC"] = "1" if flags.public else ""
    plugins.begin()  # as a trainer of the page does
except app.UserError as error:
    print(error)
from trainers.losses import LOSSES
print(sorted(LOSSES.keys() & {"soft_margin", "packed"}))
"""


def test_packages_are_used_and_a_public_page_has_neither_files_nor_packages(tmp_path: Path) -> None:
    write_example(tmp_path)
    (tmp_path / "packed.py").write_text(
        "from dataclasses import replace\nfrom my_loss import DESCRIPTOR as one\nmade = replace(one, name='packed')\n"
    )
    about = tmp_path / "packed-2.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: packed\nVersion: 2.1\n")
    (about / "entry_points.txt").write_text("[rankscope]\nmine = packed:made\nbroken = packed:nothing\n")
    told = {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2]}"}
    private = python(tmp_path, "-c", PAGE, "--losses", NAME, **told)
    assert private.stdout == "['packed', 'soft_margin']\n", private.stderr
    assert "rankscope: The package packed 2.1: AttributeError" in private.stderr and "Traceback" not in private.stderr
    assert python(tmp_path, "-c", PAGE, "--public", **told).stdout == "[]\n"
    refused = python(tmp_path, "-c", PAGE, "--public", "--plugin", NAME, **told)
    assert refused.stdout == f"{plugins.PUBLIC}\n[]\n", refused.stderr
