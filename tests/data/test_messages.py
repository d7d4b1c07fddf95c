"""Sentences say what was meant: a model is a model, one thing is singular, names stay in one line."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.data.world import encode, picture, write_tree
from trainers.cells import counted, one_line
from trainers.cli.main import main
from trainers.cli.output import Table
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.captioned.loader import load_captioned
from trainers.data.hf_errors import MODEL, explain
from trainers.data.hf_logging import quiet
from trainers.errors import DataError, brief

NETWORK = ConnectionError("Couldn't reach the server")


@pytest.mark.parametrize(
    ("count", "noun", "verb", "said"),
    [
        (1, "class", "", "1 class"),
        (2, "class", "is", "2 classes are"),
        (1, "image", "was", "1 image was"),
        (1200, "more image", "has", "1,200 more images have"),
        (0, "query", "", "0 queries"),
    ],
)
def test_numbers_agree_with_their_nouns(count: int, noun: str, verb: str, said: str) -> None:
    assert counted(count, noun, verb) == said


def test_a_model_that_is_missing_is_called_a_model() -> None:
    assert "the model 'a/b' is not on this machine yet. Check the network, or choose a model that is here" in str(
        explain(NETWORK, "a/b", MODEL)
    )
    assert "and 'a/b' is not on this machine yet. Check the network, or choose a drawn world" in str(
        explain(NETWORK, "a/b")
    )


def test_an_encoder_without_a_network_says_so_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "--encoder", "timm:model=hf-hub:timm/nowhere", "--steps", "1", "--runs", str(tmp_path)]
    assert main(words) == 1
    said = capsys.readouterr().err
    assert "the model 'timm/nowhere' is not on this machine" in said and "drawn world" not in said


def test_what_open_clip_logs_to_the_root_is_dropped_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    theirs = logging.LogRecord("root", logging.ERROR, "/lib/open_clip/factory.py", 1, "Failed to download", (), None)
    root = logging.getLogger()
    before = list(root.handlers), list(root.filters)
    with quiet():
        root.handle(theirs)
        logging.error("ours")
    root.handle(theirs)
    assert caplog.messages == ["ours", "Failed to download"] and (list(root.handlers), list(root.filters)) == before


def test_ways_out_of_a_library_are_not_passed_on() -> None:
    text = "Couldn't instantiate the backend tokenizer from one of: (1) a serialization file, (2) an instance."
    assert brief(ValueError(text)) == "Couldn't instantiate the backend tokenizer"


@pytest.mark.parametrize(
    ("images", "captions", "boxes"),
    [(0, "0", 0), ("0", 0, "0"), ("7", "7", 7.0), ("000042", 42, "42"), ("abc", "abc", "abc")],
)
def test_ids_of_coco_that_differ_in_type_are_joined(tmp_path: Path, images, captions, boxes) -> None:
    (tmp_path / "annotations").mkdir()
    (tmp_path / "val").mkdir()
    (tmp_path / "val" / "a.png").write_bytes(encode(np.zeros((40, 40, 3), np.uint8)))
    said = {"images": [{"id": images, "file_name": "a.png", "width": 40, "height": 40}],
            "annotations": [{"image_id": captions, "caption": "a dog"}]}  # fmt: skip
    seen = {"annotations": [{"image_id": boxes, "category_id": "3", "bbox": [1, 2, 10, 10]}],
            "categories": [{"id": 3, "name": "dog"}]}  # fmt: skip
    (tmp_path / "annotations" / "captions_val.json").write_text(json.dumps(said))
    (tmp_path / "annotations" / "instances_val.json").write_text(json.dumps(seen))
    (image,) = load_captioned(str(tmp_path)).splits["val"]
    assert image.captions == ("a dog",) and image.classes == ("dog",)


def test_an_id_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    said = {"images": [{"id": None, "file_name": "a.png"}], "annotations": []}
    (tmp_path / "annotations" / "captions_val.json").write_text(json.dumps(said))
    with pytest.raises(DataError, match=r"not in COCO's format .*an id was needed"):
        load_captioned(str(tmp_path))


# --------------------------------------------------------------- names, inspect


@pytest.mark.parametrize("mark", ["\n", "\t", "\r", "\x0b", "\x1b", "\x85", "\u2028"])
def test_a_control_character_in_a_class_name_breaks_no_table(
    tmp_path: Path, mark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"big{mark}oak", "elm", "fir", "ash"]
    for number in range(len(names)):
        for index in range(4):
            (tmp_path / "own").mkdir(exist_ok=True)
            (tmp_path / "own" / f"{number}{index}.png").write_bytes(picture(number * 4 + index))
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


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be made there")
def test_a_folder_with_a_line_break_is_one_class(tmp_path: Path) -> None:
    write_tree(tmp_path / "own", ["big\noak", "elm", "fir", "ash"], 4)
    data = load_data(DataChoice(source=str(tmp_path / "own")))
    assert data.hierarchy.names[0] == ("ash", "big oak", "elm", "fir") and len(data.train) + len(data.test) == 16


def test_a_table_of_names_of_older_runs_stays_whole() -> None:
    assert one_line("a\nb\tc") == "a b c" and one_line("été 日") == "été 日"
    assert Table(columns=("class",), rows=[("a\nb",), ("c",)]).text().splitlines() == ["CLASS", "a b", "c"]


def test_drawn_images_say_that_a_hierarchy_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "drawn", "--hierarchy", "mapping"]) == 0
    assert "Drawn images have superclasses of their own: hierarchy changes nothing." in capsys.readouterr().out


def test_images_cut_short_and_classes_left_out_are_named_by_both(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("each", "fits"), [(2, False), (3, False), (4, True), (10, True)])
def test_held_out_images_need_a_class_with_two_in_the_test(tmp_path: Path, each: int, fits: bool) -> None:
    write_tree(tmp_path / "own", ["a", "b"], each)
    choice = DataChoice(source=str(tmp_path / "own"), held_out="images")
    if fits:
        data = load_data(choice)
        assert np.bincount(data.test.labels[:, 0].numpy()).tolist() == [2, 2] and not inspect_data(choice).problems
    else:
        with pytest.raises(DataError, match="A class with at least two test images was needed") as refused:
            load_data(choice)
        assert inspect_data(choice).problems == (str(refused.value),)


def test_images_without_classes_need_no_two(tmp_path: Path) -> None:
    write_tree(tmp_path, ["images"], 3)
    assert not inspect_data(DataChoice(source=str(tmp_path / "images"), held_out="images")).problems
