"""Groups of classes with similar names, by k-means; the table of classes and superclasses, and its verb."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import trainers.image_text.class_table as grouping
from tests.data.world import write_tree
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.errors import UserError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.class_table import (
    ClassTable,
    NameEncoder,
    Similarity,
    centres,
    class_groups,
    kmeans,
    nearest_groups,
)
from trainers.parameters import Choice

NAMES = ["red_apple", "green-apple", "old car", "new car", "oak tree", "pine tree", "small apple"]
WORDS = Similarity(encoder=NameEncoder(), by="words")
PATHS = [f"{kind} {number}" for kind in ("church", "castle", "lake", "river") for number in ("one", "two", "three")]


class Words(ImageTextModel):
    """A text tower that knows words: the last one counts twice."""

    def __init__(self) -> None:
        super().__init__(side=8, context=8, mean=(0, 0, 0), std=(1, 1, 1))
        self.weight = torch.nn.Parameter(torch.randn(64, 32, generator=torch.Generator().manual_seed(0)))
        self.known: dict[str, int] = {}
        self.asked: list[str] = []

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        self.asked += texts
        rows = [[self.known.setdefault(word, len(self.known)) for word in text.split()[-2:]] for text in texts]
        return torch.tensor(rows)

    def text_features(self, tokens: Tensor) -> Tensor:
        return self.weight[tokens[:, 0]] + 2 * self.weight[tokens[:, 1]]


@pytest.mark.parametrize("by", ["meaning", "words"])
def test_similar_names_come_together(by: str) -> None:
    made = class_groups(NAMES, 3, by=by, encoder=NameEncoder(Words()))
    assert made.of.tolist() == [0, 0, 1, 1, 2, 2, 0]
    assert made.named_after[0] in (0, 1, 6), "a group is named after one of its classes"
    assert {*made.titles(NAMES)} == {NAMES[row] for row in made.named_after}


def test_the_order_of_the_classes_changes_nothing() -> None:
    def sets(names: list[str]) -> set[frozenset[str]]:
        titles = class_groups(names, 4, seed=3, encoder=NameEncoder(Words())).titles(names)
        return {frozenset(name for name, of in zip(names, titles, strict=True) if of == title) for title in titles}

    assert sets(NAMES) == sets(NAMES[::-1])


def unit_rows(count: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, 6))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("count", [2, 5, 20])
def test_k_means_ends_where_nothing_moves(count: int) -> None:
    """Each vector is nearest to the mean of its cluster, and none of the clusters is empty."""
    unit = unit_rows(60)
    labels = kmeans(unit, count, seed=1)
    assert {*labels} == {*range(count)} and (labels == kmeans(unit, count, seed=1)).all()
    assert (np.argmax(unit @ centres(unit, labels, count).T, axis=1) == labels).all()
    first = [int(np.argmax(labels == cluster)) for cluster in range(count)]
    assert first == sorted(first)


def test_equal_vectors_fill_as_many_clusters_as_asked() -> None:
    assert {*kmeans(np.ones((5, 1)), 4)} == {0, 1, 2, 3}


def test_groups_are_grouped_by_their_means() -> None:
    groups = [row // 3 for row in range(len(PATHS))]
    made = class_groups(PATHS, 2, of=groups, encoder=NameEncoder(Words()))
    assert len(made.of) == 4 and {*made.of} == {0, 1}
    nearest = nearest_groups(PATHS, ["castle two", "river two"], of=groups, encoder=NameEncoder(Words()))
    assert nearest[1] == 0 and nearest[3] == 1


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        *((partial(class_groups, NAMES, count), "groups") for count in (0, 1, len(NAMES), 50)),
        *(
            (partial(class_groups, NAMES, 2, of=of, by="words"), "A group from 0 on")
            for of in ([0, 1], [0, 1, 2, 4, 5, 6, 7], [-1, 0, 1, 2, 3, 4, 5], [10**9] * 7)
        ),
        (partial(class_groups, NAMES, 2, by="colour"), "compared by meaning or words"),
        (partial(nearest_groups, NAMES, ["one", "one"], by="words"), "different names of groups"),
        (lambda: ClassTable.clustered("class", NAMES, 3, WORDS).split("sky", 2, WORDS), "no superclass 'sky'; there"),
    ],
)
def test_what_cannot_be_grouped_is_a_sentence(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        ask()


def test_names_without_letters_and_of_other_alphabets_have_embeddings() -> None:
    unit = NameEncoder()(["???", "", "教会", "教会 大", "a"], "words")
    assert np.allclose(np.linalg.norm(unit, axis=1), 1) and unit[2] @ unit[3] > unit[2] @ unit[4]


def test_a_model_of_the_registry_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "TOWER", Choice(name="tiny_clip"))
    assert {*class_groups(NAMES, 3).of} == {0, 1, 2}


# ------------------------------------------------------------------ the table

CLASSES = [f"{place} {kind}" for kind in ("church", "bridge", "lake") for place in ("old", "stone", "royal")]


@pytest.fixture
def table() -> ClassTable:
    return ClassTable.clustered("class", CLASSES, 3, WORDS)


def kinds(members: list[str]) -> set[str]:
    return {name.split()[-1] for name in members}


def test_a_superclass_is_split_under_what_was_above_it(table: ClassTable) -> None:
    over = table.above(["made", "grown"], WORDS)
    name, members = next(iter(over.groups().items()))
    halves = over.split(name, 2, WORDS)
    assert len(halves.groups()) == 4 and halves.groups(2) == over.groups(2)
    assert sorted(len({*held} & {*members}) for held in halves.groups().values()) == [0, 0, 1, 2]
    alone = over.split(name, 3, WORDS)
    assert {*members} <= {*alone.groups()}, "as many parts as classes: each alone, under its own name"


def test_parts_take_no_name_of_another_group() -> None:
    rows = (("a b", "x"), ("a c", "x"), ("d e", "a b"))
    made = ClassTable(levels=("class", "superclass"), rows=rows).split("x", 2, WORDS)
    assert [row[1] for row in made.rows] == ["a b 2", "a c", "a b"]


def test_levels_are_put_above_without_what_is_dropped(table: ClassTable) -> None:
    rows = tuple((name, "(dropped)") if name == "old lake" else (name, above) for name, above in table.rows)
    over = ClassTable(levels=table.levels, rows=rows).above(2, WORDS).above(["all of it", "nothing"], WORDS)
    assert over.levels == ("class", "superclass", "top", "level 3") and len(over.groups(2)) == 2
    assert dict(zip(CLASSES, over.rows, strict=True))["old lake"] == ("old lake", *["(dropped)"] * 3)
    again = ClassTable.read(over.csv(), "class", CLASSES)
    assert again == over


def test_classes_with_several_superclasses_are_dropped() -> None:
    text = "class,kind\na,x\nb,x\nb,y\nc,y\n"
    assert ClassTable.read(text, "class", ["a", "b", "c"]).rows == (("a", "x"), ("b", "(dropped)"), ("c", "y"))


def test_a_cell_that_a_spreadsheet_would_run_comes_back_as_it_was() -> None:
    rows = (("=1+1", "-x"), ("b", "@y"))
    text = ClassTable(levels=("class", "kind"), rows=rows).csv()
    assert "'=1+1,'-x" in text
    assert ClassTable.read(text, "class", ["=1+1", "b"]).rows == rows


def test_the_verb_writes_what_training_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tree(tmp_path / "own", CLASSES)
    file, source = tmp_path / "families.csv", str(tmp_path / "own")
    make = ["group", source, "--by", "words", "--out", str(file)]
    assert main([*make, "--groups", "3", "--above-names", "lake", "church"]) == 0
    assert "9 class > 3 superclass > 2 top. Wrote" in capsys.readouterr().err
    group = file.read_text().splitlines()[1].split(",")[1]
    assert main([*make, "--table", str(file), "--split", f"{group}=3"]) == 0
    rows = file.read_text().splitlines()
    dropped = [f"{row.split(',')[0]},(dropped),(dropped)" if row.startswith("old ") else row for row in rows]
    file.write_text("\n".join(dropped))
    choice = DataChoice(source=source, hierarchy=Choice(name="mapping", parameters={"table": str(file)}))
    data = load_data(choice)
    assert data.hierarchy.levels == ("class", "superclass", "top") and len(data.hierarchy.names[0]) == 6
    assert dict(inspect_data(choice).dropped) == {name: 3 for name in CLASSES if "old" in name}
    capsys.readouterr()
    assert main(["group", source, "--groups", "3", "--by", "words", "--json"]) == 0
    assert '"levels"' in capsys.readouterr().out
    assert main(["group", "drawn", "--groups", "3", "--by", "words"]) == 1
    assert "From 3 to 2,000 classes were needed" in capsys.readouterr().err
