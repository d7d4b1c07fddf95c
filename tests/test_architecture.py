"""Imports run one way: app -> explorer -> trainers; the trainers are headless; no tab imports a tab."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEADLESS = {"gradio", "plotly", "umap", "faiss", "explorer", "app"}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the whole name"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(package: str) -> list[Path]:
    found = sorted((ROOT / package).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("path", sources("trainers"), ids=lambda p: str(p.relative_to(ROOT)))
def test_trainers_are_headless(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & HEADLESS


@pytest.mark.parametrize("path", sources("explorer"), ids=lambda p: str(p.relative_to(ROOT)))
def test_explorer_does_not_import_the_app_or_another_tab(path: Path) -> None:
    names = set(imported(path))
    assert "app" not in {name.split(".")[0] for name in names}
    if path.parent.name == "tabs" and path.stem != "__init__":
        tabs = {f"explorer.page.tabs.{other.stem}" for other in path.parent.glob("*.py")} - {
            "explorer.page.tabs.__init__"
        }
        assert not names & (tabs - {"explorer.page.tabs.base"})


def test_no_machine_paths_in_the_repository() -> None:
    kinds = {".py", ".js", ".css", ".md", ".toml", ".yml", ".txt"}
    roots = ("trainers", "explorer", "assets", "tests")
    places = [p for root in roots for p in (ROOT / root).rglob("*") if p.suffix in kinds]
    marks = ("/wo" + "rk/", "/ro" + "ot/")
    texts = {p: p.read_text() for p in (*places, ROOT / "app.py", ROOT / "README.md") if p.exists()}
    assert not [str(p) for p, text in texts.items() if any(mark in text for mark in marks)]
