"""The whole path: a run, a dataset that knows its objects, numbers, the command line; and what gets in its way."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import numpy as np
import pytest
import torch

from tests.data.world import encode
from tests.shared import needs
from tests.tiny import tiny_config, tiny_contrastive, trained, write_images
from trainers.cli.main import main
from trainers.config import Conditions, DataChoice
from trainers.data import cache
from trainers.errors import DataError, ParameterError
from trainers.object_removal.reliance import queries
from trainers.object_removal.reliance.measure import measure, read_queries
from trainers.object_removal.reliance.objects import ObjectImages
from trainers.object_removal.reliance.queries import ALONE, TITLES, WHOLE, WITHOUT
from trainers.object_removal.reliance.settings import Settings
from trainers.parameters import Choice
from trainers.retrieval.encoders import encoders_of_run
from trainers.runs import RunFolder

SIDE = 24
FEW = Settings(queries=20)
REMOVING, SCORING = "removing objects", "scoring the queries"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def folder_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Two losses on a folder whose images have no boxes."""
    home = tmp_path_factory.mktemp("plain")
    return trained(home / "runs", tiny_config(write_images(home / "images"), steps=2))


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Contrastive training on the drawn pots."""
    data = DataChoice(source="drawn:bias=0.9", image_size=16, max_images=960, held_out="images")
    few = {"data": data, "batch": 16, "head_steps": 0, "probe_size": 40}
    config = tiny_contrastive(Path("drawn"), Choice(name="simclr"), **few)
    return trained(tmp_path_factory.mktemp("pots") / "runs", config)


def square_on(background: tuple[int, int, int], place: int, colour: tuple[int, int, int]) -> bytes:
    image = np.full((32, 32, 3), background, np.uint8)
    image[place : place + 10, 8:20] = colour
    return encode(image)


def write_boxed(root: Path, *, column: str = "objects", damaged: bool = False) -> Path:
    """Squares of four classes on backgrounds that tell nothing, with boxes in one of three forms, or masks."""
    draws = np.random.default_rng(0)
    colours = ((200, 30, 30), (30, 200, 30), (30, 30, 200), (200, 200, 30))
    for split, classes in (("train", (0, 1)), ("test", (2, 3))):
        rows = [(label, int(draws.integers(2, 20))) for label in classes for _ in range(8)]
        images = [square_on(tuple(draws.integers(60, 180, 3)), y, colours[label]) for label, y in rows]
        if damaged and split == "test":
            images[3] = images[3][:60]
        boxes = [[8.0, float(y), 12.0, 10.0] for _, y in rows]
        columns: dict = {"label": [label for label, _ in rows]}
        box = datasets.Sequence(datasets.Value("float32"), length=4)
        types: dict = {"label": datasets.ClassLabel(names=["red", "green", "blue", "yellow"])}
        if column == "objects":
            columns["objects"] = [[{"bbox": one, "category": 0}] for one in boxes]
            types["objects"] = [{"bbox": box, "category": datasets.ClassLabel(names=["square"])}]
        elif column == "bbox":
            columns["bbox"], types["bbox"] = boxes, box
        else:
            masks = []
            for _, y in rows:
                mask = np.zeros((32, 32), np.uint8)
                mask[y : y + 10, 8:20] = 255
                masks.append({"bytes": encode(mask), "path": None})
            columns["mask"], types["mask"] = masks, datasets.Image()
        write_boxed_split(root, split, columns, types, images)
    return root


def write_boxed_split(root: Path, split: str, columns: dict, types: dict, images: list[bytes]) -> None:
    features = datasets.Features({"image": datasets.Image(), **types})
    table = {"image": [{"bytes": data, "path": None} for data in images], **columns}
    (root / "data").mkdir(parents=True, exist_ok=True)
    made = datasets.Dataset.from_dict(table, features=features)
    made.to_parquet(str(root / "data" / f"{split}-00000-of-00001.parquet"))


# ------------------------------------------------------------------- the sources


@pytest.mark.long
def test_drawn_pots_of_a_contrastive_run_are_drawn_again(pretrained: RunFolder) -> None:
    result = measure(encoders_of_run(pretrained), FEW)
    assert result.test_set and result.fill == "rerender" and len(result.arms) == 1 and len(result.indices) == 20
    assert list(result.arms[0].scores) == list(TITLES) and result.placebo_fill == "telea"
    objects, queries = read(pretrained, FEW)
    data = objects.images[torch.from_numpy(result.indices)]
    assert torch.equal(queries.forms[WHOLE], data) and len(objects) == result.gallery


@pytest.mark.parametrize("column", ["objects", "bbox", "mask"])
def test_a_labelled_dataset_with_a_column_of_objects(folder_run: RunFolder, tmp_path: Path, column: str) -> None:
    source = write_boxed(tmp_path / "boxed", column=column)
    settings = Settings(data=str(source), fill="mean", queries=16)
    result = measure(encoders_of_run(folder_run), settings)
    assert not result.test_set and result.levels == ("class",) and len(result.indices) == 16
    objects, queries = read(folder_run, settings)
    assert objects.hierarchy.names[0] == ("red", "green", "blue", "yellow")
    covered = objects.masks(queries.indices).mean((1, 2))
    assert covered == pytest.approx(120 / 1024, abs=0.03)
    changed = (queries.forms[WHOLE] != queries.forms[WITHOUT]).any(1)
    kept = (queries.forms[WHOLE] == queries.forms[ALONE]).all(1)
    assert (changed.float().mean((1, 2)).numpy() < covered + 0.001).all() and (kept | ~changed).all()


def test_the_coco_kit_by_class_and_supercategory(folder_run: RunFolder) -> None:
    kit = needs("data/coco_captions")
    result = measure(encoders_of_run(folder_run), Settings(data=str(kit), queries=30))
    objects, _ = read(folder_run, Settings(data=str(kit), queries=30))
    names = objects.hierarchy.names
    assert result.levels == ("class", "supercategory") and len(names[1]) <= 12
    assert "person" in names[0] and result.fill == "telea" and len(objects.ids) == result.gallery
    known = {entry["name"]: entry["supercategory"] for entry in json.loads((kit / "categories.json").read_text())}
    assert all(known[names[0][fine]] == names[1][coarse] for fine, coarse in objects.labels[result.indices].tolist())
    for arm in result.arms:
        assert arm.error is None and list(arm.scores) == list(TITLES)
    assert all(np.isfinite(number["mean"]) for number in result.table() if number["form"] != "placebo")


def test_drawn_scenes_are_drawn_again_without_their_largest_object(folder_run: RunFolder) -> None:
    result = measure(encoders_of_run(folder_run), Settings(data="drawn_scenes:train=50,val=0,test=40", queries=20))
    assert result.fill == "rerender" and result.levels == ("class",)
    assert list(result.arms[0].scores) == list(TITLES)


def read(run: RunFolder, settings: Settings) -> tuple[ObjectImages, queries.Queries]:
    """The gallery and the queries that the arms of a run are measured on."""
    encoders = encoders_of_run(run)
    return read_queries(encoders.data, settings, encoders.read(0))


def objects_of(choice: DataChoice) -> ObjectImages:
    """The gallery that an encoder of 16 x 16 colour images is measured on which was trained on ``choice``."""
    encoder: Any = SimpleNamespace(channels=3, side=16)
    return read_queries(choice, FEW, encoder)[0]


# ------------------------------------------------------------- kept, and stopped


def made(said: list[str]) -> Counter[str]:
    """Count what a measurement said that it made, which is not said of what was kept."""
    return Counter(words for text in said if (words := text.partition(":")[0]) in (REMOVING, SCORING))


def test_what_was_measured_is_kept(folder_run: RunFolder, tmp_path: Path) -> None:
    settings = Settings(data=str(write_boxed(tmp_path / "boxed")), queries=16)
    said: list[str] = []
    first = measure(encoders_of_run(folder_run), settings, lambda text, _: said.append(text))
    assert made(said) == {REMOVING: 16, SCORING: 2}
    said.clear()
    assert measure(encoders_of_run(folder_run), settings, lambda text, _: said.append(text)).json() == first.json()
    assert made(said) == {}


def test_forms_of_another_version_are_not_read(
    folder_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the images nor the scores of a version whose forms were others."""
    settings = Settings(data=str(write_boxed(tmp_path / "boxed")), queries=16)
    said: list[str] = []
    with monkeypatch.context() as older:
        older.setattr(queries, "code_digest", lambda *_: "an older version")
        measure(encoders_of_run(folder_run), settings)
    measure(encoders_of_run(folder_run), settings, lambda text, _: said.append(text))
    assert made(said) == {REMOVING: 16, SCORING: 2}


def test_stopped_and_begun_again_finished_arms_are_not_measured_twice(folder_run: RunFolder, tmp_path: Path) -> None:
    settings = Settings(data=str(write_boxed(tmp_path / "boxed")), queries=16)
    said: list[str] = []

    class StoppedError(Exception):
        pass

    def stop_in_second_arm(text: str, fraction: float) -> None:
        said.append(text)
        if fraction > 0.8:
            raise StoppedError

    with pytest.raises(StoppedError):
        measure(encoders_of_run(folder_run), settings, stop_in_second_arm)
    assert made(said)[SCORING] == 1
    said.clear()
    assert len(measure(encoders_of_run(folder_run), settings, lambda text, _: said.append(text)).arms) == 2
    assert made(said) == {SCORING: 1}


# ------------------------------------------------------------- what gets in the way


def test_a_dataset_without_boxes_says_what_to_choose(folder_run: RunFolder) -> None:
    with pytest.raises(DataError, match=r"does not say where the objects are.*boxes or masks, or draw"):
        measure(encoders_of_run(folder_run))


def test_a_damaged_image_is_left_out_and_said(folder_run: RunFolder, tmp_path: Path) -> None:
    result = measure(
        encoders_of_run(folder_run), Settings(data=str(write_boxed(tmp_path / "boxed", damaged=True)), queries=16)
    )
    assert len(result.indices) == result.gallery == 15
    assert any("1 images could not be read" in note for note in result.notes)


def test_an_image_that_a_fill_cannot_work_on_is_left_out(
    folder_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def broken(*arguments):  # of each query the object first, then the placebo
        calls.append(1)
        if len(calls) == 3:
            raise ValueError("broken")
        return filled(*arguments)

    filled = queries.filled
    monkeypatch.setattr(queries, "filled", broken)
    result = measure(encoders_of_run(folder_run), Settings(data=str(write_boxed(tmp_path / "boxed")), queries=16))
    assert len(result.indices) == 15 and "From 1 images the object could not be removed." in result.notes


def test_what_cannot_be_is_refused(folder_run: RunFolder, tmp_path: Path) -> None:
    boxed = str(write_boxed(tmp_path / "boxed"))
    for settings, error in (
        (Settings(data=boxed, fill="rerender"), DataError),
        (Settings(data=boxed, fill="nothing"), ParameterError),
        (Settings(data=boxed, queries=1), ParameterError),
        (Settings(data="drawn:bias=3"), ParameterError),
        (Settings(data=str(tmp_path / "absent")), DataError),
    ):
        with pytest.raises(error):
            measure(encoders_of_run(folder_run), settings)


# ------------------------------------------------------------------- the command line


def test_the_command_line_prints_a_table_and_writes_it(
    folder_run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boxed, out = write_boxed(tmp_path / "boxed"), tmp_path / "numbers.csv"
    words = ["background", folder_run.id, "--data", str(boxed), "--fill", "mean", "--queries", "12"]
    assert main([*words, "--csv", str(out), "--runs", str(folder_run.path.parent)]) == 0
    printed = capsys.readouterr().out
    assert "12 queries against 16 images" in printed
    rows = list(csv.DictReader(out.read_text().splitlines()))
    result = measure(encoders_of_run(folder_run), Settings(data=str(boxed), fill="mean", queries=12))
    assert [float(row["mean"]) for row in rows] == [number["mean"] for number in result.table()]
    assert main([*words, "--json", "--runs", str(folder_run.path.parent)]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["run"] == folder_run.id and run["queries"] == 12
    assert main(["background", folder_run.id, "--runs", str(folder_run.path.parent)]) == 1
    assert "boxes or masks" in capsys.readouterr().err
    odd = dataclasses.replace(result, arms=(dataclasses.replace(result.arms[0], title="=1+1"),))
    assert ",'=1+1," in odd.csv()


def test_the_probe_keeps_the_background_of_each_point(pretrained: RunFolder) -> None:
    probe = pretrained.probe()
    assert probe is not None
    (one,) = probe.attributes
    assert one.name == "background" and len(one.names) == 12 and one.values.shape == (len(probe.labels),)
    assert cache.read("background", "0" * 32) is None


def test_hard_conditions_leave_the_images_that_are_measured_alone_and_a_fold_has_none() -> None:
    """Noise and withheld classes concern training; a run on a fold keeps away from the test images."""
    data_choice = DataChoice(source="drawn", max_images=192, image_size=16)
    hard = dataclasses.replace(data_choice, conditions=Conditions(label_noise=0.4, withheld_classes=0.5))
    found = [objects_of(choice) for choice in (data_choice, hard)]
    assert found[0].key == found[1].key and found[1].test_set and torch.equal(found[0].images, found[1].images)
    fold = dataclasses.replace(data_choice, conditions=Conditions(folds=3))
    with pytest.raises(DataError, match="tested on a fold of its training classes and leaves the test images alone"):
        objects_of(fold)
