"""Benchmarks as their authors hand them out: miniatures are read with their classes, levels, splits and roles."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from tests.data.world import picture
from trainers.cli.main import main
from trainers.config import DataChoice
from trainers.data import inspect_data, load_data
from trainers.data.base import CAMERA, ROLE
from trainers.data.labelled.layouts import LAYOUTS
from trainers.errors import DataError


def write(root: Path, images: Mapping[str, int], lists: Mapping[str, str]) -> None:
    """Write images of a shade each, and lists."""
    for name, shade in images.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(picture(shade))
    for name, text in lists.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def birds(root: Path) -> None:
    names = [f"{n:03}.Bird_{n}" for n in range(1, 5)]
    paths = [f"{name}/Bird_{at}_{n}.jpg" for at, name in enumerate(names) for n in range(3)]
    shades = {f"images/{path}": at for at, path in enumerate(paths)}
    masks = {f"segmentations/{path[:-4]}.png": 250 for path in paths}
    write(root, shades | masks, {
        "images.txt": "\n".join(f"{at + 1} {path}" for at, path in enumerate(paths)),
        "image_class_labels.txt": "\n".join(f"{at + 1} {at // 3 + 1}" for at in range(12)),
        "classes.txt": "\n".join(f"{at + 1} {name}" for at, name in enumerate(names)),
        "train_test_split.txt": "\n".join(f"{at + 1} {at % 2}" for at in range(12)),
        "parts/parts.txt": "1 back",
    })  # fmt: skip


def cars(root: Path) -> None:
    paths = [f"car_ims/{at + 1:06}.jpg" for at in range(12)]
    write(root, {path: at for at, path in enumerate(paths)}, {})
    fields = [("relative_im_path", object), ("class", object), ("test", object)]
    rows = np.array([(path, at // 3 + 1, at % 2) for at, path in enumerate(paths)], dtype=fields)
    names = np.array([f"Car {n}" for n in range(4)], dtype=object)
    savemat(root / "cars_annos.mat", {"annotations": rows, "class_names": names}, do_compression=True)


def cars_of_the_kit(root: Path) -> None:
    fields = [("bbox_x1", object), ("class", object), ("fname", object)]
    for part, numbers in (("train", (1, 2, 3, 4)), ("test", (1, 2, 3, 4))):
        paths = [f"{at + 1:05}.jpg" for at in range(12)]
        write(root, {f"cars_{part}/{path}": at for at, path in enumerate(paths)}, {})
        (root / "devkit").mkdir(exist_ok=True)
        rows = np.array([(5, numbers[at // 3], path) for at, path in enumerate(paths)], dtype=fields)
        name = "cars_train_annos.mat" if part == "train" else "cars_test_annos_withlabels.mat"
        savemat(root / "devkit" / name, {"annotations": rows})
    names = np.array([f"Car {n}" for n in range(4)], dtype=object)
    savemat(root / "devkit" / "cars_meta.mat", {"class_names": names})


def products(root: Path) -> None:
    lists: dict[str, list[str]] = {"train": [], "test": []}
    images = {}
    for product in range(8):
        for n in range(3):
            path = f"{('bicycle', 'mug')[product % 2]}_final/1100{product}_{n}.JPG"
            images[path] = len(images)
            lists["train" if product < 4 else "test"].append(f"{len(images)} {product + 1} {product % 2 + 1} {path}")
    header = "image_id class_id super_class_id path\n"
    write(root, images, {f"Ebay_{split}.txt": header + "\n".join(rows) for split, rows in lists.items()})


def clothes(root: Path) -> None:
    rows, images = [], {}
    for item in range(8):
        for n in range(4):
            path = f"img/WOMEN/{('Dresses', 'Tees')[item % 2]}/id_{item:08}/0{n}_front.jpg"
            images[path] = len(images)
            rows.append(f"{path}    id_{item:08}    {'train' if item < 4 else ('query', 'gallery')[n > 0]}")
    lines = ["32", "image_name item_id evaluation_status", *rows]
    write(root, images, {"Eval/list_eval_partition.txt": "\n".join(lines)})


def people(root: Path) -> None:
    images = [f"bounding_box_train/{person:04}_c{n + 1}s1_00000{n}_00.jpg" for person in (2, 7, 8) for n in range(3)]
    images += [f"query/{person:04}_c1s1_000001_00.jpg" for person in (1, 3, 4)]
    images += [f"bounding_box_test/{person:04}_c{n}s1_00000{n}_00.jpg" for person in (1, 3, 4) for n in (1, 2, 3)]
    images += ["bounding_box_test/-1_c1s1_000001_00.jpg", "bounding_box_test/0000_c1s1_000001_00.jpg"]
    images += ["gt_bbox/0001_c1s1_000001_00.jpg"]
    write(root, {name: at for at, name in enumerate(images)}, {"readme.txt": "Market-1501"})


def species(root: Path) -> None:
    images, pairs, categories = [], [], []
    for category in range(8):
        order = ("Plantae", "Aves")[category % 2]
        categories.append({"id": category, "name": f"Species {category}", "supercategory": order})
        for n in range(3):
            path = f"train_val2018/{order}/{category}/{category}_{n}.jpg"
            images.append({"id": len(images), "file_name": path})
            pairs.append({"id": len(pairs), "image_id": len(pairs), "category_id": category})
    table = json.dumps({"images": images, "annotations": pairs, "categories": categories})
    sets = {
        f"Inat_dataset_splits/Inaturalist_{part}_set1.txt": "\n".join(
            image["file_name"] for image, pair in zip(images, pairs, strict=True) if (pair["category_id"] < 4) == first
        )
        for part, first in (("train", True), ("test", False))
    }
    write(root, {image["file_name"]: at for at, image in enumerate(images)}, {"train2018.json": table} | sets)


def goods(root: Path) -> None:
    rows = [f"{at}.jpg,{at // 3},{at // 6},0" for at in range(12)]
    table = "\n".join(["fname, fine_id, middle_id, coarse_id", *rows])
    folders = ("train", "mini-bmk_all_in_one")
    images = {f"{folder}/imgs/{at}.jpg": at for folder in folders for at in range(12)}
    write(root, images, {f"{folder}/label.csv": table for folder in folders})


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a miniature is read as; ``roles``: queries and images of the gallery."""

    make: Callable[[Path], None]
    levels: dict[str, int]
    splits: dict[str, int]
    said: str = ""
    roles: tuple[int, int] | None = None


HALVES = "Trained on the first 2 of its 4"
CASES = {
    "CUB-200-2011": Case(make=birds, levels={"species": 4}, splits={"train": 6, "test": 6}, said=HALVES),
    "Cars-196": Case(make=cars, levels={"model": 4}, splits={"train": 6, "test": 6}, said=HALVES),
    "Cars-196 ": Case(make=cars_of_the_kit, levels={"model": 4}, splits={"train": 12, "test": 12}, said=HALVES),
    "Stanford Online Products": Case(make=products, levels={"product": 8, "kind": 2}, splits={"train": 12, "test": 12}),
    "DeepFashion In-Shop": Case(
        make=clothes, levels={"item": 8, "category": 2, "section": 1}, splits={"train": 16, "test": 16}, roles=(4, 12)
    ),
    "Market-1501": Case(
        make=people, levels={"person": 7}, splits={"train": 9, "test": 13}, roles=(3, 10), said="junk (-1): 1 image."
    ),
    "iNaturalist 2018": Case(make=species, levels={"species": 8, "supercategory": 2}, splits={"train": 12, "test": 12}),
    "DyML": Case(make=goods, levels={"fine": 8, "middle": 4, "coarse": 2}, splits={"train": 12, "test": 12}),
}


@pytest.mark.parametrize("form", ["folder", "outer folder", "zip", "windows"])
@pytest.mark.parametrize("title", CASES)
def test_a_miniature_is_read_as_its_benchmark(tmp_path: Path, title: str, form: str) -> None:
    case, root = CASES[title], tmp_path / "set"
    case.make(root / "data" if form == "outer folder" else root)
    if form == "windows":
        for path in root.rglob("*.txt"):
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    report = inspect_data(
        DataChoice(source=shutil.make_archive(str(root), "zip", root) if form == "zip" else str(root))
    )
    assert not report.problems, report
    assert f"Read as {title.strip()}." in report.notes and any(case.said in note for note in report.notes)
    assert report.splits == case.splits and dict(zip(report.levels, report.counts, strict=True)) == case.levels
    queried = f"The test is of {case.roles[0]} queries and a gallery of {case.roles[1]} images" if case.roles else ""
    assert any(queried in note for note in report.notes) and report.share_classes is False


@pytest.mark.parametrize("title", CASES)
def test_it_loads_with_its_official_split(tmp_path: Path, title: str) -> None:
    case = CASES[title]
    case.make(tmp_path / "set")
    data = load_data(DataChoice(source=str(tmp_path / "set")))
    assert (len(data.train), len(data.test)) == (case.splits["train"], case.splits["test"])
    assert not {*data.train.labels[:, 0].tolist()} & {*data.test.labels[:, 0].tolist()}
    roles = data.test.attributes[ROLE].bincount().tolist() if case.roles else None
    assert roles == (list(case.roles) if case.roles else None) and (CAMERA in data.test.attributes) == (title[0] == "M")


def test_every_layout_has_a_miniature() -> None:
    assert {title.strip() for title in CASES} == {layout.title for layout in LAYOUTS.values()}


def test_the_command_trains_on_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people(tmp_path / "set")
    assert main(["inspect", str(tmp_path / "set")]) == 0
    assert "Read as Market-1501." in capsys.readouterr().out
    where = ["--data", str(tmp_path / "set"), "--runs", str(tmp_path / "runs")]
    assert main(["train", *where, "--losses", "contrastive", "--steps", "2"]) == 0
    assert "3 queries searched for among 10 images of the gallery" in capsys.readouterr().out


MISSING = {
    "no masks": (birds, "segmentations", "Read as CUB-200-2011."),
    "an image that is gone": (products, "bicycle_final/11000_0.JPG", "1 image of its lists is not here: bicycle_final"),
    "no list of the test": (products, "Ebay_test.txt", "There is no list of test images."),
    "no lists of the papers": (species, "Inat_dataset_splits", "by which the papers divide the species, are not here."),
    "no names of classes": (birds, "classes.txt", "Read as CUB-200-2011."),
}


@pytest.mark.parametrize("case", MISSING)
def test_what_is_missing_is_said(tmp_path: Path, case: str) -> None:
    make, gone, said = MISSING[case]
    make(tmp_path / "set")
    path = tmp_path / "set" / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    report = inspect_data(DataChoice(source=str(tmp_path / "set")))
    assert not report.problems and any(said in note for note in report.notes), report


BAD = {
    "a list that is no JSON": (species, "train2018.json", b"{", "is no JSON"),
    "a list without images": (species, "train2018.json", b"{}", "lack 'images'"),
    "another kind of list": (cars, "cars_annos.mat", b"MATLAB 7.3 MAT-file", "no file of MATLAB 5"),
    "a damaged list": (cars, "cars_annos.mat", b"MATLAB 5.0" + bytes(118) + b"\x0e\0\0\0\x10\0\0\0damaged!", "cannot"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_list_that_cannot_be_read_is_a_sentence(tmp_path: Path, case: str) -> None:
    make, name, content, said = BAD[case]
    make(tmp_path / "set")
    (tmp_path / "set" / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        load_data(DataChoice(source=str(tmp_path / "set")))


def test_a_list_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    cars(tmp_path / "set")
    savemat(tmp_path / "set" / "cars_annos.mat", {"annotations": np.zeros(9_000_000)}, do_compression=True)
    with pytest.raises(DataError, match="unpacks to more than 64 MB"):
        load_data(DataChoice(source=str(tmp_path / "set")))


def test_lists_are_smaller_where_strangers_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    species(tmp_path / "set")
    text = (tmp_path / "set" / "train2018.json").read_text()
    (tmp_path / "set" / "train2018.json").write_text(text + " " * 20_000_001)
    assert not inspect_data(DataChoice(source=str(tmp_path / "set"))).problems
    monkeypatch.setenv("RANKSCOPE_PUBLIC", "on")
    monkeypatch.setenv("RANKSCOPE_FOLDERS", str(tmp_path))
    with pytest.raises(DataError, match="has more than 20 MB"):
        inspect_data(DataChoice(source=str(tmp_path / "set")))


def test_labels_in_a_text_file_are_read(tmp_path: Path) -> None:
    for at, name in enumerate(f"{kind}_{n}" for kind in "abcd" for n in range(3)):
        write(tmp_path / "set", {f"images/{name}.png": at}, {})
    for text in (
        "\n".join(f"images/{kind}_{n}.png {kind}" for kind in "abcd" for n in range(3)),
        "\n".join(f"{kind}_{n}.png,{at}" for at, kind in enumerate("abcd") for n in range(3)),
        "\n".join(["image label", *(f"{kind}_{n} {kind}" for kind in "abcd" for n in range(3))]),
        "\r\n".join(f"{kind}_{n}\t{kind}" for kind in "abcd" for n in range(3)),
    ):
        (tmp_path / "set" / "labels.txt").write_text(text)
        report = inspect_data(DataChoice(source=str(tmp_path / "set")))
        assert report.counts == (4,) and any("labels.txt is used for 12 of 12" in n for n in report.notes), report


def test_lists_of_names_are_splits(tmp_path: Path) -> None:
    names = [f"{kind}/{kind}_{n}.png" for kind in "abcd" for n in range(4)]
    write(tmp_path / "set", {name: at for at, name in enumerate(names)}, {
        "my_train.txt": "\n".join(names[:8]), "my_test.txt": "\n".join(names[8:]), "README.txt": "images of mine",
    })  # fmt: skip
    report = inspect_data(DataChoice(source=str(tmp_path / "set")))
    assert {*report.splits.values()} == {8} and report.counts == (4,) and not report.problems
    assert not any("README" in note for note in report.notes)


def test_a_text_file_that_is_no_list_is_named(tmp_path: Path) -> None:
    write(tmp_path / "set", {f"{kind}/{n}.png": n for kind in "abcd" for n in range(3)}, {"classes.txt": "a\nb\nc\nd"})
    report = inspect_data(DataChoice(source=str(tmp_path / "set")))
    assert any(note.startswith("classes.txt is not used: ") for note in report.notes) and report.counts == (4,)
