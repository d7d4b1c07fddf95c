"""Imports run one way: app -> explorer -> trainers; the trainers are headless; no tab imports a tab.

The folders show the structure: few modules at the roots, a component's script and style side by side.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEADLESS = {"gradio", "plotly", "umap", "explorer", "app"}


def names_imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the whole name"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imports(package: str) -> dict[str, set[str]]:
    """What each file of a package imports, by the file's path from the root."""
    found = {str(path.relative_to(ROOT)): set(names_imported(path)) for path in sorted((ROOT / package).rglob("*.py"))}
    assert found
    return found


def among(names: set[str], packages: Iterable[str]) -> set[str]:
    """The names that are one of the packages or stand in one."""
    return {name for name in names for package in packages if name == package or name.startswith(f"{package}.")}


def test_trainers_are_headless() -> None:
    wrong = {path: among(names, HEADLESS) for path, names in imports("trainers").items()}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_faiss_is_imported_in_one_place() -> None:
    every = imports("trainers") | imports("explorer")
    places = [path for path, names in every.items() if among(names, ("faiss",))]
    assert places == ["trainers/retrieval/indexes.py"]


def test_parts_of_the_explorer_import_one_way() -> None:
    wrong = {}
    for path, names in imports("explorer").items():
        part = path.split("/")[1].removesuffix(".py")
        above = PARTS[PARTS.index(part) + 1 :] if part in PARTS else ()
        wrong[path] = among(names, ["app", *(f"explorer.{name}" for name in above)])
    assert {path: names for path, names in wrong.items() if names} == {}


def test_no_tab_imports_another() -> None:
    wrong = {}
    for path, names in imports("explorer").items():
        if path.startswith("explorer/tabs/"):
            own = among(names, [f"explorer.tabs.{path.split('/')[2]}"])
            wrong[path] = among(names, ["explorer.tabs"]) - own
    assert {path: names for path, names in wrong.items() if names} == {}


def test_no_script_of_a_tab_imports_one_of_another() -> None:
    shared, wrong = {"common", "vendor"}, []
    for path in (ROOT / "assets").rglob("*.js"):
        own = path.relative_to(ROOT / "assets").parts[0]
        for target in re.findall(r"""(?:from|import)\s*\(?"(\.[^"]+)\"""", path.read_text(encoding="utf-8")):
            folder = (path.parent / target).resolve().relative_to(ROOT / "assets").parts[0]
            if folder not in shared | {own}:
                wrong.append(f"{path.relative_to(ROOT)} imports {target}")
    assert wrong == []


PARTS = ("settings", "palette", "server", "layout", "exports", "components", "page", "tabs")
"""Parts of the explorer; each imports only those before it."""


def arrows(package: str) -> dict[str, set[tuple[str, str]]]:
    """Which part of each package imports which other part of it, by the package's whole name; all levels of a tree."""
    modules = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in imports(package)}
    parts = {name.rpartition(".")[::2] for name in modules if "." in name}
    found: dict[str, set[tuple[str, str]]] = {}
    for module, path in modules.items():
        for inside, _ in parts:
            if module.startswith(f"{inside}."):
                own = module.removeprefix(f"{inside}.").split(".")[0]
                others = {
                    name.removeprefix(f"{inside}.").split(".")[0] for name in among(imports(package)[path], [inside])
                }
                found.setdefault(inside, set()).update((own, part) for part in others if (inside, part) in parts)
    return {inside: {(one, other) for one, other in pairs if one != other} for inside, pairs in found.items()}


def in_circles(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The arrows without those that lead to a part that imports nothing more, and from one that nothing imports."""
    while True:
        importing, imported = {one for one, _ in pairs}, {other for _, other in pairs}
        left = {(one, other) for one, other in pairs if other in importing and one in imported}
        if left == pairs:
            return left
        pairs = left


@pytest.mark.parametrize("package", ["trainers", "explorer"])
def test_no_parts_of_a_package_import_each_other(package: str) -> None:
    circles = {name: in_circles(pairs) for name, pairs in arrows(package).items()}
    assert {name: sorted(pairs) for name, pairs in circles.items() if pairs} == {}


LAYERS = ("runs", "training", "kinds", "worker", "cli")


def test_packages_of_the_trainers_import_one_way() -> None:
    wrong = {}
    for path, names in imports("trainers").items():
        layer = path.split("/")[1].removesuffix(".py")
        above = LAYERS[LAYERS.index(layer) + 1 :] if layer in LAYERS else ()
        wrong[path] = among(names, [f"trainers.{package}" for package in above])
    assert {path: names for path, names in wrong.items() if names} == {}


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
