"""Groups of classes with similar names, by k-means, and the verb that writes them as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import trainers.image_text.class_groups as grouping
from tests.data.world import write_tree
from trainers.cells import csv_text
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.labelled.hierarchies import read_mapping
from trainers.errors import UserError
from trainers.image_text.base import ImageTextModel
from trainers.image_text.class_groups import NameEncoder, centres, class_groups, kmeans, nearest_groups
from trainers.parameters import Choice

NAMES = ["red_apple", "green-apple", "old car", "new car", "oak tree", "pine tree", "small apple"]
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


def test_k_means_is_not_worse_than_what_made_the_vectors() -> None:
    means = unit_rows(4, seed=5)
    truth = np.arange(80) % 4
    unit = means[truth] + 0.3 * unit_rows(80, seed=6)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)

    def total(labels: np.ndarray) -> float:
        return float((unit * centres(unit, labels, 4)[labels]).sum())

    assert total(kmeans(unit, 4)) >= total(truth)


def test_equal_vectors_fill_as_many_clusters_as_asked() -> None:
    assert {*kmeans(np.ones((5, 1)), 4)} == {0, 1, 2, 3}


def test_groups_are_grouped_by_their_means() -> None:
    groups = [row // 3 for row in range(len(PATHS))]
    made = class_groups(PATHS, 2, of=groups, encoder=NameEncoder(Words()))
    assert len(made.of) == 4 and {*made.of} == {0, 1}
    nearest = nearest_groups(PATHS, ["castle two", "river two"], of=groups, encoder=NameEncoder(Words()))
    assert nearest[1] == 0 and nearest[3] == 1


def test_a_name_is_embedded_once() -> None:
    tower = Words()
    encode = NameEncoder(tower)
    class_groups(NAMES, 3, encoder=encode)
    class_groups(NAMES[:4], 2, encoder=encode)
    assert sorted(tower.asked) == sorted(f"a photo of a {name.replace('_', ' ').replace('-', ' ')}" for name in NAMES)


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
    ],
)
def test_what_cannot_be_grouped_is_a_sentence(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        ask()


def test_names_without_letters_and_of_other_alphabets_have_embeddings() -> None:
    unit = NameEncoder()(["???", "", "教会", "教会 大", "a"], "words")
    assert np.allclose(np.linalg.norm(unit, axis=1), 1) and unit[2] @ unit[3] > unit[2] @ unit[4]


def test_a_model_of_the_registry_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert grouping.usual_tower().name == "conse", "CLIP is not here, and what ConSE needs is installed for the tests"
    monkeypatch.setattr(grouping, "TOWERS", (Choice(name="tiny_clip"),))
    assert {*class_groups(NAMES, 3).of} == {0, 1, 2}


CLASSES = [f"{place} {kind}" for kind in ("church", "bridge", "lake") for place in ("old", "stone", "royal")]


def test_a_cell_that_a_spreadsheet_would_run_comes_back_as_it_was() -> None:
    rows = (("=1+1", "-x"), ("b", "@y"))
    text = csv_text(("class", "kind"), rows)
    assert "'=1+1,'-x" in text
    assert tuple(read_mapping(text, ["=1+1", "b"]).paths.values()) == rows


def test_the_verb_writes_what_training_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tree(tmp_path / "own", CLASSES)
    file, source = tmp_path / "families.csv", str(tmp_path / "own")
    make = ["group", source, "--by", "words", "--groups", "3", "--out", str(file)]
    assert main(make) == 0
    assert "9 class > 3 superclass. Wrote" in capsys.readouterr().err
    first = file.read_text()
    assert main(make) == 0 and file.read_text() == first
    groups: dict[str, set[str]] = {}
    for row in first.splitlines()[1:]:
        groups.setdefault(row.split(",")[1], set()).add(row.split(",")[0].split()[-1])
    assert sorted(map(sorted, groups.values())) == [["bridge"], ["church"], ["lake"]]
    dropped = [f"{row.split(',')[0]},(dropped)" if row.startswith("old ") else row for row in first.splitlines()]
    file.write_text("\n".join(dropped))
    choice = DataChoice(source=source, hierarchy=Choice(name="mapping", parameters={"table": str(file)}))
    data = load_data(choice)
    assert data.hierarchy.levels == ("class", "superclass") and len(data.hierarchy.names[0]) == 6
    assert len(data.train) + len(data.test) == 18
    report = inspect_data(choice)
    assert dict(report.dropped) == {name: 3 for name in CLASSES if "old" in name} and {*report.images} == {3}
    assert any(note.startswith("Dropped, with 9 images: old bridge") for note in report.notes)
    capsys.readouterr()
    assert main(["group", source, "--groups", "3", "--by", "words", "--json"]) == 0
    assert '"levels"' in capsys.readouterr().out
    assert main(["group", "drawn", "--groups", "3", "--by", "words"]) == 1
    assert "From 3 to 2,000 classes were needed" in capsys.readouterr().err
