"""Groups of classes with similar names, against linkage written out, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from trainers.errors import UserError
from trainers.image_text import class_groups as module
from trainers.image_text.base import ImageTextModel
from trainers.image_text.class_groups import class_groups, grouped
from trainers.parameters import Choice

NAMES = ["red_apple", "green-apple", "old car", "new car", "oak tree", "pine tree", "small apple"]


class Words(ImageTextModel):
    """A text tower that knows words: the last one counts twice."""

    def __init__(self) -> None:
        super().__init__(side=8, context=8, mean=(0, 0, 0), std=(1, 1, 1))
        self.weight = torch.nn.Parameter(torch.randn(64, 32, generator=torch.Generator().manual_seed(0)))
        self.known: dict[str, int] = {}

    def tokenise(self, texts: Sequence[str]) -> Tensor:
        rows = [[self.known.setdefault(word, len(self.known)) for word in text.split()[-2:]] for text in texts]
        return torch.tensor(rows)

    def text_features(self, tokens: Tensor) -> Tensor:
        return self.weight[tokens[:, 0]] + 2 * self.weight[tokens[:, 1]]


def by_hand(unit: Tensor, count: int) -> list[set[int]]:
    """Average linkage, one merge after another."""
    sets = [{row} for row in range(len(unit))]
    distance = 1 - unit @ unit.T
    while len(sets) > count:
        pairs = [(i, j) for i in range(len(sets)) for j in range(i)]
        mean = {(i, j): distance[list(sets[i])][:, list(sets[j])].mean().item() for i, j in pairs}
        i, j = min(pairs, key=mean.__getitem__)
        sets[j] |= sets.pop(i)
    return sets


def test_similar_names_come_together() -> None:
    groups = grouped(NAMES, 3, Words())
    apples, cars, trees = ({groups[i] for i in rows} for rows in ((0, 1, 6), (2, 3), (4, 5)))
    assert len(apples) == len(cars) == len(trees) == 1 and len(set(groups)) == 3
    assert apples <= {NAMES[i] for i in (0, 1, 6)}, "a group is named after one of its classes"


@pytest.mark.parametrize("count", [2, 3, 5])
def test_it_is_average_linkage(count: int) -> None:
    model = Words()
    groups = grouped(NAMES, count, model)
    tokens = model.tokenise([name.replace("_", " ").replace("-", " ") for name in NAMES])
    unit = torch.nn.functional.normalize(model.text_features(tokens).double(), dim=1).detach()
    made = {name: {i for i, group in enumerate(groups) if group == name} for name in set(groups)}
    assert sorted(map(sorted, made.values())) == sorted(map(sorted, by_hand(unit, count)))


def test_the_order_of_the_classes_changes_nothing() -> None:
    def sets(names: list[str]) -> set[frozenset[str]]:
        groups = grouped(names, 3, Words())
        return {frozenset(name for name, of in zip(names, groups, strict=True) if of == one) for one in groups}

    assert sets(NAMES) == sets(NAMES[::-1])


@pytest.mark.parametrize("count", [0, 1, len(NAMES), 50])
def test_too_few_or_many_groups_are_a_sentence(count: int) -> None:
    with pytest.raises(UserError, match="groups"):
        class_groups(NAMES, count)


def test_a_model_of_the_registry_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOWER", Choice(name="tiny_clip"))
    assert len(set(class_groups(NAMES, 3))) == 3
