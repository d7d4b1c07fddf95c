"""Superclasses from a mapping and from names: the levels they give, what is refused, and that a run keeps them."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.data.world import picture, write_tree
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.errors import DataError
from trainers.hierarchy import severity_words
from trainers.kinds import KINDS
from trainers.kinds.checks import pinned
from trainers.parameters import Choice
from trainers.retrieval.galleries.base import origin

CLASSES = ["lion", "tiger", "wolf", "fox"]
MAPPING = "class,family\nlion,cat\ntiger,cat\nwolf,dog\nfox,dog\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tree(tmp_path / "own", CLASSES, 4)
    return tmp_path / "own"


def chosen(source: Path, name: str, **parameters: Any) -> DataChoice:
    return DataChoice(source=str(source), hierarchy=Choice(name=name, parameters=parameters))


@pytest.mark.parametrize(
    "text",
    [
        MAPPING,
        MAPPING.replace(",", ";"),
        json.dumps({"lion": "cat", "tiger": "cat", "wolf": "dog", "fox": "dog"}),
        json.dumps({"lion": ["cat"], "tiger": ["cat"], "wolf": ["dog"], "fox": ["dog"]}),
        json.dumps({"cat": ["lion", "tiger"], "dog": ["wolf", "fox"]}),
        json.dumps([["lion", "cat"], ["tiger", "cat"], ["wolf", "dog"], ["fox", "dog"]]),
    ],
)
def test_a_mapping_gives_the_superclasses(folder: Path, text: str) -> None:
    data = load_data(chosen(folder, "mapping", table=text))
    assert data.hierarchy.names == (("fox", "lion", "tiger", "wolf"), ("cat", "dog"))
    assert data.hierarchy.levels[0] == "class"
    of_class = {data.hierarchy.names[0][fine]: data.hierarchy.names[1][coarse] for fine, coarse in data.train.labels}
    assert of_class.items() <= {"lion": "cat", "tiger": "cat", "wolf": "dog", "fox": "dog"}.items()


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (MAPPING + "lion,dog\n", r"'lion' has two superclasses in the mapping, 'cat' and 'dog'\. A class has one"),
        ('{"lion": "cat", "lion": "dog"}', r"'lion' has two superclasses"),
        ("lion,cat,a\ntiger,cat,b\nwolf,dog,a\nfox,dog,a\n", r"'cat' has two superclasses in the mapping, 'a' and 'b'"),
        ("lion,cat\ntiger,cat\n", r"lacks 2 of 4 classes: fox, wolf\."),
        ("lion,cat\ntiger,\n", r"in row tiger, a cell is empty|in row 'tiger,' a cell is empty"),
        ("lion\ntiger\n", r"got a row of one: \('lion',\)|got a row of one"),
        ("lion,cat,animal\ntiger,cat\n", r"as many in every row; 'tiger' has 2 of 3"),
        ("red,warm\nblue,cold\n", r"None of the classes of the mapping .* is one of the images, which are fox"),
        ("{not json\n", "no JSON that can be read"),
        ("lion,(dropped)\ntiger,(dropped)\nwolf,(dropped)\nfox,(dropped)\n", "drops all 4 classes"),
        (MAPPING + "lion,(dropped)\n", r"'lion' has two superclasses in the mapping, 'cat' and '\(dropped\)'"),
        ("/no/such/file.csv", "cannot be read"),
        ("", "is not given"),
    ],
)
def test_a_wrong_mapping_is_refused_with_the_names(folder: Path, table: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        load_data(chosen(folder, "mapping", table=table))


def test_a_class_that_is_dropped_is_left_out_and_said(folder: Path) -> None:
    table = MAPPING.replace("lion,cat", "lion,(dropped)") + "puma,(dropped)\n"
    whole = load_data(DataChoice(source=str(folder), held_out="images"))
    data = load_data(DataChoice(**vars(chosen(folder, "mapping", table=table)) | {"held_out": "images"}))
    assert data.hierarchy.names == (("fox", "tiger", "wolf"), ("cat", "dog"))
    assert len(whole.train) + len(whole.test) - len(data.train) - len(data.test) == 4
    assert "Dropped, with 4 images: lion." in data.notes
    report = inspect_data(chosen(folder, "mapping", table=table))
    assert report.dropped == (("lion", 4),) and report.images == (4, 4, 4)


def test_what_is_reviewed_is_no_level(folder: Path) -> None:
    rows = MAPPING.splitlines()
    table = "\n".join([f"{rows[0]},reviewed", *(f"{row},yes" for row in rows[1:])])
    data = load_data(chosen(folder, "mapping", table=table))
    assert data.hierarchy == load_data(chosen(folder, "mapping", table=MAPPING)).hierarchy
    assert data.hierarchy.levels == ("class", "family")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("klmnop"), min_size=1), min_size=2))
def test_a_mapping_that_repeats_the_folders_gives_their_levels(tmp_path_factory, groups: dict[str, set[str]]) -> None:
    """A class of the same name in two folders is two classes, with the names that the tree gives them; but where all
    folders hold the same names, they are read as the same classes.
    """
    tree = sorted((group, name) for group, names in groups.items() for name in names)
    first = next(iter(groups.values()))
    if len(tree) < 4 or all(len(names & first) >= 0.8 * len(names | first) for names in groups.values()):
        return
    root = tmp_path_factory.mktemp("tree") / "own"
    write_tree(root, [f"{group}/{name}" for group, name in tree], 2)
    read = load_data(DataChoice(source=str(root)))
    report = inspect_data(DataChoice(source=str(root)))
    table = "\n".join(",".join(row) for row in [report.levels, *report.classes])
    mapped = load_data(chosen(root, "mapping", table=table))
    assert mapped.hierarchy == read.hierarchy
    assert torch.equal(mapped.train.labels, read.train.labels) and torch.equal(mapped.test.labels, read.test.labels)


NAMES = ["animal_dog", "animal_cat", "plant_rose", "plant_oak"]


@pytest.mark.parametrize("of", ["classes", "files"])
def test_names_of_classes_and_of_files_say_both(tmp_path: Path, of: str) -> None:
    (tmp_path / "own").mkdir()
    for number in range(12):
        inner = tmp_path / "own" / (NAMES[number // 3] if of == "classes" else "")
        inner.mkdir(exist_ok=True)
        (inner / f"{NAMES[number // 3]}_{number:02}.png").write_bytes(picture(number))
    choice = chosen(tmp_path / "own", "separator", of=of, separator="_")
    hierarchy = load_data(choice).hierarchy
    assert hierarchy.levels == ("class", "group")
    classes = sorted(NAMES) if of == "classes" else ["cat", "dog", "oak", "rose"]
    assert hierarchy.names == (tuple(classes), ("animal", "plant"))
    groups = ["animal", "animal", "plant", "plant"]
    assert inspect_data(choice).classes == tuple(zip(classes, groups, strict=True))


def test_names_that_do_not_fit_are_named(folder: Path) -> None:
    with pytest.raises(DataError, match=r"4 of 4 names have no '_' 1 time: "):
        load_data(chosen(folder, "separator", separator="_"))


def test_a_run_keeps_the_mapping_and_not_its_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "families.csv"
    file.write_text(MAPPING)
    config = KINDS["metric_learning"].config(data=chosen(folder, "mapping", table=str(file)))
    kept = pinned(config)
    file.unlink()
    assert kept.data.hierarchy.parameters["table"] == MAPPING and kept.data.source == config.data.source
    assert load_data(kept.data).hierarchy.names[1] == ("cat", "dog")
    assert hash(kept.data) == hash(chosen(folder, "mapping", table=MAPPING))


# ------------------------------------------------------------- names of levels


def test_levels_are_called_as_somebody_names_them(folder: Path) -> None:
    plain = chosen(folder, "mapping", table=MAPPING)
    named = dataclasses.replace(plain, level_names=("animal", " kind "))
    data, before = load_data(named), load_data(plain)
    assert severity_words(data.hierarchy) == ["unrelated", "same kind", "same animal"]
    assert data.hierarchy.names == before.hierarchy.names and data.fingerprint == before.fingerprint
    assert origin(named, "test") == origin(plain, "test")
    report = inspect_data(named)
    assert (report.levels, report.read_as) == (("animal", "kind"), before.hierarchy.levels)
    half = dataclasses.replace(plain, level_names=("", "kind"))
    assert load_data(half).hierarchy.levels == ("class", "kind")
    drawn = load_data(DataChoice(max_images=200, image_size=16, level_names=("item",)))
    assert drawn.hierarchy.levels == ("item", "shape", "shelf")


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("a", "b", "c"), r"have 2 levels \(class, family\), and 3 names were given for them: a, b, c\. Give one for"),
        (("Family",), r"would be called Family, family\. Give each a name of its own"),
        (("a\nb",), r"a line of up to 40 letters; got 'a\\nb'"),
        (("x" * 41,), r"a line of up to 40 letters; got 'x+'"),
    ],
)
def test_names_that_do_not_fit_are_said(folder: Path, names: tuple[str, ...], why: str) -> None:
    choice = dataclasses.replace(chosen(folder, "mapping", table=MAPPING), level_names=names)
    with pytest.raises(DataError, match=why):
        load_data(choice)
    report = inspect_data(choice)
    assert re.search(why, report.problems[0]) and report.proposal is None and report.read_as == ("class", "family")
