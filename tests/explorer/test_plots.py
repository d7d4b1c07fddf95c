"""What the server tells of plots: forms that the page has, controlled mistakes, and that a run is a single one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.explorer.page import Page
from tests.synthetic import make_run
from trainers.hierarchy import severity_words
from trainers.kinds.metric_learning.measures import PLOTS
from trainers.metrics import METRICS, controlled_errors

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "live" / "plots"


def test_the_page_has_every_form() -> None:
    listed = re.search(r"new Map\(\[(.*?)\]", (FOLDER / "forms.js").read_text())
    assert listed is not None
    matches = re.findall(
        r"export const (\w+) = \{ name: \"(\w+)\"", "".join(p.read_text() for p in FOLDER.glob("*.js"))
    )
    forms = {name for constant, name in matches if constant in listed[1].split(", ")}
    assert forms == {plot.form for plot in PLOTS}


def test_controlled_mistakes_are_told_in_the_words_of_the_run(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1)
    probe = folder.probe()
    assert probe is not None
    reply = page.json(f"run/{folder.id}/controlled_errors")
    assert reply["words"] == severity_words(probe.hierarchy) and len(reply["words"]) == probe.hierarchy.depth + 1
    assert {case["shared"] for case in reply["cases"]} == set(range(probe.hierarchy.depth))
    assert [metric["title"] for metric in reply["metrics"]] == [
        METRICS[name].title for name in controlled_errors.METRICS
    ]
    first = reply["cases"][0]
    assert (first["mistakes"], first["rank"]) == (0, 1) and first["values"] == pytest.approx([1.0] * 4)


@pytest.mark.parametrize(("arms", "words"), [(2, "differences may be chance."), (1, "other seeds may give other")])
def test_a_comparison_says_that_it_is_one_run(page: Page, root: Path, arms: int, words: str) -> None:
    told = page.json(f"run/{make_run(root, points=48, frames=1, arms=arms).id}")["alone"]
    assert told.startswith("One run, one seed, one learning rate") and words in told


def test_a_run_that_belongs_to_a_plan_does_not_say_so(page: Page, root: Path) -> None:
    folder = make_run(root, points=48, frames=1)
    (folder.path / "part_of").write_text("0" * 26)
    assert page.json(f"run/{folder.id}")["alone"] == ""


def test_a_script_two_folders_down_is_served_and_none_further(root: Path, tmp_path: Path) -> None:
    for name in ("a/b/c.js", "a/b/c/d.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("export {};")
    page = Page(root, root / "recorded", tmp_path)
    assert page.get("assets/a/b/c.js").status_code == 200
    for other in ("a/b/c/d.js", "a/../a/b/c.js", "a//b/c.js", "/a/b/c.js"):
        assert page.get(f"assets/{other.replace('/', '%2f')}").status_code == 404
