"""The table of classes and superclasses, and the verb that makes it: split, put under a further level, read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.world import write_tree
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.errors import UserError
from trainers.image_text.class_groups import NameEncoder
from trainers.image_text.class_table import ClassTable, Similarity
from trainers.parameters import Choice

CLASSES = [f"{place} {kind}" for kind in ("church", "bridge", "lake") for place in ("old", "stone", "royal")]
WORDS = Similarity(encoder=NameEncoder(), by="words")


@pytest.fixture
def table() -> ClassTable:
    return ClassTable.clustered("class", CLASSES, 3, WORDS)


def kinds(members: list[str]) -> set[str]:
    return {name.split()[-1] for name in members}


def test_a_table_is_what_was_clustered(table: ClassTable) -> None:
    assert table.levels == ("class", "superclass")
    assert sorted(map(sorted, map(kinds, table.groups().values()))) == [["bridge"], ["church"], ["lake"]]


def test_a_superclass_is_split_under_what_was_above_it(table: ClassTable) -> None:
    over = table.above(["made", "grown"], WORDS)
    name, members = next(iter(over.groups().items()))
    halves = over.split(name, 2, WORDS)
    assert len(halves.groups()) == 4 and halves.groups(2) == over.groups(2)
    assert sorted(len({*held} & {*members}) for held in halves.groups().values()) == [0, 0, 1, 2]
    alone = over.split(name, 3, WORDS)
    assert {*members} <= {*alone.groups()}, "as many parts as classes: each alone, under its own name"


def test_parts_take_no_name_of_another_group() -> None:
    rows = (("a b", "x"), ("a c", "x"), ("d e", "a b"))
    made = ClassTable(levels=("class", "superclass"), rows=rows).split("x", 2, WORDS)
    assert [row[1] for row in made.rows] == ["a b 2", "a c", "a b"]


def test_levels_are_put_above_without_what_is_dropped(table: ClassTable) -> None:
    rows = tuple((name, "(dropped)") if name == "old lake" else (name, above) for name, above in table.rows)
    over = ClassTable(levels=table.levels, rows=rows).above(2, WORDS).above(["all of it", "nothing"], WORDS)
    assert over.levels == ("class", "superclass", "top", "level 3") and len(over.groups(2)) == 2
    assert dict(zip(CLASSES, over.rows, strict=True))["old lake"] == ("old lake", *["(dropped)"] * 3)
    again = ClassTable.read(over.csv(), "class", CLASSES)
    assert again == over


def test_classes_with_several_superclasses_are_dropped_on_request() -> None:
    text = "class,kind\na,x\nb,x\nb,y\nc,y\n"
    assert ClassTable.read(text, "class", ["a", "b", "c"]).rows == (("a", "x"), ("b", "(dropped)"), ("c", "y"))


def test_a_cell_that_a_spreadsheet_would_run_comes_back_as_it_was() -> None:
    rows = (("=1+1", "-x"), ("b", "@y"))
    text = ClassTable(levels=("class", "kind"), rows=rows).csv()
    assert "'=1+1,'-x" in text
    assert ClassTable.read(text, "class", ["=1+1", "b"]).rows == rows


def test_no_such_superclass_is_a_sentence(table: ClassTable) -> None:
    with pytest.raises(UserError, match="no superclass 'sky'; there are: "):
        table.split("sky", 2, WORDS)


def test_the_verb_writes_what_training_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tree(tmp_path / "own", CLASSES)
    file, source = tmp_path / "families.csv", str(tmp_path / "own")
    make = ["group", source, "--by", "words", "--out", str(file)]
    assert main([*make, "--groups", "3", "--above-names", "lake", "church"]) == 0
    assert "9 class > 3 superclass > 2 top. Wrote" in capsys.readouterr().err
    first = file.read_text()
    assert main([*make, "--groups", "3", "--above-names", "lake", "church"]) == 0 and file.read_text() == first
    group = first.splitlines()[1].split(",")[1]
    assert main([*make, "--table", str(file), "--split", f"{group}=3"]) == 0
    dropped = [
        f"{row.split(',')[0]},(dropped),(dropped)" if row.startswith("old ") else row
        for row in file.read_text().splitlines()
    ]
    file.write_text("\n".join(dropped))
    choice = DataChoice(source=source, hierarchy=Choice(name="mapping", parameters={"table": str(file)}))
    data = load_data(choice)
    assert data.hierarchy.levels == ("class", "superclass", "top") and len(data.hierarchy.names[0]) == 6
    assert len(data.train) + len(data.test) == 18
    report = inspect_data(choice)
    assert dict(report.dropped) == {name: 3 for name in CLASSES if "old" in name} and {*report.images} == {3}
    assert any(note.startswith("Dropped, with 9 images: old bridge") for note in report.notes)
    capsys.readouterr()
    assert main(["group", source, "--groups", "3", "--by", "words", "--json"]) == 0
    assert '"levels"' in capsys.readouterr().out
    assert main(["group", "drawn", "--groups", "3", "--by", "words"]) == 1
    assert "From 3 to 2,000 classes were needed" in capsys.readouterr().err
