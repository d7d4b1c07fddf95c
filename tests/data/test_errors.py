"""What cannot be loaded is said in one sentence that helps."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest

from tests.data.world import Files, encode, images, picture, tarred, write_split, write_tree, written
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.captioned.loader import load_captioned
from trainers.data.hf_errors import explain
from trainers.data.hub_requests import quiet
from trainers.data.labelled.hub import head
from trainers.data.sources import resolve
from trainers.errors import DataError


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


@pytest.mark.parametrize(
    ("words", "sources"),
    [
        ("was needed", ["", "a/b/c", "a b", "a/../b", "nul\0", "owner/name;rm", "name--x", "x" * 300, "-x"]),
        ("is a file format", ["parquet", "csv", "imagefolder"]),
        ("does not exist", ["/no/such/folder", "../no-such-folder", "/" + "x" * 300]),
    ],
)
def test_text_that_is_no_dataset(words, sources):
    for source in sources:
        fails(words, source)


@pytest.mark.parametrize(("subset", "revision"), [("../x", None), ("/etc", None), (None, "../main"), (None, "a b")])
def test_subsets_and_revisions_are_no_paths(subset, revision):
    fails("got", "owner/name", subset=subset, revision=revision)


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


def test_a_model_that_is_missing_is_called_a_model(tmp_path, capsys):
    words = ["train", "--encoder", "timm:model=hf-hub:timm/nowhere", "--steps", "1", "--runs", str(tmp_path)]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "the model 'timm/nowhere' is not on this machine" in said and "drawn world" not in said
    assert "or choose a drawn world" in str(explain(ConnectionError("Couldn't reach the server"), "a/b"))


def test_what_open_clip_logs_to_the_root_is_dropped_and_nothing_else(caplog):
    theirs = logging.LogRecord("root", logging.ERROR, "/lib/open_clip/factory.py", 1, "Failed to download", (), None)
    root = logging.getLogger()
    before = list(root.handlers), list(root.filters)
    with quiet():
        root.handle(theirs)
        logging.error("ours")
    root.handle(theirs)
    assert caplog.messages == ["ours", "Failed to download"] and (list(root.handlers), list(root.filters)) == before


@pytest.mark.parametrize(("each", "fits"), [(3, False), (4, True)])
def test_held_out_images_need_a_class_with_two_in_the_test(tmp_path, each, fits):
    write_tree(tmp_path / "own", ["a", "b"], each)
    choice = DataChoice(source=str(tmp_path / "own"), held_out="images")
    if fits:
        data = load_data(choice)
        assert np.bincount(data.test.labels[:, 0].numpy()).tolist() == [2, 2] and not inspect_data(choice).problems
    else:
        with pytest.raises(DataError, match="A class with at least two test images was needed") as refused:
            load_data(choice)
        assert inspect_data(choice).problems == (str(refused.value),)


# ------------------------------------------------------- what the readers of tables raise


CARD = b"""---
dataset_info:
  features:
  - name: image
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          "0": oak
---
"""
BROKEN: dict[str, tuple[Files, str]] = {
    "other columns": (
        {"a.jsonl": b'{"x": 1}\n' * 30, "b.jsonl": b'{"y": 1}\n' * 30},
        r"'b\.jsonl' of '.*' has columns that the files before it have not: y beside x\. Give all files the same",
    ),
    "no JSON": ({"a.json": b'{"x": 1', "b.json": b"[]"}, r"'a\.json' of '.*' cannot be read: "),
    "no arrow": ({"part.arrow": b"no"}, r"'part\.arrow' of '.*' cannot be read: "),
    "no parquet": (
        {"data/test-00000-of-00001.parquet": b"<html>"},
        r"'test-00000-of-00001\.parquet' of '.*' cannot be read: ",
    ),
    "no zip": (
        {"metadata.csv": b"file_name,text\nx.png,a\n", "page.zip": b"<html>"},
        r"'page\.zip' of '.*' cannot be read: File is not a zip file",
    ),
    "no tar": ({"train.tar": b"<html>"}, r"'train\.tar' of .* cannot be read: "),
    "a tar that is cut": (
        {"train.tar": tarred(images(*"abcd"))[:5000]},
        r"'train\.tar' of .* cannot be read: unexpected end of data",
    ),
    "a tar of different samples": (
        {"train.tar": tarred({f"{n}.{('png', 'cls')[n % 2]}": (picture(n), b"1")[n % 2] for n in range(8)})},
        "no WebDataset: its first images have different fields. Give every image the same",
    ),
    "a class that the card has not": (
        {"README.md": CARD, "a.csv": b"image,label\nx.png,elm\n"},
        r"has files or rows of the class 'elm', which is not among the classes that its card .* Correct the card",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    files, words = BROKEN[name]
    folder = written(tmp_path / "set", files)
    if name == "no parquet":
        write_split(folder, "train", {"label": [0, 0, 1, 1]})
    with pytest.raises(DataError, match=words):
        if name == "no zip":
            load_captioned(str(folder))
        else:
            inspect_data(DataChoice(source=str(folder)))


def test_a_column_that_is_empty_at_first_is_looked_at() -> None:
    parts = [pa.table({"x": [1, 2], "label": values}) for values in (pa.nulls(2), pa.array(["oak", "elm"]))]
    stream = datasets.IterableDataset.from_generator(lambda: (row for part in parts for row in part.to_pylist()))
    table = head(stream, 4, 1)
    assert table is not None and table.codes("label").names == ("elm", "oak")
