"""Hard conditions: label noise, withheld classes and images, and folds, against slow versions of their definitions."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
import torch

from trainers.config import Conditions, DataChoice
from trainers.data import conditions
from trainers.data.base import ImageSet, LoadedData
from trainers.data.conditions.noise import NOISE_KINDS, wrong_labels
from trainers.data.conditions.withheld import subset
from trainers.errors import DataError
from trainers.hierarchy import Hierarchy

PARENT = (0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3)
"""Of twelve training classes; parents 0 and 1 have the grandparent 0, the others 1. Test classes are 12 to 15."""
TRAIN = torch.tensor([(c, p, p // 2) for c, p in enumerate(PARENT) for _ in range(4 + c % 3)])
TEST = torch.tensor([(12 + c, c, c // 2) for c in range(4) for _ in range(3)])


def dataset(train: torch.Tensor = TRAIN, **changes: object) -> LoadedData:
    """A dataset whose images say which row of their split they were."""
    depth = train.shape[1]

    def part(labels: torch.Tensor, first: int) -> ImageSet:
        pixels = torch.arange(first, first + len(labels)).to(torch.uint8)[:, None, None, None].expand(-1, 1, 2, 2)
        return ImageSet(images=pixels.clone(), labels=labels, attributes={"row": torch.arange(len(labels))})

    names = tuple(tuple(f"{level}-{i}" for i in range(16)) for level in range(depth))
    values = {
        "name": "own",
        "title": "Own",
        "hierarchy": Hierarchy(levels=tuple("abc"[:depth]), names=names),
        "train": part(train, 0),
        "test": part(TEST[:, :depth], 200),
        "fingerprint": "0" * 32,
        "notes": ("As it was.",),
        "licence": "CC0-1.0",
        "attributes": {"row": tuple(map(str, range(len(train))))},
    }
    return LoadedData(**(values | changes))  # type: ignore[arg-type]


def under(data: LoadedData | None = None, *, seed: int = 0, held_out: str = "classes", **given: object) -> LoadedData:
    choice = DataChoice(source="own", seed=seed, held_out=held_out, conditions=Conditions(**given))  # type: ignore[arg-type]
    conditions.check(choice)
    return conditions.under(dataset() if data is None else data, choice)


def rows(part: ImageSet) -> list[int]:
    """Which rows of the split the images are; pixels, labels and attributes must agree on it."""
    found = part.attributes["row"].tolist()
    assert part.images[:, 0, 0, 0].tolist() == found
    assert (part.truth == TRAIN[found]).all()
    return found


def changed(data: LoadedData) -> dict[int, tuple[int, ...]]:
    """The wrong labels by row; an image is wrong if its finest label is."""
    pairs = zip(rows(data.train), data.train.labels.tolist(), data.train.truth.tolist(), strict=True)
    return {row: tuple(given) for row, given, true in pairs if given[0] != true[0]}


def path_of(finest: int) -> tuple[int, ...]:
    return finest, PARENT[finest], PARENT[finest] // 2


def allowed(kind: str, true: int, there: set[int]) -> set[int]:
    """The definition, class by class."""
    if kind == "within":
        return {c for c in there if c != true and PARENT[c] == PARENT[true]}
    if kind == "across":
        return {c for c in there if PARENT[c] != PARENT[true]}
    return there - {true}


# ------------------------------------------------------------------------------------- label noise


@pytest.mark.parametrize("kind", NOISE_KINDS)
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 1.0])
def test_so_many_images_have_a_label_that_the_kind_allows_at_all_levels(kind: str, share: float) -> None:
    data = under(label_noise=share, noise_kind=kind)
    wrong = changed(data)
    assert len(wrong) == round(share * len(TRAIN))
    for row, given in wrong.items():
        assert given == path_of(given[0]) and given[0] in allowed(kind, int(TRAIN[row, 0]), set(range(12)))
    others = [row for row in range(len(TRAIN)) if row not in wrong]
    assert (data.train.labels[others] == TRAIN[others]).all()


@pytest.mark.parametrize("kind", NOISE_KINDS)
def test_every_allowed_class_is_as_likely_whatever_its_size(kind: str) -> None:
    """The draws are laid out evenly, so every class comes up as often as any other, to within one."""
    kinds, n = NOISE_KINDS[kind], 660
    labels = np.array([path_of(4)] * n + [path_of(c) for c in range(12) for _ in range(1 + c)])
    draw = np.zeros(len(labels))
    draw[:n] = (np.arange(n) + 0.5) / n
    turn = np.concatenate([np.zeros(n), np.ones(len(labels) - n)])
    given, marked = wrong_labels(labels, n / len(labels), kinds, turn, draw)
    often = Counter(given[:n, 0].tolist())
    assert marked[:n].all() and not marked[n:].any()
    assert set(often) == allowed(kind, 4, set(range(12)))
    assert max(often.values()) - min(often.values()) <= 1


@pytest.mark.parametrize("kind", NOISE_KINDS)
def test_more_noise_keeps_the_wrong_labels_of_less(kind: str) -> None:
    less = changed(under(label_noise=0.2, noise_kind=kind))
    more = changed(under(label_noise=0.4, noise_kind=kind))
    assert less.items() < more.items()
    assert changed(under(label_noise=0.2, noise_kind=kind)) == less
    assert changed(under(label_noise=0.2, noise_kind=kind, seed=1)) != less


def test_noise_leaves_images_tests_and_fingerprint_alone() -> None:
    plain, noisy = dataset(), under(label_noise=0.4)
    assert torch.equal(noisy.train.images, plain.train.images) and torch.equal(noisy.train.truth, TRAIN)
    assert torch.equal(noisy.test.images, plain.test.images) and torch.equal(noisy.test.labels, TEST)
    assert noisy.test.true_labels is None
    assert [noisy.mark(part) for part in ("train", "test")] == [plain.mark(part) for part in ("train", "test")]
    assert noisy.title == "Own, 40 % label noise" and noisy.notes[0] == plain.notes[0]
    assert f"{round(0.4 * len(TRAIN))} of {len(TRAIN)} training images" in noisy.notes[1]


@pytest.mark.parametrize(
    ("train", "kind", "words"),
    [
        (TRAIN[:, :1], "within", "needs labels of two levels; these images have one. Choose the kind symmetric"),
        (TRAIN[:, :1], "across", "needs labels of two levels; these images have one. Choose the kind symmetric"),
        (TRAIN[TRAIN[:, 0] == 3], "symmetric", "4 of them are of the only class. Choose no label noise.$"),
        (
            TRAIN[(TRAIN[:, 0] == 0) | (TRAIN[:, 0] == 9)],
            "within",
            "of a class without a sibling.*or the kind symm",
        ),
        (TRAIN[TRAIN[:, 1] == 0], "across", "have no class of another parent.*Choose no label noise"),
    ],
)
def test_noise_that_cannot_be_is_refused(train: torch.Tensor, kind: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        under(dataset(train), label_noise=0.5, noise_kind=kind)


def test_classes_without_a_sibling_stay_clean_and_bound_the_share() -> None:
    """Five of the images are of a class alone under its parent: the others are noisy, as many as were asked for."""
    some = TRAIN[(TRAIN[:, 1] == 0) | (TRAIN[:, 0] == 9)]
    alone = int((some[:, 0] == 9).sum())
    most = len(some) - alone
    data = under(dataset(some), label_noise=most / len(some), noise_kind="within")
    wrong = (data.train.labels != data.train.truth).any(1)
    assert int(wrong.sum()) == most and not wrong[some[:, 0] == 9].any()
    with pytest.raises(DataError, match=rf"at most {int(100 * most / len(some))} %"):
        under(dataset(some), label_noise=(most + 1) / len(some), noise_kind="within")


# ------------------------------------------------------------------------------------- withheld


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
def test_a_share_of_the_classes_is_withheld_and_more_of_them_with_a_larger_share(share: float) -> None:
    there = {int(TRAIN[row, 0]) for row in rows(under(withheld_classes=share).train)}
    fewer = {int(TRAIN[row, 0]) for row in rows(under(withheld_classes=share + 0.03).train)}
    assert len(there) == 12 - round(share * 12) and fewer <= there
    assert rows(under(withheld_classes=share).train) == [
        row for row, c in enumerate(TRAIN[:, 0].tolist()) if c in there
    ]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.9])
def test_a_share_of_each_class_is_withheld_but_two_images_stay(share: float) -> None:
    kept = rows(under(withheld_images=share).train)
    for c, count in Counter(TRAIN[:, 0].tolist()).items():
        assert sum(int(TRAIN[row, 0]) == c for row in kept) == max(2, count - round(share * count))
    assert set(rows(under(withheld_images=min(0.99, share + 0.15)).train)) <= set(kept)


def test_a_class_of_one_image_keeps_it() -> None:
    """Where images are held out, classes of one image are trained on."""
    some = torch.cat([TRAIN[:1], TRAIN[TRAIN[:, 0] > 0]])
    assert int((under(dataset(some), held_out="images", withheld_images=0.9).train.labels[:, 0] == 0).sum()) == 1


def test_what_is_withheld_changes_the_mark_of_the_training_images_alone() -> None:
    plain, fewer = dataset(), under(withheld_images=0.5)
    assert fewer.mark("test") == plain.mark("test") and fewer.mark("train") != plain.mark("train")
    assert fewer.mark("train") != under(withheld_images=0.4).mark("train")
    assert fewer.fingerprint == plain.fingerprint and fewer.test is not None and torch.equal(fewer.test.labels, TEST)


def test_too_few_classes_to_withhold_some_of_them_are_refused() -> None:
    with pytest.raises(DataError, match=r"At least 2 training classes must stay; 99 % of 12 leaves 0. .* at most 10"):
        under(withheld_classes=0.99)


def test_wrong_labels_are_of_classes_that_are_trained_on_and_stay_nested_beside_what_is_withheld() -> None:
    given = {"withheld_classes": 0.5, "withheld_images": 0.3, "noise_kind": "symmetric"}
    less, more = under(label_noise=0.2, **given), under(label_noise=0.5, **given)
    there = {int(TRAIN[row, 0]) for row in rows(more.train)}
    assert changed(less).items() < changed(more).items() and len(changed(more)) == round(0.5 * len(more.train))
    assert {label[0] for label in changed(more).values()} <= there


# ------------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("folds", [2, 3, 4, 6])
def test_folds_part_the_classes_and_parents_are_in_all_of_them(folds: int) -> None:
    tested: list[int] = []
    for fold in range(1, folds + 1):
        data = under(folds=folds, fold=fold)
        train, test = ({int(TRAIN[row, 0]) for row in rows(part)} for part in (data.train, data.test))
        assert train | test == set(range(12)) and not train & test
        assert sorted(rows(data.train) + rows(data.test)) == list(range(len(TRAIN)))
        tested += test
        for level in (1, 2):
            of = Counter(path_of(c)[level] for c in test)
            for parent, classes in Counter(path_of(c)[level] for c in range(12)).items():
                assert classes // folds <= of[parent] <= -(-classes // folds)
    assert sorted(tested) == list(range(12))


@pytest.mark.parametrize("folds", [2, 3, 4])
def test_folds_of_images_part_those_of_every_class(folds: int) -> None:
    tested: list[int] = []
    for fold in range(1, folds + 1):
        data = under(folds=folds, fold=fold, held_out="images")
        assert sorted(rows(data.train) + rows(data.test)) == list(range(len(TRAIN)))
        of = Counter(int(TRAIN[row, 0]) for row in rows(data.test))
        for number, images in Counter(TRAIN[:, 0].tolist()).items():
            assert images // folds <= of[number] <= -(-images // folds)
        tested += rows(data.test)
    assert sorted(tested) == list(range(len(TRAIN)))
    assert tested != sorted(tested), "dealt at random, not in order"
    assert rows(under(folds=folds, held_out="images", seed=1).test) != rows(under(folds=folds, held_out="images").test)


def test_noise_and_withholding_touch_the_training_part_of_a_fold_alone() -> None:
    plain = under(folds=3, fold=2)
    hard = under(folds=3, fold=2, label_noise=0.5, withheld_images=0.3, withheld_classes=0.25)
    assert rows(hard.test) == rows(plain.test) and torch.equal(hard.test.labels, plain.test.labels)
    assert set(rows(hard.train)) < set(rows(plain.train))
    assert hard.fingerprint == plain.fingerprint != dataset().fingerprint
    assert len({under(folds=3, fold=fold).fingerprint for fold in (1, 2, 3)}) == 3
    assert hard.title == "Own, fold 2 of 3, 25 % of classes withheld, 30 % of images withheld, 50 % label noise"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"folds": 1}, "Two folds or more"),
        ({"folds": 3, "fold": 4}, "A fold from 1 to 3 was needed; got 4"),
        ({"folds": 7}, "7 folds need 14 training classes.*Choose 6 folds or fewer"),
        ({"folds": 5, "held_out": "images"}, "5 folds of images need 5 training images of every class; one has 4"),
    ],
)
def test_folds_that_cannot_be_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        under(**given)


# ------------------------------------------------------------------------------------- settings


def test_images_without_classes_are_refused() -> None:
    with pytest.raises(DataError, match="about classes, and the images of Own have none"):
        under(dataset(labelled=False), label_noise=0.1)


def test_images_too_many_for_the_memory_are_copied_to_disk(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    part, some = dataset().train, np.arange(1, len(TRAIN), 3)
    monkeypatch.setattr("trainers.data.settings.memory_bytes", lambda: 8)
    mapped = subset(part, some)
    monkeypatch.undo()
    held = subset(part, some)
    assert torch.equal(mapped.images, held.images) and mapped.chosen == held.chosen
    assert not list((tmp_path / "cache").rglob("*.npy"))
    assert subset(part, np.arange(len(part))) is part
    assert dataclasses.replace(mapped, images=part.images[some]).labels.tolist() == part.labels[some].tolist()
