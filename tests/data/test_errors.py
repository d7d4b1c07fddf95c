"""What cannot be loaded is said in one sentence that helps."""

from __future__ import annotations

import zipfile

import datasets
import numpy as np
import pytest

from tests.data.world import encode, picture, write_split, write_tree
from tests.shared import needs
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.hf_errors import explain
from trainers.data.sources import resolve
from trainers.errors import DataError, brief


def fails(match: str, source: object, **values: object) -> str:
    with pytest.raises(DataError, match=match) as caught:
        load_data(DataChoice(source=str(source), **values))
    assert "\n" not in str(caught.value) and "Error" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("source", ["cifar100", "uoft-cs/cifar100", "https://huggingface.co/datasets/uoft-cs/cifar100"])
def test_no_network(source):
    fails("Hub cannot be reached, and 'uoft-cs/cifar100' is not on this machine", source)
    with pytest.raises(DataError, match="Hub cannot be reached"):
        inspect_data(DataChoice(source=source))


@pytest.mark.parametrize("source", ["", "a/b/c", "a b", "a/../b", "nul\0", "owner/name;rm", "name--x", "x" * 300, "-x"])
def test_text_that_is_neither_a_folder_nor_an_id(source):
    fails("was needed", source)


@pytest.mark.parametrize("source", ["parquet", "csv", "imagefolder"])
def test_formats_are_no_sets(source):
    fails("is a file format", source)


@pytest.mark.parametrize(("subset", "revision"), [("../x", None), ("/etc", None), (None, "../main"), (None, "a b")])
def test_subsets_and_revisions_are_no_paths(subset, revision):
    fails("got", "owner/name", subset=subset, revision=revision)


def test_folders_that_are_not_there():
    fails("does not exist", "/no/such/folder")
    fails("does not exist", "../no-such-folder")
    fails("does not exist", "/" + "x" * 300)


def test_folders_can_be_forbidden(tmp_path, monkeypatch):
    write_tree(tmp_path / "own", ["a", "b", "c", "d"])
    write_tree(tmp_path / "other", ["a", "b", "c", "d"])
    monkeypatch.setenv("RANKSCOPE_FOLDERS", str(tmp_path / "own"))
    assert load_data(DataChoice(source=str(tmp_path / "own"))).train
    fails("Files and folders of this machine cannot be opened here", tmp_path / "other")
    fails("Files and folders of this machine cannot be opened here", tmp_path / "own" / ".." / "other")
    (tmp_path / "own" / "link").symlink_to(tmp_path / "other")
    fails("Files and folders of this machine cannot be opened here", tmp_path / "own" / "link")
    monkeypatch.setenv("RANKSCOPE_FOLDERS", "off")
    fails("Files and folders of this machine cannot be opened here", tmp_path / "own")
    fails("Files and folders of this machine cannot be opened here", "/no/such/folder")
    monkeypatch.delenv("RANKSCOPE_FOLDERS")
    monkeypatch.setenv("SPACE_ID", "someone/space")
    fails("Files and folders of this machine cannot be opened here", tmp_path / "own")


def test_a_hub_id_never_opens_a_folder_of_that_name_unasked(tmp_path, monkeypatch):
    write_tree(tmp_path / "owner" / "name", ["a", "b", "c", "d"])
    monkeypatch.chdir(tmp_path)
    assert load_data(DataChoice(source="owner/name")).train
    monkeypatch.setenv("RANKSCOPE_FOLDERS", "off")
    assert resolve("owner/name") == "owner/name", "a folder that may not be opened is not looked for"
    monkeypatch.delenv("RANKSCOPE_FOLDERS")
    fails("is also a folder here", "hf://datasets/owner/name")
    assert resolve("some/other") == "some/other"


def test_no_image_column(tmp_path):
    (tmp_path / "data").mkdir()
    table = datasets.Dataset.from_dict({"url": ["a", "b"], "landmark_id": [1, 2]})
    table.to_parquet(str(tmp_path / "data" / "train-00000-of-00001.parquet"))
    fails("no image column. Its columns are: url, landmark_id", tmp_path)
    assert "no image column" in inspect_data(DataChoice(source=str(tmp_path))).problems[0]


def test_no_label_column():
    folder = needs("data/coco_captions")
    words = fails("No label column was found", folder)
    assert "image, captions, objects, image_id, width, height, license, source_url" in words
    report = inspect_data(DataChoice(source=str(folder)))
    assert report.proposal is None and report.problems == (words,) and report.image_columns == ("image",)


CLASSES = [0, 0, 1, 1, 2, 2, 3, 3]
# columns, settings, images, what is said
REFUSED: dict[str, tuple[dict[str, list], dict[str, object], list[bytes] | None, str]] = {
    "one value": ({"label": [0] * 8}, {"label_columns": ("label",)}, None, "one value only|one class only"),
    "two classes": ({"label": [0] * 3 + [1] * 5}, {"label_columns": ("label",)}, None, "4 classes were needed.*has 2"),
    "a class too few": ({"label": [0, 0, 1, 1, 2, 2, 2, 2]}, {}, None, "At least 4 classes were needed.*has 3"),
    "one image of each class": (
        {"label": list(range(8))},
        {"label_columns": ("label",)},
        None,
        "8 classes of one image",
    ),
    "no label": ({"caption": ["one thing", "two things"] * 4}, {}, None, "choose it: caption"),
    "no such label": ({"label": CLASSES}, {"label_columns": ("kind",)}, None, "'kind' was asked for; columns that can"),
    "unlabelled": ({"label": [-1] * 8}, {"label_columns": ("label",)}, None, "one class only"),
    "no image column": ({"label": CLASSES}, {"image_column": "nope"}, None, "'nope' holds no images. The columns are:"),
    "no such split": ({"label": CLASSES}, {"test_split": "extra"}, None, "no split 'extra'; this dataset has train"),
    "nothing to decode": ({"label": CLASSES}, {}, [b"no picture"] * 8, "8 of 8 images in column 'image' could not be"),
    "a format that is not read": ({"label": CLASSES}, {}, [encode(np.zeros((9, 9, 3), np.uint8), "EPS")] * 8, "image"),
    "a cap too low": ({"label": CLASSES}, {"max_images": 2}, None, "At least 4 images"),
    "a size out of range": ({"label": CLASSES}, {"image_size": 5000}, None, "from 8 to 1024"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_look_refuses_what_training_refuses(tmp_path, name):
    columns, values, images, words = REFUSED[name]
    types = {"label": datasets.ClassLabel(names=[f"n{n}" for n in range(8)])}
    write_split(tmp_path, "train", columns, types, images=images)
    said = fails(words, tmp_path, **values)
    report = inspect_data(DataChoice(source=str(tmp_path), **values))
    assert report.proposal is None and report.problems[0] == said


def test_empty_folders_and_splits(tmp_path):
    (tmp_path / "empty").mkdir()
    fails("holds no images or tables", tmp_path / "empty")
    write_split(tmp_path / "set", "train", {"label": [0]}, images=[picture(0)])
    table = datasets.load_dataset(str(tmp_path / "set"), split="train", cache_dir=str(tmp_path / "x")).select([])
    table.to_parquet(str(tmp_path / "set" / "data" / "train-00000-of-00001.parquet"))
    fails("no rows", tmp_path / "set")


def test_a_flat_folder_and_other_files(tmp_path):
    write_tree(tmp_path, ["flat"])
    (tmp_path / "notes.txt").write_text("text")
    fails("is one file", tmp_path / "notes.txt")
    with zipfile.ZipFile(tmp_path / "flat.zip", "w") as archive:
        archive.writestr("a.png", picture(0))
    fails(r"lie in one folder. Put them in one sub-folder per class.*metadata\.csv", tmp_path / "flat.zip")
    with zipfile.ZipFile(tmp_path / "none.zip", "w") as archive:
        archive.writestr("a.txt", "text")
    fails("holds no images", tmp_path / "none.zip")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "flat.zip").read_bytes()[:-30])
    fails("is no zip file, or a part of it is missing", tmp_path / "cut.zip")


def test_a_folder_with_a_loading_script_only(tmp_path):
    (tmp_path / "scripted").mkdir()
    (tmp_path / "scripted" / "scripted.py").write_text("raise SystemExit")
    fails("needs its own loading script; scripts are not run", tmp_path / "scripted")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "disk is full"),
        (MemoryError(), "does not fit in memory"),
        (RuntimeError("Dataset scripts are no longer supported, but found x.py"), "loading script"),
        (ConnectionError("Couldn't reach 'x' on the Hub (ConnectTimeout)"), "cannot be reached"),
        (FileNotFoundError("Couldn't find any data file at /x."), "holds no images"),
        (
            ValueError("Config name is missing.\nPlease pick one among the available configs: ['a', 'b']"),
            "of: a, b",
        ),
        (ValueError("BuilderConfig 'c' not found. Available: ['a', 'b']"), "Choose one of: a, b"),
        (KeyError("odd"), "cannot be read: 'odd'"),
    ],
)
def test_faults_from_below(error, words):
    assert words in str(explain(error, "owner/name"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("size mismatch\n  for head.weight", "size mismatch for head.weight"),
        (" ".join(["weights"] * 50), " ".join(["weights"] * 37) + " …"),  # 300 letters end inside a word
        ("w" * 400, "w" * 300 + " …"),
        ("", "ValueError"),
    ],
)
def test_what_a_library_says_is_cut_between_words(text, said):
    assert brief(ValueError(text)) == said
