"""The look before the load: what it counts, proposes and warns of, and that the load agrees with it."""

from __future__ import annotations

import datasets

from tests.data.world import write_split, write_tree
from trainers.data import inspect_data, load_data
from trainers.data.plan import level_names
from trainers.types import DataChoice


def test_a_table_is_described_and_its_proposal_loads(tmp_path):
    types = {"label": datasets.ClassLabel(names=[f"n{n}" for n in range(9)])}
    columns = {"label": [0, 0, 1, 1, 2, 2, 3, 3], "stall": [0] * 8, "sold": [True, False] * 4, "code": list("abcdefgh")}
    for split in ("train", "val"):
        write_split(tmp_path, split, columns, types, image="img")
    report = inspect_data(DataChoice(source=str(tmp_path), max_images=100))
    assert report.splits == {"train": 8, "val": 8} and not report.sampled and report.problems == ()
    assert report.image_columns == ("img",) and report.share_classes is True
    label, stall, sold, code = report.labels
    assert (label.kind, label.classes, label.likely, label.examples) == ("class", 4, True, ("n0", "n1", "n2", "n3"))
    assert not stall.usable and "one value only" in stall.reason
    assert sold.usable and not sold.likely and sold.kind == "true or false" and sold.examples == ("no", "yes")
    assert code.usable and code.kind == "text"  # both splits hold each code
    proposal = report.proposal
    assert proposal.label_columns == ("label",) and (proposal.train_split, proposal.test_split) == ("train", "val")
    assert load_data(proposal).hierarchy == load_data(DataChoice(source=str(tmp_path))).hierarchy


def test_folders_are_described_too(tmp_path):
    write_tree(tmp_path / "own", ["x/a", "x/b", "y/c", "y/d"], 2)
    report = inspect_data(DataChoice(source=str(tmp_path / "own")))
    assert report.splits == {"all": 8} and report.share_classes is None
    assert report.proposal.label_columns == ("class", "group") and report.title == "own"
    assert [(label.name, label.classes) for label in report.labels] == [("class", 4), ("group", 2)]


def test_what_is_wrong_can_be_mended(tmp_path):
    write_split(tmp_path, "train", {"caption": ["one thing", "two things"] * 4, "width": [1, 1, 2, 2, 3, 3, 4, 4]})
    report = inspect_data(DataChoice(source=str(tmp_path)))
    assert report.proposal is None and "choose it: caption, width" in report.problems[0]
    mended = inspect_data(DataChoice(source=str(tmp_path), label_columns=("width",)))
    assert mended.problems == () and mended.proposal.label_columns == ("width",)


def test_sources_of_the_catalogue_without_a_network():
    report = inspect_data(DataChoice(source="drawn"))
    assert report.proposal == DataChoice(source="drawn") and report.problems == ()


def test_level_names():
    assert level_names(["fine_label", "coarse_label"]) == ("fine", "coarse")
    assert level_names(["label_name"]) == ("class",)
    assert level_names(["label", "class"]) == ("label", "class")
