"""The README and docs/: their tables come from the code, their map and their links are right, their example runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

from trainers.cli.main import main
from trainers.cli.readme_tables import augmentations_table, entries_table, losses_table, metrics_table, models_table
from trainers.kinds.contrastive.methods import METHODS
from trainers.losses import LOSSES
from trainers.metrics import PUBLISHED

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
LOSSES_PAGE = (DOCS / "losses.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
DATA = ("assets/models", "assets/recorded")  # what lies below bears the names of models and of runs


# ------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("name", "page", "table"),
    [
        ("losses", "losses.md", losses_table()),
        ("metrics", "metrics.md", metrics_table()),
        ("models", "object-removal.md", models_table()),
        ("augmentations", "training.md", augmentations_table()),
        ("methods", "contrastive.md", entries_table(METHODS)),
    ],
)
def test_the_table_is_what_the_command_prints(
    name: str, page: str, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, re.DOTALL)
    assert found is not None
    assert found[1].strip() == table, f"run `python -m trainers {name} --markdown` and put its table into docs/{page}"
    assert main([name, "--markdown"]) == 0
    assert capsys.readouterr().out.strip() == table


def test_every_entry_has_a_row_of_the_right_width() -> None:
    for table, names in ((losses_table(), LOSSES), (metrics_table(), PUBLISHED), (entries_table(METHODS), METHODS)):
        head, _, *rows = table.splitlines()
        assert all(row.count(" | ") == head.count(" | ") for row in rows)
        assert all(any(f"`{name}`" in row for row in rows) for name in names)


def test_names_in_the_text_exist() -> None:
    claimed = re.findall(r"`([a-z_]+)`", LOSSES_PAGE[: LOSSES_PAGE.index("`python -m trainers losses` lists")])
    assert claimed and set(claimed) <= set(LOSSES)


def test_every_default_that_is_not_the_papers_is_named() -> None:
    """The exceptions stand in a list of their own, and they are those whose descriptor says so."""
    said = LOSSES_PAGE[LOSSES_PAGE.index("five exceptions") : LOSSES_PAGE.index("`python -m trainers losses` lists")]
    named = {LOSSES[name].alias_of or name for name in re.findall(r"`([a-z_]+)`", said)}
    assert {name for name, loss in LOSSES.items() if loss.follows_code and loss.alias_of is None} <= named
    pairs = {name for name, loss in LOSSES.items() if hasattr(loss.parameters, "mean_over")}
    assert {name for name in named if not LOSSES[name].follows_code} == pairs - {"calibration"}


# --------------------------------------------------------- length, map, links


def test_the_readme_is_short_and_begins_with_what_spaces_reads() -> None:
    assert len(README.splitlines()) <= 150
    front = README.split("---\n")[1]
    assert README.startswith("---\n") and "sdk: gradio" in front and "app_file: app.py" in front


def test_the_map_names_every_folder_and_no_other() -> None:
    found = mapped()
    there = {f"{name}/" for name in ("docs", "tests")} | folders("trainers", "explorer", "assets")
    tabs = {name for name in there if name.startswith("explorer/tabs/") and name != "explorer/tabs/"}
    assert set(found) == there - tabs
    assert len(found) == len(set(found)), "a folder stands on the map twice"


def test_every_folder_on_the_map_has_a_purpose() -> None:
    assert not [line for line in map_lines() if len(line.split(maxsplit=1)) < 2]


def map_lines() -> list[str]:
    """The lines of the README's map."""
    return re.search(r"## Map of the code\n\n```\n(.*?)```", README, re.DOTALL)[1].splitlines()


def mapped() -> list[str]:
    """The folders on the map, with their parents and a closing slash."""
    paths, above = [], []
    for line in map_lines():
        name = line.split()[0]
        if name.endswith("/"):
            depth = (len(line) - len(line.lstrip())) // 2
            above = [*above[:depth], name]
            paths.append("".join(above))
    return paths


def folders(*roots: str) -> set[str]:
    """Two levels of the folders below ``roots`` that hold a file, and the roots themselves."""
    files = [path for root in roots for path in (ROOT / root).rglob("*") if path.is_file()]
    kept = {path.relative_to(ROOT).parent for path in files if "__pycache__" not in path.parts}
    found = {Path(*folder.parts[:depth]) for folder in kept for depth in (1, 2, 3)}
    return {f"{one.as_posix()}/" for one in found if one.parent.as_posix() not in DATA}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        place = page.parent / target if target else page
        assert place.exists(), f"{page.name} links to {target}"
        if anchor:
            heads = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if page.name != "README.md" and f"({page.name})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_modules_it_names_exist(page: Path) -> None:
    for name in re.findall(r"python -m ((?:trainers|explorer|tests)[\w.]*)", page.read_text(encoding="utf-8")):
        place = ROOT / name.replace(".", "/")
        assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_files_it_names_exist(page: Path) -> None:
    named = re.findall(r"`((?:trainers|explorer|assets|tests|docs)/[\w/.-]+)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists() and name != "trainers/losses/margin.py"] == []


# ------------------------------------------------------------------- example


def test_the_example_is_a_loss() -> None:
    example = re.search(r"```python\n(.*?)```", (DOCS / "extending.md").read_text(encoding="utf-8"), re.DOTALL)
    module = type(sys)("margin")
    sys.modules["margin"] = module
    try:
        exec(example[1], module.__dict__)
        descriptor = module.DESCRIPTOR
        loss = descriptor.module(descriptor.parameters())
        embeddings = torch.randn(8, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
        terms = loss.terms(embeddings, torch.arange(8)[:, None] // 2)
    finally:
        del sys.modules["margin"]
    assert set(terms) == {"pull", "push"} and all(term.isfinite() for term in terms.values())
