"""Folders and tables of every shape through the whole loader, decoded and checked picture by picture."""

from __future__ import annotations

import shutil
import zipfile

import datasets
import numpy as np
import pytest
import torch

from tests.data.world import encode, images, picture, write_split, write_tree, written, zipped
from tests.shared import needs
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.base import ImageSet, LoadedData

TWO_LEVELS = {
    "fine": datasets.ClassLabel(names=[f"f{n}" for n in range(20)]),
    "coarse": datasets.ClassLabel(names=[f"c{n}" for n in range(9)]),
}

EIGHT = {"fine": [0, 0, 1, 1, 2, 2, 3, 3], "coarse": [0] * 4 + [1] * 4}


def load(folder, **values) -> LoadedData:
    data = load_data(DataChoice(source=str(folder), image_size=16, **values))
    for part in (data.train, data.test):
        check(part, data)
    assert not set(data.train.labels[:, 0].tolist()) & set(data.test.labels[:, 0].tolist())
    joint = torch.cat([data.train.labels, data.test.labels])
    for level, names in enumerate(data.hierarchy.names):
        assert joint[:, level].unique().tolist() == list(range(len(names)))
        if level:
            pairs = torch.unique(joint[:, level - 1 : level + 1], dim=0)
            assert len(pairs) == len(data.hierarchy.names[level - 1])
    return data


def check(part: ImageSet, data: LoadedData) -> None:
    assert part.images.dtype == torch.uint8 and part.images.shape[2:] == (16, 16)
    assert part.labels.dtype == torch.int64 and part.labels.shape == (len(part), data.hierarchy.depth)
    assert len(part) == len(part.images)
    assert part.labels[:, 0].unique(return_counts=True)[1].min() >= 2


def numbers(part: ImageSet) -> list[int]:
    """Which flat pictures these are."""
    return (part.images[:, 0, 8, 8].int() + 256 * part.images[:, 1, 8, 8].int()).tolist()


def names(data: LoadedData, part: ImageSet, level: int = 0) -> list[str]:
    return [data.hierarchy.names[level][index] for index in part.labels[:, level].tolist()]


def test_disjoint_splits_with_two_levels_stay_as_they_are(tmp_path):
    write_split(tmp_path, "train", {"fine": [0, 0, 1, 1, 2, 2], "coarse": [4, 4, 4, 4, 5, 5]}, TWO_LEVELS, image="img")
    write_split(tmp_path, "test", {"fine": [7, 7, 9, 9], "coarse": [5, 5, 6, 6]}, TWO_LEVELS, image="img")
    data = load(tmp_path)
    assert data.hierarchy.levels == ("fine", "coarse")
    assert data.hierarchy.names == (("f0", "f1", "f2", "f7", "f9"), ("c4", "c5", "c6"))
    assert names(data, data.train) == ["f0", "f0", "f1", "f1", "f2", "f2"]
    assert names(data, data.test, 1) == ["c5", "c5", "c6", "c6"]
    assert numbers(data.train) == list(range(6)) and numbers(data.test) == list(range(4))
    assert data.train.images[0, 2, 0, 0] == 200
    assert data.notes == () and data.licence == "unknown"


def test_shared_classes_are_divided_and_said(tmp_path):
    for split in ("train", "validation"):
        write_split(tmp_path, split, EIGHT, TWO_LEVELS)
    data = load(tmp_path)
    assert len(data.train) == len(data.test) == 8
    assert sorted(set(names(data, data.train, 1))) == sorted(set(names(data, data.test, 1))) == ["c0", "c1"]
    assert data.notes == (
        "train and validation share 4 classes, so: 2 classes for training, 2 for testing (random, seed 0).",
    )
    fines = {tuple(sorted(set(names(d, d.train)))) for d in (load(tmp_path, seed=seed) for seed in range(6))}
    assert len(fines) > 1


def runs(each: int, count: int = 24, word: str = "n") -> list[str]:
    """So many rows, of which so many after each other are of one class."""
    return [f"{word}{n // each}" for n in range(count)]


# columns, those that are chosen, levels, classes of each, words of a note
COLUMNS: dict[str, tuple[dict[str, list], tuple[str, ...], tuple[str, ...], tuple[int, ...], str]] = {
    "three levels of text": (
        {"aisle": runs(12), "colour": ["red", "blue"] * 12, "kind": runs(6), "item_ID": runs(2), "url": runs(1)},
        (), ("item ID", "kind", "aisle"), (12, 4, 2), "left out: colour",
    ),
    "categories come first": (
        {"colour": [f"c{n // 2 % 3}" for n in range(24)], "item_ID": runs(2), "category": ["a", "a", "b", "b"] * 6},
        (), ("item ID", "category"), (12, 2), "",
    ),
    "a number and its name": (
        {"label": [n // 2 for n in range(24)], "label_name": runs(2, word="bird ")}, (), ("class",), (12,), "",
    ),
    "numbers that are no labels": (
        {"fine": [n // 2 for n in range(24)], "width": [n // 6 for n in range(24)]},
        (), ("fine",), (12,), "",
    ),
    "chosen that do not nest become pairs": (
        {"size": ["small", "large"] * 12, "kind": runs(6)}, ("size", "kind"), ("size", "kind"), (8, 4), "",
    ),
    "chosen in the wrong order are turned": (
        EIGHT, ("coarse", "fine"), ("fine", "coarse"), (4, 2), "finest first: fine, coarse",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_make_the_levels(tmp_path, name):
    columns, chosen, levels, counts, said = COLUMNS[name]
    write_split(tmp_path, "data", columns, TWO_LEVELS)
    data = load(tmp_path, label_columns=chosen or None)
    assert data.hierarchy.levels == levels and tuple(map(len, data.hierarchy.names)) == counts
    assert not said or any(said in note for note in data.notes)
    for coarser in range(1, len(levels)):
        assert set(names(data, data.train, coarser)) == set(names(data, data.test, coarser))


def test_broken_images_are_skipped_and_counted(tmp_path):
    files = [picture(n) for n in range(12)]
    files[0], files[5], files[6] = b"broken", None, files[6][:30]
    write_split(tmp_path, "train", {"label": [n // 3 for n in range(12)]}, images=files)
    data = load(tmp_path)
    assert any(note.startswith("3 images could not be read and were skipped") for note in data.notes)
    assert sorted(numbers(data.train) + numbers(data.test)) == [1, 2, 3, 4, 7, 8, 9, 10, 11]


def test_rows_without_a_label_are_left_out(tmp_path):
    types = {"label": datasets.ClassLabel(names=list("abcd"))}
    write_split(tmp_path, "train", {"label": [0, 0, 1, 1, -1, 2, 2, 3, 3]}, types)
    write_split(tmp_path, "test", {"label": [-1] * 4}, types)
    data = load(tmp_path)
    assert len(data.train) + len(data.test) == 8
    assert "Split 'test' has no labels, so 'train' serves for training and test." in data.notes


def test_a_test_split_without_the_label_column_is_left_out(tmp_path):
    write_split(tmp_path, "train", {"label": [0, 0, 1, 1, 2, 2, 3, 3]})
    write_split(tmp_path, "test", {"caption": ["one", "two"]})
    (tmp_path / "README.md").write_text(
        "---\nlicense: mit\npretty_name: Things\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n"
        "    path: data/train-*\n---\n"
    )
    data = load(tmp_path)
    assert (data.title, data.licence) == ("Things", "mit")


def test_grey_sets_have_one_channel_and_small_defaults(tmp_path):
    files = [picture(20 * n, 100, grey=True) for n in range(8)]
    write_split(tmp_path, "train", {"label": [n // 2 for n in range(8)]}, images=files)
    data = load_data(DataChoice(source=str(tmp_path)))
    assert data.train.images.shape == (4, 1, 32, 32)


def test_one_colour_image_among_grey_ones_makes_the_set_coloured(tmp_path):
    files = [picture(n % 200, grey=True) for n in range(300)]
    files[37] = encode(np.full((16, 16, 3), (9, 8, 7), np.uint8))
    write_split(tmp_path, "train", {"label": [n // 50 for n in range(300)]}, images=files)
    data = load(tmp_path)
    assert data.train.images.shape[1] == 3
    pixels = torch.cat([data.train.images, data.test.images])[:, :, 8, 8].tolist()
    assert [9, 8, 7] in pixels and pixels.count([5, 5, 5]) == 2


def test_a_cap_keeps_classes_and_says_so(tmp_path):
    write_split(tmp_path, "train", {"label": [n // 4 for n in range(80)]})
    data = load(tmp_path, max_images=20)
    assert len(data.train) == len(data.test) == 20
    assert any("kept 20 of 40 training images, in 5 of 10 classes" in note for note in data.notes)


def test_nested_folders_are_a_tree_and_same_names_stay_apart(tmp_path):
    write_tree(tmp_path / "own", ["car/red", "car/blue", "bus/red", "bus/old"], 2)
    (tmp_path / "own" / ".hidden").mkdir()
    (tmp_path / "own" / ".hidden" / "x.png").write_bytes(picture(0))
    (tmp_path / "own" / "loose.png").write_bytes(picture(0))
    data = load(tmp_path / "own")
    assert data.hierarchy.levels == ("class", "group")
    assert set(data.hierarchy.names[0]) == {"car / red", "bus / red", "blue", "old"}
    assert any("1 image lies in no class folder" in note for note in data.notes)


def test_folders_with_splits(tmp_path):
    write_tree(tmp_path, ["own/train/a", "own/train/b", "own/test/c", "own/test/d"], 2)
    data = load(tmp_path / "own")
    assert names(data, data.train) == ["a", "a", "b", "b"] and names(data, data.test) == ["c", "c", "d", "d"]


def test_zip_files(tmp_path):
    files = images(*(f"photos/{name}" for name in "abcd")) | {"__MACOSX/photos/a/._0.png": b"junk"}
    written(tmp_path, {"own.zip": zipped(files, compression=zipfile.ZIP_DEFLATED)})
    data = load(tmp_path / "own.zip")
    assert data.hierarchy.names == (("a", "b", "c", "d"),)
    assert sorted(numbers(data.train) + numbers(data.test)) == list(range(12))


def test_folders_with_a_metadata_table_in_the_folder_of_a_split(tmp_path):
    write_tree(tmp_path / "own", ["train"], 8)
    lines = ["file_name,species", *(f"{n}.png,s{n // 2}" for n in range(8))]
    (tmp_path / "own" / "train" / "metadata.csv").write_text("\n".join(lines))
    data = load(tmp_path / "own")
    assert data.hierarchy.names == (("s0", "s1", "s2", "s3"),)


def test_sets_saved_to_disk(tmp_path):
    rows = {"image": [{"bytes": picture(n), "path": None} for n in range(8)], "label": [n // 2 for n in range(8)]}
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int32")})
    table = datasets.Dataset.from_dict(rows, features=features)
    datasets.DatasetDict({"train": table}).save_to_disk(str(tmp_path / "saved"))
    assert len(load(tmp_path / "saved").train) == 4


def test_rows_may_not_point_outside_their_folder(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(picture(5))
    rows = {"image": [{"bytes": None, "path": str(secret)}] * 8, "label": [n // 2 for n in range(8)]}
    features = datasets.Features({"image": datasets.Image(decode=False), "label": datasets.Value("int32")})
    (tmp_path / "set" / "data").mkdir(parents=True)
    table = datasets.Dataset.from_dict(rows, features=features)
    table.to_parquet(str(tmp_path / "set" / "data" / "train-00000-of-00001.parquet"))
    with pytest.raises(ValueError, match="8 of 8 images in column 'image' could not be decoded"):
        load(tmp_path / "set")


def test_progress_rises_to_one_and_can_stop(tmp_path):
    write_tree(tmp_path / "own", ["a", "b", "c", "d"], 3)
    seen: list[tuple[str, float]] = []
    choice = DataChoice(source=str(tmp_path / "own"))
    data = load_data(choice, lambda text, fraction: seen.append((text, fraction)))
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and fractions[0] == 0.0

    def stop(text: str, fraction: float) -> None:
        if "Decoding" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_data(DataChoice(source=str(tmp_path / "own"), image_size=24), stop)
    left = [path.name for path in (tmp_path / "cache" / "images").iterdir()]
    assert len(left) == 1 and not left[0].startswith(".new")
    assert load_data(choice).fingerprint == data.fingerprint


def test_nothing_is_printed(tmp_path, capfd):
    datasets.enable_progress_bars()
    write_split(tmp_path, "train", {"label": [0, 0, 1, 1, 2, 2, 3, 3]})
    capfd.readouterr()
    load(tmp_path)
    inspect_data(DataChoice(source=str(tmp_path)))
    assert capfd.readouterr() == ("", "")
    assert not datasets.are_progress_bars_disabled()


@pytest.mark.parametrize(
    ("folder", "shape", "classes", "levels"),
    [
        pytest.param(
            "omniglot", (1, 32, 32), [(766, 24), (378, 12)], ("character", "alphabet"), marks=pytest.mark.long
        ),
        ("cifar100", (3, 32, 32), [(40, 16), (40, 16)], ("fine", "coarse")),
        ("grocery_store", (3, 64, 64), [(34, 17, 3), (20, 11, 3)], ("fine", "coarse", "category")),
    ],
)
def test_real_sets(folder, shape, classes, levels):
    data = load_data(DataChoice(source=str(needs(f"data/{folder}"))))
    assert data.hierarchy.levels == levels
    assert tuple(data.train.images.shape[1:]) == shape
    for part, counts in zip((data.train, data.test), classes, strict=True):
        assert tuple(len(column.unique()) for column in part.labels.T) == counts
    again = load_data(DataChoice(source=str(needs(f"data/{folder}"))))
    assert again.fingerprint == data.fingerprint and torch.equal(again.test.images, data.test.images)


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("held_out", ["classes", "images"])
def test_images_keep_the_names_of_their_files(tmp_path, form, held_out):
    write_tree(tmp_path / "own", ["a", "b", "c", "d"], 4)
    root = str(tmp_path / "own")
    choice = DataChoice(source=root if form == "folder" else shutil.make_archive(root, "zip", root), held_out=held_out)
    for data in (load_data(choice), load_data(choice)):  # decoded, and from the cache
        for part in (data.train, data.test):
            assert len(set(part.names)) == len(part.names) == len(part)
            assert [name.split("/")[0] for name in part.names] == names(data, part)
