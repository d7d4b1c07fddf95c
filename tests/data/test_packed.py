"""Zip files in a folder are folders; names in a WebDataset: what is the key of an image, and what the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.world import Files, images, picture, tarred, written, zipped
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.labelled import packed
from trainers.data.labelled.archive_names import division
from trainers.errors import DataError

ABCD = ("a", "b", "c", "d")
ODD = ("NA", "None", "nan", "null")
"""Names that libraries take for missing values."""
TABLE = "file_name,kind\n" + "".join(f"{ABCD[n // 3]}/{n % 3}.png,{ODD[n // 3]}\n" for n in range(12))
FLAT = "file_name,kind\n" + "".join(f"{n}.png,{ODD[n // 3]}\n" for n in range(12))
DEEP = zipped(images(*(f"data/{name}" for name in ABCD)))
ALL, TWO = {"all": 12}, {"test": 12, "train": 12}
CLASSES = zipped(images(*ABCD))
LATER = zipped(images(*ABCD, first=50))
# files, splits with their images, words of the notes; the classes are a to d, and with a table NA to null
FORMS: dict[str, tuple[Files, dict[str, int], str]] = {
    "splits": (
        {"train.zip": CLASSES, "test.zip": LATER}, TWO,
        "Read as folders: test.zip (12 images), train.zip (12 images).",
    ),
    "splits that hold their own name": (
        {f"{split}.zip": zipped(images(*(f"{split}/{name}" for name in ABCD))) for split in ("train", "test")}, TWO, "",
    ),
    "splits of longer names": (
        {f"pots_{split}.zip": zipped(images(*(f"{split}/{name}" for name in ABCD))) for split in ("train", "val")},
        {"train": 12, "val": 12}, "",
    ),
    "a class each": ({f"{name}.zip": zipped(images("", first=9 * at)) for at, name in enumerate(ABCD)}, ALL, ""),
    "a class each within splits": (
        {f"{split}/{name}.zip": zipped(images("", first=9 * at))
         for split in ("train", "test") for at, name in enumerate(ABCD)}, TWO, "",
    ),
    "pieces": ({"pots-1.zip": zipped(images("a", "b")), "pots-2.zip": zipped(images("c", "d", first=50))}, ALL, ""),
    "pieces of splits": (
        {
            **{f"train-{n}-of-2.zip": zipped(images(*ABCD[2 * n : 2 * n + 2], first=9 * n)) for n in (0, 1)},
            "test-0-of-1.zip": zipped(images(*ABCD, first=80)),
        },
        {"test-0-of-1": 12, "train": 12}, "",
    ),
    "beside classes": (
        {**images("a", "b", "c"), "d.zip": zipped(images("", first=50))}, ALL, "Read as a folder: d.zip (3 images).",
    ),
    "unpacked beside it": (
        {**images(*ABCD), "pots.zip": CLASSES}, ALL, "pots.zip is not read: its images lie beside as files.",
    ),
    "unpacked in a folder of its name": (
        {**images(*(f"pots/{name}" for name in ABCD)), "pots.zip": CLASSES}, ALL, "pots.zip is not read",
    ),
    "one": ({"pots.zip": DEEP}, ALL, ""),
    "one split": ({"data/train.zip": CLASSES}, ALL, ""),
    "a table beside": (
        {"pots.zip": CLASSES, "labels.csv": TABLE.encode()}, ALL, "labels.csv is used for 12 of 12 images",
    ),
    "a table within": (
        {"x.zip": zipped({**images("", count=12), "labels.csv": FLAT.encode()}), "y.zip": zipped(images("", first=80))},
        {"all": 15}, "x/labels.csv is used for 12 of 15 images",
    ),
    "zips in zips": (
        {"train.zip": zipped({**images(*ABCD), "more.zip": DEEP}), "test.zip": LATER}, TWO,
        "Not read, since they lie in a zip file: train.zip/more.zip. Unpack them.",
    ),
    "one that is damaged beside images": (
        {**images(*ABCD), "page.zip": b"<html>"}, ALL, "page.zip is not read: 'page.zip' is not a readable zip file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_zip_files_are_read_as_folders(name: str, tmp_path: Path) -> None:
    files, splits, said = FORMS[name]
    report = inspect_data(DataChoice(source=str(written(tmp_path / "set", files))))
    found = {each.name: each for each in report.labels}
    chosen = report.proposal.label_columns if report.proposal else None
    label = chosen[0] if chosen else next(iter(found))
    assert report.splits == splits
    assert sorted(found[label].examples) == [*(ODD if "table" in name else ABCD)], report
    assert not said or any(said in note for note in report.notes), report.notes
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
    files = {"train.zip": CLASSES, "test.zip": LATER}
    data = load_data(DataChoice(source=str(written(tmp_path / "set", files)), image_size=16))
    assert data.train.names and data.train.names[0] == "train/" + data.train.names[0].split("/", 1)[1]
    for part in (data.train, data.test):
        shades = [int(image[0].float().mean()) for image in part.images]
        numbers = [3 * "abcd".index(name[-7]) + int(name[-5]) + 50 * name.startswith("test") for name in part.names]
        assert shades == numbers, "each zip file gives its own images"


# ------------------------------------------------------------------ WebDatasets


def samples(keys: list[str], *fields: str) -> list[str]:
    """Names of so many images, each with these fields."""
    return [f"{key}.{field}" for key in keys for field in fields]


# names, the first of them as key and field
DIVIDED: dict[str, tuple[list[str], tuple[str, str]]] = {
    "plain": (samples(["0", "1", "2"], "png", "cls"), ("0", "png")),
    "several images": (samples(["0", "1", "2"], "left.png", "right.png", "cls"), ("0", "left.png")),
    "masks": (samples(["0", "1", "2"], "png", "seg.png", "json"), ("0", "png")),
    "a rare field": ([*samples([*"0123456"], "a.png", "b.png"), "6.note.txt"], ("0", "a.png")),
    "one image": (samples(["0"], "left.png", "right.png"), ("0", "left.png")),
    "points and blanks": (samples(["scan 0.0 (v1)", "scan 0.1 (v1)"], "png", "cls"), ("scan 0.0 (v1)", "png")),
    "the same before points": (samples(["x 0.0 (new)", "x 0.1 (new)", "x 1.0 (new)"], "png"), ("x 0.0 (new)", "png")),
    "versions": (samples(["v1.0", "v1.1", "v1.2"], "jpg", "txt"), ("v1.0", "jpg")),
    "numbers and several images": (samples(["a.0", "a.1", "a.2"], "left.png", "right.png"), ("a.0", "left.png")),
    "words": (samples(["oak.tall", "elm.small", "fir.old", "yew.new"], "png", "cls"), ("oak.tall", "png")),
    "addresses": (samples(["www.a.org", "www.b.com", "en.c.net"], "jpg", "json"), ("www.a.org", "jpg")),
    "times": (samples(["2024.05.01T10.30", "2024.05.02T11.30"], "webp", "cls"), ("2024.05.01T10.30", "webp")),
    "folders with points": (samples(["v1.0/0", "v1.0/1"], "png", "cls"), ("v1.0/0", "png")),
    "other letters": (samples(["né.é 1", "né.é 2"], "png", "cls"), ("né.é 1", "png")),
    "capitals": (samples(["0", "1"], "PNG", "cls"), ("0", "png")),
    "packed": (samples(["a.0", "a.1"], "json.gz", "png"), ("a.0", "json.gz")),
    "left behind": ([*samples(["a.0", "a.1"], "png"), "._0.png", "__MACOSX/0.png", ".DS_Store"], ("a.0", "png")),
}  # fmt: skip


@pytest.mark.parametrize("name", DIVIDED)
def test_names_are_divided(name: str) -> None:
    names, first = DIVIDED[name]
    assert division(names)(names[0]) == first


def _set(keys: list[str], *, image: str = "png", label: str = "cls", odd: bool = False) -> dict[str, bytes]:
    files = {"._x.png": b"no image", "notes": b"none"} if odd else {}
    for at, key in enumerate(keys):
        files[f"{key}.{image}"] = picture(at)
        files[f"{key}.{label}"] = (b"%d" % (at // 3)) if label == "cls" else (b"NA", b"None", b"nan", b"x")[at // 3]
    return files


SETS = {
    "points": _set([f"v1.0/scan {n // 3}.{n % 3} (clean version)" for n in range(12)]),
    "texts": _set([f"{n // 3}.{n % 3}" for n in range(12)], label="txt"),
    "capitals": _set([f"pot.{n}" for n in range(12)], image="PNG", odd=True),
}


@pytest.mark.parametrize("name", SETS)
def test_a_webdataset_is_read_with_its_keys(name: str, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train-000.tar").write_bytes(tarred(SETS[name]))
    choice = DataChoice(source=str(tmp_path / "set"), image_size=16)
    report = inspect_data(choice)
    assert report.image_columns == ("png",)
    (label,) = (each for each in report.labels if each.usable)
    assert label.classes == 4 and label.name in ("cls", "txt")
    data = load_data(choice)
    shades = [int(image[0].float().mean()) for part in (data.train, data.test) for image in part.images]
    assert sorted(shades) == [*range(12)]
    kept = {f"{key.rsplit('.', 1)[0]}.png" for key in SETS[name] if key.lower().endswith(".png") and key[0] != "."}
    assert {*data.train.names, *data.test.names} == kept
