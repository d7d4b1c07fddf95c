"""The README and docs/: their tables come from the code, their map and their links are right, their example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples import examples
from tests.make import tables
from tests.make.tables import TABLES, stale
from trainers.kinds.contrastive.methods import METHODS
from trainers.losses import LOSSES
from trainers.metrics import PUBLISHED
from trainers.retrieval.indexes import INDEXES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TEXTS = {page: page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))}
README, LOSSES_PAGE, INTERNALS = (
    TEXTS[page] for page in (ROOT / "README.md", DOCS / "losses.md", DOCS / "internals.md")
)
DATA = ("assets/models", "assets/recorded")  # what lies below bears the names of models and of runs


# ------------------------------------------------------------------- tables


def test_the_tables_are_what_the_registries_say() -> None:
    assert [path.name for path in stale()] == [], "run `python -m tests.make.tables`"


def test_a_stale_table_is_written_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "losses.md"
    page.write_text(LOSSES_PAGE.replace("| `happier` |", "| `sadder` |"), encoding="utf-8")
    monkeypatch.setattr(tables, "PAGES", [page, *(path for path in tables.PAGES if path.name != "losses.md")])
    tables.main()
    assert page.read_text(encoding="utf-8") == LOSSES_PAGE and "| `happier` |" in LOSSES_PAGE


def test_every_entry_has_a_row_of_the_right_width() -> None:
    for title, names in (("losses", LOSSES), ("metrics", PUBLISHED), ("methods", METHODS), ("indexes", INDEXES)):
        table = TABLES[title]()
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
    assert len(README.splitlines()) <= 120
    front = README.split("---\n")[1]
    assert README.startswith("---\n") and "sdk: gradio" in front and "app_file: app.py" in front


def test_the_readmes_map_names_every_package_and_no_other() -> None:
    assert sorted(mapped(README)) == sorted({"assets/", "docs/", "tests/"} | folders(1, "trainers", "explorer"))


def test_the_map_of_the_internals_names_every_folder_and_no_other() -> None:
    """One of a tab that is added need not be on it."""
    shown, there = mapped(INTERNALS), {"docs/", "tests/"} | folders(2, "trainers", "explorer", "assets")
    tabs = {folder.name for folder in (ROOT / "explorer" / "tabs").iterdir() if folder.is_dir()}
    assert set(shown) <= there and len(shown) == len(set(shown))
    assert there - set(shown) <= {f"{place}/{tab}/" for tab in tabs for place in ("explorer/tabs", "assets")}


@pytest.mark.parametrize("page", [README, INTERNALS], ids=["README", "internals"])
def test_every_folder_on_the_map_has_a_purpose(page: str) -> None:
    assert not [line for line in map_lines(page) if len(line.split(maxsplit=1)) < 2]


def map_lines(page: str) -> list[str]:
    """The lines of a page's map."""
    return re.search(r"## Map(?: of the code)?\n\n```\n(.*?)```", page, re.DOTALL)[1].splitlines()


def mapped(page: str) -> list[str]:
    """The folders on the map of a page, with their parents and a closing slash."""
    paths, above = [], []
    for line in map_lines(page):
        name = line.split()[0]
        if name.endswith("/"):
            depth = (len(line) - len(line.lstrip())) // 2
            above = [*above[:depth], name]
            paths.append("".join(above))
    return paths


def folders(levels: int, *roots: str) -> set[str]:
    """So many levels of the folders below ``roots`` that hold a file, and the roots themselves."""
    files = [path for root in roots for path in (ROOT / root).rglob("*") if path.is_file()]
    kept = {path.relative_to(ROOT).parent for path in files if "__pycache__" not in path.parts}
    shown = {Path(*folder.parts[:depth]) for folder in kept for depth in range(1, levels + 2)}
    return {f"{folder.as_posix()}/" for folder in shown if folder.parent.as_posix() not in DATA}


def test_links_lead_somewhere() -> None:
    for page, text in TEXTS.items():
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
            place = page.parent / target if target else page
            assert place.exists(), f"{page.name} links to {target}"
            if anchor:
                heads = re.findall(r"^#+ (.*)$", place.read_text(encoding="utf-8"), re.MULTILINE)
                known = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
                assert anchor in known, f"{page.name} links to {target}#{anchor}"


def test_every_page_is_in_the_index() -> None:
    index = TEXTS[DOCS / "README.md"]
    assert [page.name for page in TEXTS if page.name != "README.md" and f"({page.name})" not in index] == []


def test_the_modules_that_pages_name_exist() -> None:
    for page, text in TEXTS.items():
        for name in re.findall(r"python -m ((?:trainers|explorer|tests)[\w.]*)", text):
            folder = ROOT / name.replace(".", "/")
            assert folder.with_suffix(".py").exists() or (folder / "__main__.py").exists(), (page.name, name)


def test_the_files_that_pages_name_exist() -> None:
    for page, text in TEXTS.items():
        named = re.findall(r"`((?:trainers|explorer|assets|tests|docs)/[\w/.-]+)`", text)
        assert [name for name in named if not (ROOT / name).exists() and name not in examples()] == [], page.name
