"""Tables beside image files: used, or it is said why not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from explorer.page.form.images import looked_at
from tests.data.world import picture, write_tree
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data

SPECIES = {"lion": "cat", "tiger": "cat", "wolf": "dog", "fox": "dog"}
ROWS = [(f"{name}{number}.png", name, group) for name, group in SPECIES.items() for number in range(3)]


@pytest.fixture
def flat(tmp_path: Path):
    """Make twelve images in one folder, with a table beside them."""
    root = tmp_path / "photos"
    root.mkdir()
    for number, (file, _, _) in enumerate(ROWS):
        (root / file).write_bytes(picture(number))

    def with_table(text: str | bytes, name: str = "labels.csv") -> DataChoice:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return DataChoice(source=str(root))

    return with_table


def csv(rows=ROWS, header="file_name,species,genus", delimiter=",") -> str:
    return "\n".join([header.replace(",", delimiter), *(delimiter.join(map(str, row)) for row in rows)])


def test_label_columns_make_a_tree_in_any_order(flat) -> None:
    data = load_data(flat(csv([(group, file, name) for file, name, group in ROWS], "genus,file_name,species")))
    assert data.hierarchy.levels == ("species", "genus")
    assert data.hierarchy.names == (("fox", "lion", "tiger", "wolf"), ("cat", "dog"))
    of_class = {data.hierarchy.names[0][fine]: data.hierarchy.names[1][coarse] for fine, coarse in data.train.labels}
    assert of_class.items() <= SPECIES.items()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(csv(delimiter=";").encode("utf-16"), id="spreadsheet"),
        pytest.param(csv([(f".\\photos\\{file.upper()}", *rest) for file, *rest in ROWS]), id="other folders"),
        pytest.param(csv([(file[:-4], *rest) for file, *rest in ROWS], "id,species,genus"), id="no endings"),
        pytest.param(csv([(n, *row) for n, row in enumerate(ROWS)], "row,picture of it,species,genus"), id="own name"),
        pytest.param("\n".join(",".join(row[:2]) for row in ROWS), id="no header"),
        pytest.param(csv() + "\n\ngone.png,lion,cat\n", id="one that is gone"),
    ],
)
def test_tables_as_people_write_them(flat, text: str | bytes) -> None:
    report = inspect_data(flat(text))
    assert not report.problems and report.proposal is not None
    assert (report.proposal.label_columns or ("",))[0] in ("species", "label")
    assert any("labels.csv is used for 12 of 12 images" in note for note in report.notes)


def test_images_without_a_row_are_left_out(flat) -> None:
    notes = inspect_data(flat(csv(ROWS[:-1]))).notes
    assert any("is used for 11 of 12 images" in note for note in notes)
    assert "1 image without a label was left out." in notes


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file_name,label\nx.png,a\ny.png,b", r"column 'file_name' names no image that is here: x\.png, y\.png\."),
        ("colour,size\nred,1\nblue,2", r"none of its columns \(colour, size\) holds names of images"),
        ("file_name,label", "it has no rows"),
        ("", "it is empty"),
        ("a,a\n1,2", "two of its columns are called 'a'"),
    ],
)
def test_why_a_table_is_not_used(flat, text: str, why: str) -> None:
    choice = flat(text)
    report = inspect_data(choice)
    assert report.problems
    assert any(re.search("^labels.csv is not used: " + why, note) for note in report.notes)


def test_tables_named_after_splits_are_the_splits(flat) -> None:
    flat(csv(ROWS[:6]), "train.csv")
    assert inspect_data(flat(csv(ROWS[6:]), "test.csv")).splits == {"train": 6, "test": 6}


def test_metadata_comes_before_labels_and_lines_of_json_are_read(flat) -> None:
    flat(csv(header="file_name,other,more"))
    lines = "\n".join(f'{{"file_name": "{file}", "label": "{name}", "box": [1, 2]}}' for file, name, _ in ROWS)
    report = inspect_data(flat(lines, "metadata.jsonl"))
    assert report.proposal is not None and report.proposal.label_columns == ("label",)
    assert "labels.csv is not used: other tables are about its images already." in report.notes


def test_folders_stay_the_classes_where_no_column_is_a_label(tmp_path: Path) -> None:
    write_tree(tmp_path / "own", ["a", "b", "c", "d"])
    files = [f"{folder}/{n}.png,{n}.5,{n * 7}" for folder in "abcd" for n in range(3)]
    (tmp_path / "own" / "metadata.csv").write_text("\n".join(["file_name,score,width", *files]))
    report = inspect_data(DataChoice(source=str(tmp_path / "own")))
    assert report.proposal is not None and report.proposal.label_columns == ("class",)
    assert any("reads as a label (score, width), so the folders are the classes" in note for note in report.notes)


def test_folders_complete_a_table(tmp_path: Path) -> None:
    """A table that says the superclass of images in class folders: both are levels."""
    write_tree(tmp_path / "own", list(SPECIES))
    files = [f"{name}/{n}.png,{group}" for name, group in SPECIES.items() for n in range(3)]
    (tmp_path / "own" / "labels.csv").write_text("\n".join(["file,family", *files]))
    data = load_data(DataChoice(source=str(tmp_path / "own")))
    assert data.hierarchy.levels == ("folder", "family")
    assert data.hierarchy.names == (("fox", "lion", "tiger", "wolf"), ("cat", "dog"))


def test_a_changed_table_is_read_anew(flat) -> None:
    first = load_data(flat(csv()))
    second = load_data(flat(csv([(file, name, "all" if name == "fox" else group) for file, name, group in ROWS])))
    assert first.hierarchy.names != second.hierarchy.names


def test_images_of_another_folder_do_not_stand_in_for_those_that_are_gone(tmp_path: Path) -> None:
    write_tree(tmp_path / "own", list(SPECIES))
    files = [f"{name}/{n}.png" for name in SPECIES for n in range(3)]
    rows = ["file,kind", *(f"{file},of {file[:-6]}" for file in files)]
    (tmp_path / "own" / "labels.csv").write_text("\n".join(rows))
    for name in list(SPECIES)[:-1]:
        (tmp_path / "own" / name / "2.png").unlink()
    data = load_data(DataChoice(source=str(tmp_path / "own"), label_columns=("kind",)))
    kinds = [data.hierarchy.names[0][row] for part in (data.train, data.test) for row in part.labels[:, 0]]
    assert (kinds.count("of lion"), kinds.count("of fox"), len(kinds)) == (2, 3, 9)
    assert any("3 of its names are of no or several images here: lion/2.png" in note for note in data.notes)


# ------------------------------------- files that somebody may have meant to be read


@pytest.fixture(params=["folder", "zip"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Four classes with images of another format, a table and what nobody means to be read."""
    root = tmp_path / "photos"
    write_tree(root, ["a", "b", "c", "d"])
    for number in range(3):
        (root / "a" / f"{number}.heic").write_bytes(b"\\0\\0\\0 ftypheic")
    for name in ("labels.csv", "notes.txt", ".DS_Store"):
        (root / name).write_text("file,label")
    return str(root) if request.param == "folder" else shutil.make_archive(str(root), "zip", root)


def test_foreign_images_and_tables_are_named(place: str) -> None:
    report = inspect_data(DataChoice(source=place))
    assert not report.problems
    foreign, table = (next(note for note in report.notes if words in note) for words in (".heic", "labels.csv"))
    assert foreign == "Left out, since they cannot be read here: 3 .heic. Save them as JPEG or PNG."
    assert table == "labels.csv is not used: it has no rows." and "notes" not in foreign
    said = looked_at(DataChoice(source=place))["said"]
    assert {foreign, table} <= set(said) and any(line.endswith(" images.") for line in said)


def test_they_are_told_beside_a_problem_too(tmp_path: Path) -> None:
    write_tree(tmp_path / "photos", ["images"])
    (tmp_path / "photos" / "labels.csv").write_text("file,label")
    seen = looked_at(DataChoice(source=str(tmp_path / "photos")))
    assert seen["problems"] and any("labels.csv is not used" in line for line in seen["said"])
