"""The page's scripts pass their linter, see ``.oxlintrc.json``: no undefined names, no imports that lead nowhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
OXLINT = shutil.which("oxlint", path=str(Path(sys.executable).parent)) or shutil.which("oxlint")
WRONG = """import { box, nowhere } from "./other.js";
export const size = () => box(widht);
"""


def lint(*paths: Path) -> subprocess.CompletedProcess[str]:
    assert OXLINT, "the linter is missing: pip install -r tests/requirements.txt"
    flags = ["--config", str(ROOT / ".oxlintrc.json"), "--deny-warnings", "--format", "unix"]
    return subprocess.run([OXLINT, *flags, *map(str, paths)], capture_output=True, text=True, timeout=60, cwd=ROOT)


def test_the_scripts_pass_the_linter() -> None:
    done = lint(ROOT / "assets", ROOT / "tests" / "browser")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linter_finds_what_a_browser_would_only_find_at_run_time(tmp_path: Path) -> None:
    (tmp_path / "other.js").write_text("export const box = (side) => side * side;\n", encoding="utf-8")
    (tmp_path / "wrong.js").write_text(WRONG, encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode != 0
    assert all(rule in done.stdout for rule in ("no-undef", "import(named)", "no-unused-vars")), done.stdout


def test_no_two_tabs_style_the_same_class() -> None:
    """The style sheets of all tabs hold for the whole page."""
    homes: dict[str, set[str]] = {}
    for sheet in (Path(__file__).parents[1] / "assets").rglob("*.css"):
        folder = sheet.relative_to(sheet.parents[2] if sheet.parent.name == "plots" else sheet.parents[1]).parts[0]
        for name in re.findall(r"^\s*\.(rs-\w+)\s*[,{]", sheet.read_text(encoding="utf-8"), re.MULTILINE):
            homes.setdefault(name, set()).add(folder)
    shared = {"common", "page"}
    assert {name: tabs for name, tabs in homes.items() if len(tabs - shared) > 1} == {}
