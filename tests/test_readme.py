"""The README's tables are the catalogue's own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from trainers.cli.readme_tables import losses_table, metrics_table, models_table
from trainers.losses import LOSSES
from trainers.metrics import IMAGE_TEXT_METRICS, METRICS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "table"), [("losses", losses_table()), ("metrics", metrics_table()), ("models", models_table())]
)
def test_the_table_is_what_the_command_prints(name: str, table: str) -> None:
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", README, re.DOTALL)
    assert found is not None
    assert found[1].strip() == table, f"run `python -m trainers {name} --markdown` and put its table into the README"
    printed = subprocess.run(
        [sys.executable, "-W", "error", "-m", "trainers", name, "--markdown"],
        capture_output=True,
        cwd=ROOT,
        check=True,
        encoding="utf-8",
    )
    assert printed.stdout.strip() == table


def test_every_entry_has_a_row_of_the_right_width() -> None:
    for table, names in ((losses_table(), LOSSES), (metrics_table(), {**METRICS, **IMAGE_TEXT_METRICS})):
        head, _, *rows = table.splitlines()
        assert all(row.count(" | ") == head.count(" | ") for row in rows)
        assert all(any(f"`{name}`" in row for row in rows) for name in names)


def test_names_in_the_text_exist() -> None:
    claimed = re.findall(r"`([a-z_]+)`", README[README.index("## What it implements") : README.index("<details>")])
    assert claimed and set(claimed) <= set(LOSSES)


def test_every_default_that_is_not_the_papers_is_named() -> None:
    """The exceptions stand in a list of their own, and they are those whose descriptor says so."""
    said = README[README.index("it is the other way") : README.index("`python -m trainers losses` lists")]
    named = {LOSSES[name].alias_of or name for name in re.findall(r"`([a-z_]+)`", said)}
    assert {name for name, loss in LOSSES.items() if loss.follows_code and loss.alias_of is None} <= named
    pairs = {name for name, loss in LOSSES.items() if "mean_over" in loss.defaults()}
    assert {name for name in named if not LOSSES[name].follows_code} == pairs - {"calibration"}
