"""The digest of a claim: what it counts, and what it does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import trainers
from trainers.claims import parts as parts_of
from trainers.claims.catalogue import CLAIMS

CLAIM = CLAIMS["roadmap"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the program's code, which the digest is made of."""
    root = tmp_path / "trainers"
    shutil.copytree(Path(trainers.__file__).parent, root, ignore=lambda folder, names: ["results", "__pycache__"])
    monkeypatch.setattr(parts_of, "_ROOT", root)
    return root


@pytest.fixture(autouse=True)
def afresh() -> None:
    _forget()


def _forget() -> None:
    for cached in (parts_of._read, parts_of._code, parts_of._label):
        cached.cache_clear()


def digest() -> str:
    _forget()
    return parts_of.digest(CLAIM)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_definition_may_move_and_be_called_otherwise(tree: Path) -> None:
    before, path = digest(), tree / "losses" / "average_precision.py"
    moved = path.read_text(encoding="utf-8").replace("def sup_ap(", "def made(").replace("=sup_ap", "=made")
    (path.parent / "other.py").write_text(moved, encoding="utf-8")
    path.write_text(
        "from trainers.losses.other import RoadmapParameters, made as sup_ap, roadmap, smooth_ap\n", "utf-8"
    )
    assert digest() == before


def test_comments_docstrings_and_types_change_nothing(tree: Path) -> None:
    before = digest()
    edit(tree / "samplers" / "base.py", "def turns(", "# a comment\ndef turns(")
    edit(tree / "samplers" / "m_per_class.py", '"""Walks', '"""Otherwise: walks')
    edit(tree / "metrics" / "topk.py", "queries: Tensor", "queries: object")
    assert digest() == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("losses/_rank_loss.py", "self.", "other."),
        ("losses/_rank_kernels.py", "+= ", "-= "),
        ("metrics/blocks.py", "GRID = ", "GRID = 1 + "),
        ("kinds/metric_learning/loop.py", "TRAIN_SECONDS = 10.0", "TRAIN_SECONDS = 11.0"),
    ],
)
def test_code_that_it_uses_counts(tree: Path, file: str, old: str, new: str) -> None:
    before = digest()
    edit(tree / file, old, new)
    assert digest() != before


def test_code_that_it_does_not_use_changes_nothing(tree: Path) -> None:
    before = digest()
    edit(tree / "losses" / "infonce.py", "self.", "other.")
    assert digest() == before
