"""Zip files in a folder are folders: their classes, splits, tables, and the sentences about them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tests.data.world import picture
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.labelled import packed
from trainers.errors import DataError

Files = dict[str, bytes]


def images(*folders: str, first: int = 0, count: int = 3) -> Files:
    """So many different pictures in each folder; the empty name is no folder."""
    return {
        f"{folder}/{n}.png".lstrip("/"): picture(first + count * at + n)
        for at, folder in enumerate(folders)
        for n in range(count)
    }


def zipped(files: Files) -> bytes:
    """Return a zip file of them."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def written(folder: Path, files: Files) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


ABCD = ("a", "b", "c", "d")
ODD = ("NA", "None", "nan", "null")
"""Names that libraries take for missing values."""
TABLE = "file_name,kind\n" + "".join(f"{ABCD[n // 3]}/{n % 3}.png,{ODD[n // 3]}\n" for n in range(12))
FLAT = "file_name,kind\n" + "".join(f"{n}.png,{ODD[n // 3]}\n" for n in range(12))
DEEP = zipped(images(*(f"data/{name}" for name in ABCD)))
# files, splits with their images, classes, words of the notes
FORMS: dict[str, tuple[Files, dict[str, int], list[str], tuple[str, ...]]] = {
    "splits": (
        {"train.zip": zipped(images(*ABCD)), "test.zip": zipped(images(*ABCD, first=50))},
        {"test": 12, "train": 12},
        list(ABCD),
        ("Read as folders: test.zip (12 images), train.zip (12 images).",),
    ),
    "splits that hold their own name": (
        {f"{split}.zip": zipped(images(*(f"{split}/{name}" for name in ABCD))) for split in ("train", "test")},
        {"test": 12, "train": 12},
        list(ABCD),
        (),
    ),
    "splits of longer names": (
        {f"pots_{split}.zip": zipped(images(*(f"{split}/{name}" for name in ABCD))) for split in ("train", "val")},
        {"train": 12, "val": 12},
        list(ABCD),
        (),
    ),
    "a class each": (
        {f"{name}.zip": zipped(images("", first=9 * at)) for at, name in enumerate(ABCD)},
        {"all": 12},
        list(ABCD),
        (),
    ),
    "a class each within splits": (
        {
            f"{split}/{name}.zip": zipped(images("", first=9 * at))
            for split in ("train", "test")
            for at, name in enumerate(ABCD)
        },
        {"test": 12, "train": 12},
        list(ABCD),
        (),
    ),
    "pieces": (
        {"pots-1.zip": zipped(images("a", "b")), "pots-2.zip": zipped(images("c", "d", first=50))},
        {"all": 12},
        list(ABCD),
        (),
    ),
    "pieces of splits": (
        {
            **{f"train-{n}-of-2.zip": zipped(images(*ABCD[2 * n : 2 * n + 2], first=9 * n)) for n in (0, 1)},
            "test-0-of-1.zip": zipped(images(*ABCD, first=80)),
        },
        {"test-0-of-1": 12, "train": 12},
        list(ABCD),
        (),
    ),
    "beside classes": (
        {**images("a", "b", "c"), "d.zip": zipped(images("", first=50))},
        {"all": 12},
        list(ABCD),
        ("Read as a folder: d.zip (3 images).",),
    ),
    "unpacked beside it": (
        {**images(*ABCD), "pots.zip": zipped(images(*ABCD))},
        {"all": 12},
        list(ABCD),
        ("pots.zip is not read: its images lie beside as files.",),
    ),
    "unpacked in a folder of its name": (
        {**images(*(f"pots/{name}" for name in ABCD)), "pots.zip": zipped(images(*ABCD))},
        {"all": 12},
        list(ABCD),
        ("pots.zip is not read",),
    ),
    "one": ({"pots.zip": DEEP}, {"all": 12}, list(ABCD), ()),
    "one split": ({"data/train.zip": zipped(images(*ABCD))}, {"all": 12}, list(ABCD), ()),
    "a table beside": (
        {"pots.zip": zipped(images(*ABCD)), "labels.csv": TABLE.encode()},
        {"all": 12},
        [*ODD],
        ("labels.csv is used for 12 of 12 images",),
    ),
    "a table within": (
        {"x.zip": zipped({**images("", count=12), "labels.csv": FLAT.encode()}), "y.zip": zipped(images("", first=80))},
        {"all": 15},
        [*ODD],
        ("x/labels.csv is used for 12 of 15 images",),
    ),
    "zips in zips": (
        {"train.zip": zipped({**images(*ABCD), "more.zip": DEEP}), "test.zip": zipped(images(*ABCD, first=50))},
        {"test": 12, "train": 12},
        list(ABCD),
        ("Not read, since they lie in a zip file: train.zip/more.zip. Unpack them.",),
    ),
    "one that is damaged beside images": (
        {**images(*ABCD), "page.zip": b"<html>"},
        {"all": 12},
        list(ABCD),
        ("page.zip is not read: 'page.zip' is not a readable zip file",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_zip_files_are_read_as_folders(name: str, tmp_path: Path) -> None:
    files, splits, classes, words = FORMS[name]
    report = inspect_data(DataChoice(source=str(written(tmp_path / "set", files))))
    found = {each.name: each for each in report.labels}
    chosen = report.proposal.label_columns if report.proposal else None
    label = chosen[0] if chosen else next(iter(found))
    assert report.splits == splits
    assert sorted(found[label].examples) == classes, report
    for said in words:
        assert any(said in note for note in report.notes), report.notes
    assert not any("folders of the same names" in note for note in report.notes)


LED_OUT = zipped({"../x.png": picture(0)})
REFUSED = {
    "a page": ({"page.zip": b"<html>", "train.zip": DEEP}, "'page.zip' is not a readable zip file: .*pack it again"),
    "cut": ({"a.zip": DEEP[:-30], "b.zip": DEEP}, "'a.zip' is not a readable zip file"),
    "names that lead out": ({"a.zip": LED_OUT, "b.zip": DEEP}, "'a.zip' holds names that lead out of it"),
    "too many": ({f"{n}.zip": DEEP for n in range(4)}, "holds 4 zip files; 3 can be read. Unpack them"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_zip_files_that_cannot_be_read_are_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "MOST_ZIPS", 3)
    files, words = REFUSED[name]
    with pytest.raises(DataError, match=words):
        inspect_data(DataChoice(source=str(written(tmp_path / "set", files))))


def test_images_of_several_zip_files_are_trained_on(tmp_path: Path) -> None:
    files = {"train.zip": zipped(images(*ABCD)), "test.zip": zipped(images(*ABCD, first=50))}
    data = load_data(DataChoice(source=str(written(tmp_path / "set", files)), image_size=16))
    assert data.train.names and data.train.names[0] == "train/" + data.train.names[0].split("/", 1)[1]
    for part in (data.train, data.test):
        shades = [int(image[0].float().mean()) for image in part.images]
        numbers = [3 * "abcd".index(name[-7]) + int(name[-5]) + 50 * name.startswith("test") for name in part.names]
        assert shades == numbers, "each zip file gives its own images"
