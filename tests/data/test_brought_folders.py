"""Folders, tables and zip files as people bring them: the right classes and splits, or a sentence that says why not."""

from __future__ import annotations

import json
import os
import shutil
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.data.world import encode, picture, write_tree
from trainers.config import DataChoice
from trainers.data import DataReport, inspect_data, load_data
from trainers.data.base import ROLE
from trainers.data.labelled.archive_names import ZipNames
from trainers.errors import DataError
from trainers.parameters import Choice

KINDS = ("apple", "fig", "pear", "plum")
ACCENTS = ("café", "façade", "niño", "Übung")


def inspect(source: Path | str, **choice: object) -> DataReport:
    return inspect_data(DataChoice(source=str(source), **choice))  # type: ignore[arg-type]


def classes(report: DataReport) -> list[str]:
    return [row[0] for row in report.classes]


def decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def flat(root: Path, names: Sequence[str], count: int = 4) -> list[str]:
    """Write ``count`` images of each name into one folder; returns the names of the files."""
    root.mkdir(parents=True, exist_ok=True)
    files = [f"{name}_{number}.png" for name in names for number in range(count)]
    for number, file in enumerate(files):
        (root / file).write_bytes(picture(number))
    return files


def table(root: Path, header: str, rows: Sequence[Sequence[object]], name: str = "labels.csv") -> None:
    (root / name).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]), encoding="utf-8")


class TestNames:
    def test_decomposed_files_meet_composed_rows(self, tmp_path: Path) -> None:
        files = flat(tmp_path / "own", [decomposed(name) for name in ACCENTS])
        table(tmp_path / "own", "file_name,label", [(unicodedata.normalize("NFC", file), file[:2]) for file in files])
        report = inspect(tmp_path / "own")
        assert not report.problems and "labels.csv is used for 16 of 16 images" in report.notes[0]

    def test_classes_of_two_splits_are_the_same_in_either_form(self, tmp_path: Path) -> None:
        write_tree(tmp_path / "own" / "train", ACCENTS)
        write_tree(tmp_path / "own" / "test", [decomposed(name) for name in ACCENTS])
        report = inspect(tmp_path / "own")
        assert report.counts == (4,) and report.share_classes and sorted(classes(report)) == sorted(ACCENTS)

    def test_a_mapping_in_the_other_form_meets_the_classes(self, tmp_path: Path) -> None:
        write_tree(tmp_path / "own", [decomposed(name) for name in ACCENTS])
        rows = "\n".join(f"{name},{group}" for name, group in zip(ACCENTS, "aabb", strict=True))
        mapping = Choice(name="mapping", parameters={"table": f"class,group\n{rows}\n"})
        assert inspect(tmp_path / "own", hierarchy=mapping).counts == (4, 2)

    def test_a_column_is_chosen_in_either_form(self, tmp_path: Path) -> None:
        files = flat(tmp_path / "own", KINDS)
        table(tmp_path / "own", f"file_name,{decomposed('espèce')}", [(file, file[:3]) for file in files])
        assert inspect(tmp_path / "own", label_columns=("espèce",)).counts == (4,)

    @pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
    def test_bytes_that_are_no_utf8_look_alike_everywhere_and_meet_their_file(self, tmp_path: Path) -> None:
        root = os.fsencode(tmp_path / "own")
        try:
            for name in (b"p\xeache", b"oak", b"elm", b"ash"):
                Path(os.fsdecode(root + b"/" + name)).mkdir(parents=True)
                for number in range(3):
                    Path(os.fsdecode(root + b"/" + name + b"/n\xf1%d.png" % number)).write_bytes(picture(number))
        except OSError:
            pytest.skip("this disk takes UTF-8 alone")
        report = inspect(tmp_path / "own")
        assert "p\\xeache" in classes(report)
        data = load_data(DataChoice(source=str(tmp_path / "own")))
        files = (*data.train.names, *data.test.names)
        assert "p\\xeache/n\\xf10.png" in files
        json.dumps(files).encode() and " ".join(files).encode()
        for written in ("p\\xeache/n\\xf10.png", "pêche/nñ0.png"):  # as we write it, and as Windows had it
            table(tmp_path / "own", "file_name,label", [(written, "x")])
            assert "labels.csv is used for 1 of 12 images" in " ".join(inspect(tmp_path / "own").notes)


def packed(path: Path, names: Sequence[bytes], extra: Callable[[bytes], bytes] = lambda _: b"") -> Path:
    """Write a zip file whose names have no mark of UTF-8."""

    class Info(zipfile.ZipInfo):
        def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802
            return names[int(self.filename)], self.flag_bits & ~0x800

    with zipfile.ZipFile(path, "w") as archive:
        for number, raw in enumerate(names):
            info = Info(str(number))
            info.extra = extra(raw)
            archive.writestr(info, picture(number))
    return path


WORDS = {
    "gb18030": ("苹果树叶", "梨树叶", "蝴蝶标本", "甲虫"),
    "cp932": ("ねこ", "いぬ", "東京", "表"),
    "cp949": ("사과", "배나무", "포도", "고양이"),
    "big5": ("蘋果", "香蕉", "貓", "臺北"),
    "cp866": ("яблоко", "Груша", "Дуб", "Берёза"),
    "cp1251": ("яблоко", "Груша", "Дуб", "Берёза"),
    "cp850": ("Übung", "Äpfel", "café", "niño"),
    "cp1252": ("Übung", "Äpfel", "crème brûlée", "niño"),
    "utf-8": ("Übung", "苹果树叶", "яблоко", "ねこ"),
}


class TestZipNames:
    @pytest.mark.parametrize("encoding", WORDS)
    def test_names_without_a_mark(self, tmp_path: Path, encoding: str) -> None:
        names = [f"{word}/{number}.png".encode(encoding) for word in WORDS[encoding] for number in range(3)]
        report = inspect(packed(tmp_path / "own.zip", names))
        assert sorted(classes(report)) == sorted(WORDS[encoding])
        assert any("does not say how its names are encoded" in note for note in report.notes) == (encoding != "utf-8")

    def test_the_field_beside_a_name_decides(self, tmp_path: Path) -> None:
        def field(raw: bytes) -> bytes:
            text = raw.decode("cp1251").encode()
            return struct.pack("<HHBL", 0x7075, 5 + len(text), 1, zlib.crc32(raw)) + text

        names = [f"{word}/{number}.png".encode("cp1251") for word in WORDS["cp1251"] for number in range(3)]
        report = inspect(packed(tmp_path / "own.zip", names, field))
        assert sorted(classes(report)) == sorted(WORDS["cp1251"])

    def test_the_encoding_can_be_chosen_and_a_wrong_one_is_a_sentence(self, tmp_path: Path) -> None:
        rare = ("굶깃", "궉", "빛따", "솖녔")
        path = packed(tmp_path / "own.zip", [f"{word}/{n}.png".encode("cp949") for word in rare for n in range(3)])
        assert tuple(classes(inspect(path, name_encoding="cp949"))) == rare
        for wrong in ("nonsense", "ascii", "zip"):
            with pytest.raises(Exception, match="Choose another encoding of names"):
                inspect(path, name_encoding=wrong)

    def test_marked_names_are_not_touched(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
            archive.writestr("é/1.png", b"")
        with zipfile.ZipFile(tmp_path / "own.zip") as archive:
            assert ZipNames.of(archive.infolist()) == ZipNames(names=("é/1.png",))

    @pytest.mark.parametrize("inside", ["fruit\\{}\\{}.png", "fruit\\{}/{}.png"])
    def test_backslashes_are_separators(self, tmp_path: Path, inside: str) -> None:
        path = packed(tmp_path / "own.zip", [inside.format(name, n).encode() for name in KINDS for n in range(3)])
        assert sorted(classes(inspect(path))) == sorted(KINDS)


SPLITS = {  # folders with the images of each; splits; classes; a sentence
    "a folder beside the splits": (
        [*(f"{split}/{kind}" for split in ("train", "val", "test") for kind in KINDS), "unlabeled"],
        {"train", "val", "test"}, 4, "Left out, 3 images in folders beside the splits: unlabeled.",
    ),
    "train alone with classes": ([*(f"train/{kind}" for kind in KINDS), "extra"], {"train"}, 4, "extra"),
    "numbers in the names": ([f"{s}2017/{kind}" for s in ("train", "val") for kind in KINDS], {"train2017", "val2017"},
                             4, ""),
    "a vehicle called train": (["train", "bus", "car", "tram"], {"all"}, 4, "train is read as a class"),
    "query and gallery": (
        [f"{s}/{i}" for s, ids in (("train", "abcd"), ("query", "efgh"), ("gallery", "efgh")) for i in ids],
        {"train", "test"}, 8, "The test is of 12 queries and a gallery of 12 images",
    ),
    "query and gallery within test": (
        [f"{s}/{i}" for s, ids in (("train", "abcd"), ("test/query", "efgh"), ("test/gallery", "efgh")) for i in ids],
        {"train", "test"}, 8, "The test is of 12 queries and a gallery of 12 images",
    ),
    "masks beside pictures": ([f"{s}/{kind}" for s in ("images", "masks") for kind in KINDS], {"all"}, 4,
                              "Left out, 12 images that have the names of others, as masks have: masks."),
    "classes with and without a mask": (["mask", "no_mask", "hat", "cap"], {"all"}, 4, ""),
    "pictures with masks deeper below": (
        [*(f"images/{kind}" for kind in KINDS), "annotations/trimaps"], {"all"}, 4, "as masks have: annotations.",
    ),
    "two folders of the same classes": ([f"{s}/{kind}" for s in ("old", "new") for kind in KINDS], {"all"}, 4,
                                        "new, old hold folders of the same names"),
    "a tree of classes": (["fruit/apple", "fruit/fig", "tree/oak", "tree/elm"], {"all"}, 4, ""),
}  # fmt: skip


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("case", SPLITS)
def test_roles_of_folders(tmp_path: Path, case: str, form: str) -> None:
    folders, splits, count, said = SPLITS[case]
    write_tree(tmp_path / "own", folders)
    root = tmp_path / "own"
    report = inspect(root if form == "folder" else shutil.make_archive(str(root), "zip", root))
    assert {*report.splits} == splits and report.counts[0] == count
    assert any(said in note for note in report.notes)


def test_queries_and_gallery_are_the_test_that_is_loaded(tmp_path: Path) -> None:
    write_tree(tmp_path / "own", ["train/a", "train/b", "query/e", "query/f", "gallery/e", "gallery/f"])
    write_tree(tmp_path / "own", ["gallery/distractor"], 1)
    for _ in range(2):  # decoded, then from the cache
        data = load_data(DataChoice(source=str(tmp_path / "own")))
        assert data.attributes == {ROLE: ("query", "gallery")} and not data.train.attributes
        assert data.test.attributes[ROLE].bincount().tolist() == [6, 7]
    rows = [(name, role) for name, role in zip(data.test.names, data.test.attributes[ROLE].tolist(), strict=True)]
    assert all(name.startswith(("query", "gallery")[role]) for name, role in rows)


def test_splits_that_share_classes_keep_queries_and_gallery_apart_from_training(tmp_path: Path) -> None:
    write_tree(tmp_path / "own", [f"{split}/{i}" for split in ("train", "query", "gallery") for i in "abcdef"])
    data = load_data(DataChoice(source=str(tmp_path / "own")))
    assert all(name.startswith("train") for name in data.train.names)
    assert data.test.attributes[ROLE].bincount().tolist() == [9, 9]


class TestLinks:
    def test_linked_class_folders_are_followed(self, tmp_path: Path) -> None:
        write_tree(tmp_path / "store", KINDS)
        (tmp_path / "own").mkdir()
        for kind in KINDS:
            (tmp_path / "own" / kind).symlink_to(tmp_path / "store" / kind, target_is_directory=True)
        assert sorted(classes(inspect(tmp_path / "own"))) == sorted(KINDS)

    def test_loops_end_and_are_named(self, tmp_path: Path) -> None:
        write_tree(tmp_path / "own", KINDS)
        (tmp_path / "own" / "loop").symlink_to(tmp_path / "own", target_is_directory=True)
        (tmp_path / "own" / "apple" / "up").symlink_to(tmp_path / "own" / "fig", target_is_directory=True)
        (tmp_path / "own" / "fig" / "gone.png").symlink_to(tmp_path / "nothing.png")
        report = inspect(tmp_path / "own")
        assert report.counts == (4,) and sum(report.images) == 12
        assert any("Each of 2 links was not followed" in note and "loop" in note for note in report.notes)
        assert any(note == "A link leads nowhere: fig/gone.png." for note in report.notes)

    def test_none_is_followed_where_folders_are_restricted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_tree(tmp_path / "secret", ["inside"])
        write_tree(tmp_path / "own", KINDS)
        write_tree(tmp_path / "own", [".hidden/inside"])
        monkeypatch.setenv("RANKSCOPE_FOLDERS", str(tmp_path / "own"))
        (tmp_path / "own" / "more").symlink_to(tmp_path / "own" / ".hidden", target_is_directory=True)
        report = inspect(tmp_path / "own")
        assert report.counts == (4,) and any("was not followed" in note and "more" in note for note in report.notes)
        (tmp_path / "own" / "out").symlink_to(tmp_path / "secret", target_is_directory=True)
        with pytest.raises(DataError, match="links that lead out"):
            inspect(tmp_path / "own")


TABLES = {  # header, cells of a row given its class's number and its own; levels with their counts; a sentence
    "whole numbers with a point": ("file_name,label", lambda k, n: (f"{k}.0",), ("class",), (4,), ""),
    "one of each list": ("file_name,label", lambda k, n: ([KINDS[k]],), ("class",), (4,), ""),
    "lists of one written as text": ("file_name,label", lambda k, n: (f"['{KINDS[k]}']",), ("class",), (4,), ""),
    "yes or no per class": (
        "file_name,a,b,c,d", lambda k, n: [str(k == j and n > 0) for j in range(4)], ("class",), (4,), "images without",
    ),
    "the splits of a contest": (
        "file_name,label,usage", lambda k, n: [KINDS[k], "Training" if n < 4 else "PublicTest"], ("class",), (4,),
        "Column 'usage' is the split: PublicTest, Training.",
    ),
    "a column per class": (
        "file_name,MEL,NV,BCC,DF", lambda k, n: [f"{float(k == j)}" for j in range(4)], ("class",), (4,),
        "4 columns, one per class (MEL, NV, BCC, DF), are read as the label 'class'.",
    ),
    "a column per class beside another": (
        "file_name,checked,MEL,NV,BCC,DF", lambda k, n: [n % 2, *(int(k == j) for j in range(4))], ("class",), (4,),
        "4 columns, one per class",
    ),
    "several ones in a row": (
        "file_name,label,a,b,c", lambda k, n: [KINDS[k], 1, n % 2, int(n > 3)], ("class",), (4,),
        "rows have several ones",
    ),
    "one row against the others": (
        "file_name,species,genus", lambda k, n: [KINDS[k], "xy"[k // 2] if (k, n) != (1, 3) else "y"],
        ("species", "genus"), (4, 2), "1 row contradicts the others in 'genus' and is outvoted: fig_3.png",
    ),
    "a split of its own name": (
        "file_name,label,evaluation_status", lambda k, n: [KINDS[k], ("train", "query", "gallery")[n % 3]], ("class",),
        (4,), "Column 'evaluation_status' is the split: gallery, query, train.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("case", TABLES)
def test_cells_of_tables(tmp_path: Path, case: str, form: str) -> None:
    header, cells, levels, counts, said = TABLES[case]
    names = header.split(",")
    root = tmp_path / "own"
    files = flat(root, KINDS, 6)
    rows = [(file, *cells(at // 6, at % 6)) for at, file in enumerate(files)]
    if form == "csv":
        rows = [[cell[0] if isinstance(cell, list) else cell for cell in row] for row in rows]
        table(root, header, rows)
    elif form == "jsonl":
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        (root / "metadata.jsonl").write_text("\n".join(lines))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
        images = [{"bytes": (root / file).read_bytes(), "path": file} for file in columns.pop("file_name")]
        shutil.rmtree(root)
        root.mkdir()
        numbers = {name: [float(cell) if name == "label" and cell[-2:] == ".0" else cell for cell in column]
                   for name, column in columns.items()}  # fmt: skip
        pq.write_table(pa.table({"image": images, **numbers}), root / "train.parquet")
    report = inspect(root)
    assert report.levels == levels and report.counts == counts, report
    assert any(said in note for note in report.notes)


def test_a_row_that_names_two_images_is_about_both(tmp_path: Path) -> None:
    flat(tmp_path / "own", [f"{kind}{n}" for kind in KINDS for n in range(3)], 2)
    rows = [(n, kind, f"{kind}{n}_0.png", f"{kind}{n}_1.png") for kind in KINDS for n in range(3)]
    table(tmp_path / "own", "case,diagnosis,clinic,derm", rows)
    report = inspect(tmp_path / "own")
    assert report.counts == (4,) and sum(report.images) == 24
    assert "labels.csv is used for 24 of 24 images, by columns 'clinic' and 'derm'." in report.notes


REASONS = {
    "numbers with a point": (lambda n: n + 0.5, "its values are numbers with a point"),
    "lists": (lambda n: ["a", "b"], "its values are lists"),
    "objects": (lambda n: {"name": "a"}, "its values are objects"),
}


@pytest.mark.parametrize("case", REASONS)
def test_a_column_says_why_it_is_no_label(tmp_path: Path, case: str) -> None:
    value, why = REASONS[case]
    files = flat(tmp_path / "own", KINDS)
    lines = [{"file_name": file, "label": file[:3], "odd": value(at)} for at, file in enumerate(files)]
    (tmp_path / "own" / "metadata.jsonl").write_text("\n".join(map(json.dumps, lines)))
    reasons = {column.name: column.reason for column in inspect(tmp_path / "own").labels if not column.usable}
    assert reasons == {"odd": why}


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (lambda data: __import__("base64").b64encode(data).decode(), "text that looks like images in base64"),
        (lambda data: list(data[:9]), "lists, such as pixels"),
        (lambda data: "https://example.org/a.png", "addresses, which are not fetched"),
    ],
)
def test_an_image_column_says_why_it_is_none(tmp_path: Path, cell: Callable[[bytes], object], why: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    images = [cell(picture(number)) for number in range(8)]
    pq.write_table(pa.table({"image": images, "label": [0, 0, 1, 1, 2, 2, 3, 3]}), tmp_path / "train.parquet")
    (problem,) = inspect(tmp_path).problems
    assert why in problem


def test_pictures_that_are_jpeg_and_masks_that_are_png(tmp_path: Path) -> None:
    import numpy as np

    for kind in KINDS:
        for folder, format in (("photographs", "JPEG"), ("segmentations", "PNG")):
            (tmp_path / "own" / folder / kind).mkdir(parents=True)
            for number in range(3):
                data = encode(np.zeros((8, 8, 3), np.uint8), format)
                (tmp_path / "own" / folder / kind / f"{number}.{format.lower()}").write_bytes(data)
    assert inspect(tmp_path / "own").counts == (4,)
