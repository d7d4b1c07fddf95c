"""The examples of ``docs/extending.md``: whole files, each below a comment that says where it stands."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
_FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


def examples() -> dict[str, str]:
    """The text of each example by its path from the root of the program."""
    return dict(_FILE.findall((ROOT / "docs" / "extending.md").read_text(encoding="utf-8")))


def copied(place: Path) -> Path:
    """A copy of the program with the examples in it."""
    for folder in ("trainers", "explorer", "assets", "tests", "docs"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (path for path in ROOT.iterdir() if path.is_file()):
        shutil.copy(file, place)
    for name, text in examples().items():
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return place
