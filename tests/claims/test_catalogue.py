"""The tables of the claims: what is wrong in one is said with the file, the claim and the key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from trainers.claims.base import WORKS
from trainers.claims.catalogue import CLAIMS, FOLDER, NOTES, read
from trainers.claims.plans import PLANS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the tables."""
    return Path(shutil.copytree(FOLDER, tmp_path / "papers"))


def test_every_plan_is_some_claims_and_every_file_is_read() -> None:
    plans = {id(made) for claim in CLAIMS.values() for made in (claim.plan, claim.begins)}
    assert all(id(plan.make) in plans for plan in PLANS.values())
    assert {path.stem for path in FOLDER.iterdir()} == {*WORKS, NOTES}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[rod_recall]", "[rod_recall", "rank_losses.toml: Expected ']'"),
        ("[rod_recall]", "[moco_bank]", "contrastive.toml, claim moco_bank: there is one of that name in rank_losses"),
        ('statement = "The bound together', 'statment = "The', "rank_losses.toml, claim roadmap: key statement: Field"),
        ("margin = 0.02", 'margin = "wide"', "claim happier_fine: key margin: Input should be a valid number"),
        ('plan = "ranks"', 'plan = "rank"', "key plan: There is no plan 'rank'; .* Did you mean 'ranks'"),
        ('"HAPPIER", "Smooth-AP"]', '"HAPPIER"]', "key differences: a metric with two or four sides was needed"),
        ('ours = ["table_ii"', 'ours = ["table_i"', "key ours: 'table_i' is no sentence and no name in notes.toml"),
        (
            "{sop_average_precision/AP_at_R/",
            "{sop_average_precision/HAP/",
            "key printed: .* is not one figure of the recipe",
        ),
        ('recipe = ["sop_recall"', 'recipe = ["sop_recalls"', "key recipe: There is no recipe 'sop_recalls'"),
        ('{"Classes per batch" = 24}]', "{x = 1}, {y = 2}]", "key differences: the list under has [35] conditions for"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(folder: Path, old: str, new: str, said: str) -> None:
    path = folder / "rank_losses.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        read(folder)
    path.unlink()
    with pytest.raises(ValueError, match=r"rank_losses\.toml: .*No such file"):
        read(folder)
