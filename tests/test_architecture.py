"""Imports run one way: app -> explorer -> trainers; the trainers are headless; no tab imports a tab.

The folders show the structure: few modules at the roots, a component's script and style side by side. The words are the
field's: those that were retired do not come back as names.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEADLESS = {"gradio", "plotly", "umap", "explorer", "app"}


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


def test_faiss_is_imported_in_one_place() -> None:
    places = [path for package in ("trainers", "explorer") for path in sources(package)]
    named = [path for path in places if "faiss" in {name.split(".")[0] for name in imported(path)}]
    assert [str(path.relative_to(ROOT)) for path in named] == ["trainers/retrieval/faiss_library.py"]


@pytest.mark.parametrize("path", sources("explorer"), ids=lambda p: str(p.relative_to(ROOT)))
def test_explorer_does_not_import_the_app_or_another_tab(path: Path) -> None:
    names = set(imported(path))
    assert "app" not in {name.split(".")[0] for name in names}
    if path.parent.name == "tabs" and path.stem != "__init__":
        tabs = {f"explorer.page.tabs.{other.stem}" for other in path.parent.glob("*.py")} - {
            "explorer.page.tabs.__init__"
        }
        assert not names & (tabs - {"explorer.page.tabs.base"})


LAYERS = ("runs", "training", "kinds", "worker", "cli")


@pytest.mark.parametrize("path", sources("trainers"), ids=lambda p: str(p.relative_to(ROOT)))
def test_packages_of_the_trainers_import_one_way(path: Path) -> None:
    layer = path.relative_to(ROOT / "trainers").parts[0].removesuffix(".py")
    above = LAYERS[LAYERS.index(layer) + 1 :] if layer in LAYERS else ()
    assert not {name for name in imported(path) if name.startswith(tuple(f"trainers.{package}" for package in above))}


def test_no_machine_paths_in_the_repository() -> None:
    kinds = {".py", ".js", ".css", ".md", ".toml", ".yml", ".txt"}
    roots = ("trainers", "explorer", "assets", "tests", "docs")
    places = [p for root in roots for p in (ROOT / root).rglob("*") if p.suffix in kinds]
    marks = ("/wo" + "rk/", "/ro" + "ot/")
    texts = {p: p.read_text() for p in (*places, ROOT / "app.py", ROOT / "README.md") if p.exists()}
    assert not [str(p) for p, text in texts.items() if any(mark in text for mark in marks)]


@pytest.mark.parametrize("package", ["trainers", "explorer"])
def test_few_modules_at_the_root(package: str) -> None:
    assert len([path for path in (ROOT / package).glob("*.py") if path.stem != "__init__"]) <= 10


def test_no_script_or_style_at_the_root_of_the_assets() -> None:
    assert [path.name for path in (ROOT / "assets").iterdir() if path.suffix in (".js", ".css")] == []


# Parts of names for which the field has another word; a word goes onto the list when the last name with it is gone.
RETIRED = frozenset({"faults", "resident", "wares", "wording"})


def named(path: Path) -> set[str]:
    """The lower-case words that the names in a source file, and the file's own name, are made of."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        names = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.NAME]
    else:
        names = re.findall(
            r"[A-Za-z_$][\w$]*", re.sub(r"//[^\n]*|/\*.*?\*/|`[^`]*`|\"[^\"\n]*\"", " ", text, flags=re.S)
        )
    return {word.lower() for name in [path.stem, *names] for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_retired_words_are_no_names() -> None:
    roots = (("trainers", "*.py"), ("explorer", "*.py"), ("assets", "*.js"))
    places = [path for root, kind in roots for path in (ROOT / root).rglob(kind)]
    assert {
        str(path.relative_to(ROOT)): sorted(named(path) & RETIRED) for path in places if named(path) & RETIRED
    } == {}
