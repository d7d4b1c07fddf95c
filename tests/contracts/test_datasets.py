"""Every labelled and every captioned dataset: described, found by its source, and loaded in one form."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import pytest
import torch
from datasets import Dataset, DatasetDict
from datasets import Image as ImageFeature
from PIL import Image

from tests.data.world import picture, write_split
from tests.entities import write_entities
from tests.finetuning.world import write_coco
from tests.served import strangers
from trainers.config import Conditions, DataChoice
from trainers.data import SOURCES, inspect_data, load_data
from trainers.data.captioned.datasets import CAPTIONED
from trainers.data.captioned.loader import load_captioned, named
from trainers.data.labelled.datasets.known import KNOWN
from trainers.data.labelled.originals import Originals
from trainers.data.sources import SHIPPED, resolve
from trainers.errors import ParameterError
from trainers.parameters import specs

EVERY = [*SOURCES.values(), *CAPTIONED.values()]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.name)
def test_a_dataset_is_described(entry) -> None:
    assert (
        entry.title and not entry.sentence[0].islower() and entry.sentence.endswith(".") and len(entry.sentence) < 140
    )
    assert entry.name.isidentifier()


# ------------------------------------------------------------------------------------- labelled


def check_labelled(data) -> None:
    """What every loader of labelled images promises."""
    depth = data.hierarchy.depth
    assert len(data.fingerprint) == 32 and data.licence and data.train.images.shape[1:] == data.test.images.shape[1:]
    for part in (data.train, data.test):
        assert part.images.dtype == torch.uint8 and part.labels.dtype == torch.int64
        assert part.labels.shape == (len(part.images), depth) and part.images.shape[2] == part.images.shape[3]
        assert part.labels[:, 0].bincount()[part.labels[:, 0]].min() >= 2
        for level, names in enumerate(data.hierarchy.names):
            assert 0 <= int(part.labels[:, level].min()) <= int(part.labels[:, level].max()) < len(names)
    assert not set(data.train.labels[:, 0].tolist()) & set(data.test.labels[:, 0].tolist())


def check_conditions(plain, data) -> None:
    """What a fold of the training classes, with classes withheld and wrong labels, is of every dataset.

    Args:
        plain: the dataset without conditions.
        data: the same on the first of two folds, with a third of the classes withheld and a quarter of wrong labels.
    """
    check_labelled(dataclasses.replace(data, train=dataclasses.replace(data.train, labels=data.train.truth)))
    trained, tested, there = (set(part.truth[:, 0].tolist()) for part in (data.train, data.test, plain.train))
    kept = len(there) // 2
    assert trained | tested < there and len(tested) == len(there) - kept and len(trained) == kept - round(kept / 3)
    wrong = (data.train.labels != data.train.truth).any(1)
    assert int(wrong.sum()) == round(len(data.train) / 4) and (data.train.labels != data.train.truth)[wrong, 0].all()
    paths = {path[0]: path for path in plain.train.labels.tolist()}
    assert all(paths[path[0]] == path and path[0] in trained for path in data.train.labels.tolist())
    assert data.hierarchy == plain.hierarchy and data.fingerprint != plain.fingerprint
    assert data.title.startswith(plain.title) and data.notes[: len(plain.notes)] == plain.notes


HARD = Conditions(label_noise=0.25, withheld_classes=1 / 3, folds=2)


@pytest.mark.parametrize("name", [name for name, entry in SOURCES.items() if entry.inspect is None or name in SHIPPED])
def test_a_dataset_without_a_network_loads(name: str) -> None:
    choice = DataChoice(source=name, image_size=16, max_images=192)
    check_labelled(load_data(choice))
    assert load_data(choice).fingerprint == load_data(choice).fingerprint
    assert inspect_data(choice).title == SOURCES[name].title
    check_conditions(load_data(choice), load_data(dataclasses.replace(choice, conditions=HARD)))


def test_photographs_ship_with_three_levels_and_their_licence_for_strangers_too() -> None:
    with strangers():
        data = load_data(DataChoice(source="groceries", image_size=16))
        original = Originals().read(DataChoice(source="groceries"), data.test.names[0])
    assert data.hierarchy.levels == ("product", "kind", "category") and data.licence == "MIT"
    assert [len(names) for names in data.hierarchy.names] == [54, 27, 3]
    both = torch.cat([data.train.labels, data.test.labels])
    assert len(data.test) == 400 and both[:, 0].bincount().tolist() == [20] * 54
    assert min(Image.open(io.BytesIO(original)).size) == 128
    file = SHIPPED["groceries"]
    beside = (file.with_name(name).read_text(encoding="utf-8") for name in ("README.md", "LICENSE.txt"))
    assert file.stat().st_size <= 7_000_000 and all("Marcus Klasson" in text for text in beside)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_the_columns_and_splits_of_a_hub_dataset_are_those_it_is_loaded_with(
    known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with the pinned columns and splits stands for the dataset."""
    names = known.label_columns or ("category",)
    for split in dict.fromkeys(filter(None, (known.train_split or "train", known.test_split))):
        columns = {name: [row // (2 * 2**index) for row in range(32)] for index, name in enumerate(names)}
        write_split(
            tmp_path / "own", split, columns, image=known.image_column, images=[picture(row) for row in range(32)]
        )
    local = dataclasses.replace(known, hub=str(tmp_path / "own"), subset=None)
    entry = dataclasses.replace(SOURCES[known.name], load=local.load)
    monkeypatch.setattr("trainers.data.SOURCES", {known.name: entry})
    choice = DataChoice(source=known.name, image_size=16)
    data = load_data(choice)
    check_labelled(data)
    check_conditions(data, load_data(dataclasses.replace(choice, conditions=HARD)))
    assert data.name == known.name and data.title == known.title
    assert known.levels is None or data.hierarchy.levels == known.levels
    assert resolve(known.hub) == known.hub and SOURCES[known.name].inspect is not None


# ------------------------------------------------------------------------------------- captioned


def write_table(root: Path) -> Path:
    data = io.BytesIO()
    Image.new("RGB", (32, 24), (9, 99, 9)).save(data, "PNG")
    rows = {
        "image": [{"bytes": data.getvalue(), "path": None}] * 6,
        "captions": [["a dog", "one dog and a cat"]] * 6,
        "bbox": [[[2.0, 2.0, 10.0, 12.0], [4.0, 4.0, 20.0, 8.0]]] * 6,
        "category": [["dog", "cat"]] * 6,
    }
    split = Dataset.from_dict(rows).cast_column("image", ImageFeature())
    DatasetDict({"train": split, "test": split}).save_to_disk(str(root))
    return root


EXAMPLES = {"coco_folder": write_coco, "flickr_entities": write_entities, "table": write_table}
"""Write a small folder that the dataset reads. One that is chosen by name needs none."""


def check_captioned(data) -> None:
    """What every loader of captioned images promises."""
    assert data.title and data.licence and data.train_split in data.splits and data.test_split in data.splits
    assert all(note.endswith(".") for note in data.notes)
    scenes = [scene for split in data.splits.values() for scene in split]
    assert len({scene.image_id for scene in data.splits[data.test_split]}) == len(data.splits[data.test_split])
    assert any(scene.captions for scene in scenes) and any(scene.boxes for scene in scenes)
    for scene in scenes:
        size = Image.open(io.BytesIO(scene.load())).size
        assert (scene.width, scene.height) == size
        assert len(scene.boxes) == len(scene.classes) and set(scene.classes) <= set(data.classes)
        assert all(-1 <= x0 < x1 <= size[0] + 1 and -1 <= y0 < y1 <= size[1] + 1 for x0, y0, x1, y1 in scene.boxes)
        assert not scene.phrases or len(scene.phrases) == len(scene.captions)


def source_of(name: str, root: Path) -> str:
    return name if CAPTIONED[name].recognises is None else str(EXAMPLES[name](root / name))


@pytest.mark.parametrize("name", CAPTIONED)
def test_a_captioned_dataset_loads(name: str, tmp_path: Path) -> None:
    source = source_of(name, tmp_path)
    told: list[float] = []
    data = load_captioned(source, limit=4, progress=lambda _text, fraction: told.append(fraction))
    check_captioned(data)
    assert all(len(split) <= 4 for split in data.splits.values())
    assert told and all(0 <= fraction <= 1 for fraction in told)


@pytest.mark.parametrize("name", CAPTIONED)
def test_the_first_that_recognises_a_folder_is_its_own(name: str, tmp_path: Path) -> None:
    descriptor = CAPTIONED[name]
    if descriptor.recognises is None:
        assert named(name) is named(f" {name}:seed=1") is descriptor
        assert all(spec.rule.help for spec in specs(descriptor.parameters))
        with pytest.raises(ParameterError, match="no parameter 'nonsense'"):
            load_captioned(f"{name}:nonsense=1")
        with pytest.raises(ParameterError, match="'nonsense' has no '='"):
            load_captioned(f"{name}:nonsense")
    else:
        folder = Path(source_of(name, tmp_path))
        assert next(each for each in CAPTIONED.values() if each.recognises and each.recognises(folder)) is descriptor
        assert named(str(folder)) is None


def test_a_hub_id_is_read_as_a_table() -> None:
    assert [name for name, entry in CAPTIONED.items() if entry.recognises and entry.recognises(None)] == ["table"]
