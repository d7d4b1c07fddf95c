"""The files that ``docs/extending.md`` shows add a loss, a metric, a dataset and a gallery, and nothing else does: the
commands use them, and the tests that run over every entry accept them. The tab is tested in a browser.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import ROOT, copied

ADDED = ("margin", "MRR", "squares")
LISTS = ("the_tables_are", "the_map_of", "of_the_right_width", "test_encoder_table", "the_menu", "stands_for_one_entry")
"""What tests lists of all entries, by name."""
FILES = [
    *("tests/contracts/test_losses.py", "tests/contracts/test_registry.py", "tests/contracts/test_datasets.py"),
    *("tests/contracts/test_encoder_table.py", "tests/metrics/test_catalogue.py"),
    *("tests/training/test_device.py", "tests/test_fake_cuda.py", "tests/test_readme.py"),
]
USE = """
from pathlib import Path
from trainers.cli.main import main

small = "--steps 3 --image-size 16 --max-images 120 --classes-per-batch 4 --images-per-class 3 --dim 8 --probe-size 24"
line = "--data squares --losses margin:margin=0.3 --metrics MRR --encoder conv4:width=8 --threads 1"
assert main(["train", *line.split(), *small.split()]) == 0
(folder,) = Path("runs").iterdir()
assert main(["retrieve", folder.name, *"--row 3 --gallery first:count=20 --index flat".split()]) == 0
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program with the examples, whose tables have been written."""
    place = copied(tmp_path_factory.mktemp("program"))
    written = run(place, "-m", "tests.make.tables")
    assert all(f"wrote docs/{page}.md" in written for page in ("losses", "metrics", "retrieval"))
    return place


def test_the_table_names_folders_that_are_there_and_files_in_them() -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| a")]
    for _, _, into, example, _ in rows:
        (folder, *_more) = re.findall(r"`([\w/]+)`", into)
        assert (ROOT / folder).is_dir(), into
        assert all((ROOT / folder / name).is_file() for name in re.findall(r"`(\w+\.py)`", example)), example
    assert len(rows) > 15


def run(program: Path, *command: str) -> str:
    """What a command prints in the copy; it must not fail."""
    found = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, *command], cwd=program, env=found, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_commands_use_them(program: Path) -> None:
    answer = run(program, "-c", USE)
    assert "MRR 0." in answer and "Flat: It was asked" in answer
    assert "first test images of Squares: 20 images, levels colour, group" in answer


@pytest.mark.long
def test_the_tests_of_every_entry_and_of_all_entries_accept_them(program: Path) -> None:
    words = " or ".join((*ADDED, *LISTS))
    told = run(program, "-m", "pytest", "-n0", "-vv", "-p", "no:cacheprovider", "-k", words, *FILES)
    assert all(f"{name}]" in told for name in ADDED), told
    assert all(name in told for name in LISTS), told
