"""The look before the load: what it counts, proposes and warns of, and that the load agrees with it."""

from __future__ import annotations

import json

import datasets
import numpy as np
import pytest

from tests.data.world import encode, picture, write_split, write_tree, written
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.runs import list_runs


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


def test_what_is_wrong_can_be_mended(tmp_path):
    write_split(tmp_path, "train", {"caption": ["one thing", "two things"] * 4, "width": [1, 1, 2, 2, 3, 3, 4, 4]})
    report = inspect_data(DataChoice(source=str(tmp_path)))
    assert report.proposal is None and "choose it: caption, width" in report.problems[0]
    mended = inspect_data(DataChoice(source=str(tmp_path), label_columns=("width",)))
    assert mended.problems == () and mended.proposal.label_columns == ("width",)


CLASSES = [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_look_tells_what_training_would_tell(tmp_path):
    for split in ("train", "test"):
        write_split(tmp_path, split, {"label": [*CLASSES, 7]})
    choice = DataChoice(source=str(tmp_path), max_images=4)
    assert inspect_data(choice).notes == load_data(choice).notes


def test_the_command_line_look_is_a_table_and_json(tmp_path, capsys):
    write_split(tmp_path, "train", {"label": CLASSES, "width": list(range(len(CLASSES)))})
    assert main(["inspect", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.split() == ["LABEL", "CLASSES", "EXAMPLES"])
    assert lines[head + 1].split()[:2] == ["label", str(len(set(CLASSES)))]
    assert f"splits: train ({len(CLASSES):,} images)" in lines and not any("LabelColumn" in line for line in lines)
    assert main(["inspect", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["splits"] == {"train": len(CLASSES)}


def test_unreadable_images_are_counted_and_named_before_and_when_a_run_begins(tmp_path, capsys):
    write_tree(tmp_path / "own", ["a", "b", "c", "d"], 4)
    bad = sorted((tmp_path / "own").rglob("*.png"))[:5]
    for file in bad:
        file.write_bytes(b"no image")
    assert main(["inspect", str(tmp_path / "own"), "--held-out", "images"]) == 0
    splits, said, *_ = capsys.readouterr().out.splitlines()[1:]
    assert splits == "splits: all (16 images)" and said.startswith("5 images could not be read and were skipped: ")
    *names, more = said.partition(": ")[2].split(", ")
    assert len(names) == 3 and set(names) < {"/".join(file.parts[-2:]) for file in bad} and more == "2 more."
    small = "train --steps 1 --classes-per-batch 2 --images-per-class 2 --encoder small_conv:width=8 --dim 8"
    words = [*small.split(), "--held-out", "images", "--data", str(tmp_path / "own"), "--probe-size", "20"]
    assert main([*words, "--runs", str(tmp_path / "runs")]) == 0
    assert "5 images could not be read and were skipped: " in capsys.readouterr().err
    (folder,) = list_runs(tmp_path / "runs")
    assert any("5 images could not be read" in note for note in folder.probe().notes)


def test_of_very_many_images_those_are_looked_at_for_which_there_is_time(tmp_path, monkeypatch):
    write_tree(tmp_path / "own", ["a", "b", "c", "d"], 4)
    for file in sorted((tmp_path / "own").rglob("*.png"))[:15]:
        file.write_bytes(b"no image")
    monkeypatch.setattr("trainers.data.labelled.report.LOOK_SECONDS", 1e9)
    whole = inspect_data(DataChoice(source=str(tmp_path / "own"), held_out="images"))
    monkeypatch.setattr("trainers.data.labelled.report.LOOK_SECONDS", -1.0)
    none = inspect_data(DataChoice(source=str(tmp_path / "own"), held_out="images"))
    assert whole.unreadable.startswith("15 images could not be read") and none.unreadable == ""


@pytest.mark.parametrize("mark", ["\n", "\x1b", "\u2028"])
def test_a_control_character_in_a_class_name_breaks_no_table(tmp_path, mark, capsys):
    names = [f"big{mark}oak", "elm", "fir", "ash"]
    written(tmp_path / "own", {f"{n}{i}.png": picture(n * 4 + i) for n in range(4) for i in range(4)})
    rows = [{"file_name": f"{n}{i}.png", "label": name} for n, name in enumerate(names) for i in range(4)]
    (tmp_path / "own" / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["inspect", str(tmp_path / "own")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.endswith("ash, big oak, elm, fir") for line in lines)
    mapping = json.dumps({name: f"tree{mark}s" for name in names})
    (tmp_path / "trees.json").write_text(mapping)
    whole = ["inspect", str(tmp_path / "own"), "--hierarchy", f"mapping:{tmp_path / 'trees.json'}"]
    assert main(whole) == 0 and "  tree s: ash, big oak, elm, fir" in capsys.readouterr().out.splitlines()
    assert load_data(DataChoice(source=str(tmp_path / "own"))).hierarchy.names[0] == ("ash", "big oak", "elm", "fir")


def test_images_cut_short_and_classes_left_out_are_named_by_both(tmp_path):
    write_tree(tmp_path / "own", ["a", "b", "c", "d", "e"], 2)
    (tmp_path / "own" / "f").mkdir()
    (tmp_path / "own" / "f" / "0.png").write_bytes(picture(90))
    cut = tmp_path / "own" / "b" / "1.png"
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    cut.write_bytes(encode(noise)[:5000])  # its header is whole
    choice = DataChoice(source=str(tmp_path / "own"))
    report, data = inspect_data(choice), load_data(choice)
    assert report.unreadable == "1 image could not be read and was skipped: b/1.png."
    left_out = [
        "1 class with a single image is left out: f; a class needs two.",
        "1 more image was left out with them: the only readable image of its class.",
        "1 class is left out with them: b.",
    ]
    assert set(left_out) < set(data.notes) and set(left_out) <= set(report.notes)
    assert {report.unreadable, *report.notes} == set(data.notes)
