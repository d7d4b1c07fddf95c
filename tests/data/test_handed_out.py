"""Benchmarks as the code of papers reads them, in miniature: classes, splits, roles, and what is said."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from tests.data.world import Files, encode, picture, written
from trainers.config import DataChoice
from trainers.data import DataReport, inspect_data, load_data
from trainers.data.base import CAMERA, ROLE
from trainers.data.labelled.files import Folder, content_key_of
from trainers.data.labelled.layouts import LAYOUTS
from trainers.errors import DataError


def jpg(number: int) -> bytes:
    return encode(np.full((8, 8, 3), (number * 7 % 256, number % 256, 90), np.uint8), "JPEG")


def lines(*rows: object) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def cub() -> Files:
    names = [f"{n:03d}.Bird_{n}/Bird_{n}_{i}.jpg" for n in range(1, 5) for i in range(3)]
    images = {f"images/{name}": jpg(number) for number, name in enumerate(names)}
    masks = {f"segmentations/{name[:-4]}.png": picture(9) for name in names}
    return {
        **images,
        **masks,
        "images.txt": lines(*(f"{n} {name}" for n, name in enumerate(names, 1))),
        "image_class_labels.txt": lines(*(f"{n} {(n - 1) // 3 + 1}" for n in range(1, 13))),
        "classes.txt": lines(*(f"{n} {n:03d}.Bird_{n}" for n in range(1, 5))),
        "train_test_split.txt": lines(*(f"{n} {n % 2}" for n in range(1, 13))),
    }


def matlab(key: str, rows: list[tuple[object, ...]], fields: tuple[str, ...], **more: object) -> bytes:
    table = np.zeros((1, len(rows)), dtype=[(name, object) for name in fields])
    for number, row in enumerate(rows):
        table[0, number] = row
    buffer = io.BytesIO()
    savemat(buffer, {key: table, **more})
    return buffer.getvalue()


MODELS = np.array([["AM General Hummer", "Acura RL", "BMW M3", "Fiat 500"]], dtype=object)


def cars(labelled: bool = True) -> Files:
    parts = {"train": range(12), "test": range(12, 24)}
    files = {f"cars_{part}/{n % 12 + 1:05d}.jpg": jpg(n) for part, rows in parts.items() for n in rows}
    for part, rows in parts.items():
        known = part == "train" or labelled
        fields = ("class", "fname") if known else ("bbox_x1", "fname")
        name = f"devkit/cars_{part}_annos{'_withlabels' if part == 'test' and labelled else ''}.mat"
        files[name] = matlab("annotations", [(n % 4 + 1, f"{n % 12 + 1:05d}.jpg") for n in rows], fields)
    buffer = io.BytesIO()
    savemat(buffer, {"class_names": MODELS})
    return {**files, "devkit/cars_meta.mat": buffer.getvalue()}


def whole_cars() -> Files:
    rows = [(f"car_ims/{n:06d}.jpg", n % 4 + 1, n % 2) for n in range(12)]
    annos = matlab("annotations", rows, ("relative_im_path", "class", "test"), class_names=MODELS)
    return {**{name: jpg(n) for n, (name, *_) in enumerate(rows)}, "cars_annos.mat": annos}


def products(prefix: str = "Ebay") -> Files:
    header, files = "image_id class_id super_class_id path", {}
    for part, first in (("train", 1), ("test", 5)):
        rows = [
            (number, kind, f"{('bicycle', 'mug')[kind - 1]}_final/{number}_{i}.JPG")
            for number in range(first, first + 4)
            for kind in [number % 2 + 1]
            for i in range(2)
        ]
        files |= {path: jpg(number) for number, _, path in rows}
        listed = (f"{n} {number} {kind} {path}" for n, (number, kind, path) in enumerate(rows, 1))
        files[f"{prefix}_{part}.txt"] = lines(header, *listed)
    return files


def in_shop() -> Files:
    rows = []
    for item, (category, parts) in enumerate(
        [("WOMEN/Dresses", ("train",) * 3), ("MEN/Denim", ("train",) * 3), ("WOMEN/Denim", ("query", "gallery")),
         ("MEN/Denim", ("query", "gallery", "gallery"))], 1
    ):  # fmt: skip
        rows += [(f"img/{category}/id_{item:08d}/0{i}_1_front.jpg", f"id_{item:08d}", p) for i, p in enumerate(parts)]
    listed = (f"{path:<60} {item} {part}" for path, item, part in rows)
    images = {f"Img/{path}": jpg(n) for n, (path, *_) in enumerate(rows)}
    return {**images, "Eval/list_eval_partition.txt": lines(len(rows), "image_name item_id evaluation_status", *listed)}


ABOVE = ("genus", "family", "order", "class", "phylum", "kingdom")


def inaturalist(lists: bool = True) -> Files:
    kinds = ("Aves", "Aves", "Plantae", "Plantae")
    names = [f"train_val2018/{kind}/{n}/{i}.jpg" for n, kind in enumerate(kinds) for i in range(3)]
    files = {name: jpg(number) for number, name in enumerate(names)}
    categories = [
        {"id": n, "name": f"Species {n}", "supercategory": kind, **{level: f"{level} {n // 2}" for level in ABOVE}}
        for n, kind in enumerate(kinds)
    ]
    for part, rows in (("train", [r for r in range(12) if r % 3]), ("val", range(0, 12, 3))):
        images = [{"id": row, "file_name": names[row]} for row in rows]
        annotations = [{"id": row, "image_id": row, "category_id": row // 3} for row in rows]
        table = {"images": images, "annotations": annotations, "categories": categories}
        files[f"{part}2018.json"] = json.dumps(table).encode()
    files["categories.json"] = json.dumps(categories).encode()
    if lists:
        files["Inat_dataset_splits/Inaturalist_train_set1.txt"] = lines(*names[:3], *names[6:9])
        files["Inat_dataset_splits/Inaturalist_test_set1.txt"] = lines(*names[3:6], *names[9:])
    return files


def market() -> Files:
    names = [f"bounding_box_train/{p:04d}_c{c}s1_00000{c}_00.jpg" for p in (2, 7) for c in (1, 2, 3)]
    names += [f"bounding_box_test/{p}_c{c}s1_00001{c}_00.jpg" for p in ("-1", "0000", "0001", "0003") for c in (1, 2)]
    names += [f"query/{p}_c3s1_000020_00.jpg" for p in ("0001", "0003")]
    names += ["gt_bbox/0001_c1s1_000011_00.jpg"]
    return {name: jpg(number) for number, name in enumerate(names)} | {"gt_query/0001_c3s1_000020_00_good.mat": b"-"}


def dyml(product: bool = False) -> Files:
    rows = [(f"{n}.jpg", n // 3, n // 6, 0) for n in range(12)]
    files = {f"train/imgs/{name}": jpg(n) for n, (name, *_) in enumerate(rows)}
    header = "fname, fine_id, middle_id, coarse_id"
    files["train/label.csv"] = lines(header, *(",".join(map(str, row)) for row in rows))
    if product:
        files |= {f"mini-bmk_all_in_one/imgs/{name}": jpg(50 + n) for n, (name, *_) in enumerate(rows)}
        files["mini-bmk_all_in_one/label.csv"] = files["train/label.csv"]
        return files
    for level in ("fine", "middle", "coarse"):
        for part, count in (("query", 2), ("gallery", 4)):
            files |= {f"bmk_{level}/{part}/{n}.jpg": jpg(80 + n + count) for n in range(count)}
            files[f"bmk_{level}/{part}.csv"] = lines("fname, labels", *(f"{n}.jpg,{n % 2}" for n in range(count)))
    return files


def inspect(source: Path, **choice: object) -> DataReport:
    return inspect_data(DataChoice(source=str(source), **choice))  # type: ignore[arg-type]


SEVEN = ("species", *ABOVE)
# files, title, levels, classes of each, images of each split, sentences
CASES: dict[str, tuple[Callable[[], Files], str, tuple[str, ...], tuple[int, ...], dict[str, int], tuple[str, ...]]] = {
    "birds": (cub, "CUB-200-2011", ("species",), (4,), {"train": 6, "test": 6}, ("first 2 of its 4 classes",)),
    "cars": (cars, "Cars-196", ("model",), (4,), {"train": 12, "test": 12}, ("first 2 of its 4 models",)),
    "cars in one": (whole_cars, "Cars-196", ("model",), (4,), {"train": 6, "test": 6}, ("first 2 of its 4 models",)),
    "products": (products, "Stanford Online Products", ("product", "kind"), (8, 2), {"train": 8, "test": 8}, ()),
    "clothes": (in_shop, "DeepFashion In-Shop", ("item", "category", "section"), (4, 3, 2), {"train": 6, "test": 5},
                ("2 queries and a gallery of 3 images",)),
    "species": (inaturalist, "iNaturalist 2018", SEVEN, (4, *(2,) * 6), {"train": 6, "test": 6}, ("supercategory",)),
    "people": (market, "Market-1501", ("person",), (5,), {"train": 6, "test": 8},
               ("Left out, junk (-1): 2 images", "The test is of 2 queries and a gallery of 6 images")),
    "animals": (dyml, "DyML", ("fine", "middle", "coarse"), (4, 2, 1),
                {"train": 12, "bmk_fine": 6, "bmk_middle": 6, "bmk_coarse": 6}, ("such as the test split bmk_fine",)),
    "goods": (lambda: dyml(True), "DyML", ("fine", "middle", "coarse"), (8, 4, 2), {"train": 12, "test": 12}, ()),
}  # fmt: skip


@pytest.mark.parametrize("form", ["folder", "zip", "outer folder", "windows"])
@pytest.mark.parametrize("case", CASES)
def test_a_benchmark_is_read_as_its_papers_use_it(tmp_path: Path, case: str, form: str) -> None:
    make, title, levels, counts, sizes, sentences = CASES[case]
    root, files = tmp_path / "set", make()
    if form == "windows":
        files = _rewritten(files, lambda text: "\ufeff" + text.replace("\n", "\r\n"))
    written(root / "as handed out" if form == "outer folder" else root, files)
    report = inspect(Path(shutil.make_archive(str(root), "zip", root)) if form == "zip" else root)
    assert not report.problems and f"Read as {title}." in report.notes
    assert report.levels == levels and report.counts == counts and report.splits == sizes
    assert all(any(sentence in note for note in report.notes) for sentence in sentences)
    assert report.share_classes is False or case == "animals"


def test_every_layout_has_a_miniature() -> None:
    assert {title for _, title, *_ in CASES.values()} == {layout.title for layout in LAYOUTS.values()}


@pytest.mark.parametrize(
    ("case", "train", "test"),
    [
        ("birds", {"001.Bird_1", "002.Bird_2"}, {"003.Bird_3", "004.Bird_4"}),
        ("cars", {"AM General Hummer", "Acura RL"}, {"BMW M3", "Fiat 500"}),
        ("cars in one", {"AM General Hummer", "Acura RL"}, {"BMW M3", "Fiat 500"}),
        ("products", set("1234"), set("5678")),
        ("clothes", {"id_00000001", "id_00000002"}, {"id_00000003", "id_00000004"}),
        ("species", {"Species 0", "Species 2"}, {"Species 1", "Species 3"}),
        ("people", {"0002", "0007"}, {"0001", "0003", "distractor"}),
        ("goods", set("0123"), {f"test {n}" for n in range(4)}),
    ],
)
def test_its_classes_are_divided_as_in_metric_learning(tmp_path: Path, case: str, train: set, test: set) -> None:
    make, *_, sizes, _ = CASES[case]
    data = load_data(DataChoice(source=str(written(tmp_path / "set", make()))))
    names = data.hierarchy.names[0]
    assert {names[row] for row in data.train.labels[:, 0]} == train
    assert {names[row] for row in data.test.labels[:, 0]} == test
    assert {"train": len(data.train), "test": len(data.test)} == sizes
    assert not any("segmentations" in name or "gt_" in name for name in (*data.train.names, *data.test.names))
    assert (ROLE in data.test.attributes) == (case in ("clothes", "people"))
    assert (CAMERA in data.test.attributes) == (case == "people")


@pytest.mark.parametrize(
    ("files", "choice", "levels", "sentence"),
    [
        (lambda: dyml(), {"test_split": "bmk_fine", "label_columns": ("fine",)}, ("fine",),
         "bmk_fine: The test is of 2 queries and a gallery of 4 images"),
        (lambda: inaturalist(), {"label_columns": ("species", "supercategory")}, ("species", "supercategory"), "Read"),
        (lambda: inaturalist(lists=False), {}, SEVEN, "by which the papers divide the species, are not here"),
        (lambda: cars(labelled=False), {}, ("model",), "12 images of cars_test have no class"),
        (lambda: products("Shop"), {}, ("product", "kind"), "Read as Stanford Online Products."),
        (lambda: _without(products(), "Ebay_test.txt"), {}, ("product", "kind"), "There is no list of test images."),
        (lambda: _without(products(), "mug_final/1_0.JPG"), {}, ("product", "kind"),
         "image of its lists is not here: "),
        (lambda: _without(cub(), "segmentations/"), {}, ("species",), "Read as CUB-200-2011."),
        (lambda: _without(cub(), "classes.txt"), {}, ("species",), "Read as CUB-200-2011."),
        (lambda: _rewritten(products(), lambda t: t.replace("/", "\\")), {}, ("product", "kind"), "Read as Stanford"),
        (lambda: {name.upper(): data for name, data in cub().items()}, {}, ("species",), "Read as CUB-200-2011."),
    ],
)  # fmt: skip
def test_parts_and_spellings(tmp_path: Path, files, choice: dict, levels: tuple[str, ...], sentence: str) -> None:
    report = inspect(written(tmp_path / "set", files()), **choice)
    assert not report.problems and report.levels == levels
    assert any(sentence in note for note in report.notes), report.notes


def _without(files: Files, *begun: str) -> Files:
    return {name: data for name, data in files.items() if not name.startswith(begun)}


def _rewritten(files: Files, change: Callable[[str], str]) -> Files:
    return {name: change(data.decode()).encode() if name.endswith(".txt") else data for name, data in files.items()}


def test_genera_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    kinds = [(f"Genus {n // 3}", f"Family {n // 6}", "Aves") for n in range(60)]
    kinds += [("Morus", "Moraceae", "Plantae")] * 3 + [("Morus", "Sulidae", "Aves")]
    names = [f"train_val2018/{top}/{n}/{n}_{i}.jpg" for n, (_, _, top) in enumerate(kinds) for i in range(2)]
    categories = [
        {"id": n, "name": f"Species {n}", "supercategory": top, **dict.fromkeys(ABOVE, top), "genus": genus,
         "family": of}
        for n, (genus, of, top) in enumerate(kinds)
    ]  # fmt: skip
    table = {
        "images": [{"id": n, "file_name": name} for n, name in enumerate(names)],
        "annotations": [{"id": n, "image_id": n, "category_id": n // 2} for n in range(len(names))],
        "categories": categories,
    }
    files = {name: jpg(n) for n, name in enumerate(names)} | {"train2018.json": json.dumps(table).encode()}
    report = inspect(written(tmp_path / "set", files | {"categories.json": json.dumps(categories).encode()}))
    assert report.counts == (64, 22, 12, 2, 2, 2, 2) and not any("outvoted" in note for note in report.notes)


def test_images_of_another_item_do_not_stand_in_for_those_that_are_gone(tmp_path: Path) -> None:
    gone = (f"Img/img/MEN/Denim/id_0000000{item}/02_1_front.jpg" for item in (2, 4))
    files = _without(in_shop(), *gone)
    data = load_data(DataChoice(source=str(written(tmp_path / "set", files))))
    assert (len(data.train), len(data.test)) == (5, 4)
    assert any("2 images of its lists are not here" in note for note in data.notes)


MAT, JSON, SHAPE = "cars_annos.mat", "train2018.json", "The lists of .* are not as they are handed out"
TWO = {"a/0.png": picture(0), "b/1.png": picture(1)}


@pytest.mark.parametrize(
    ("files", "name", "data", "said"),
    [
        (whole_cars(), MAT, b"MATLAB 7.3 MAT-file", "is no file of MATLAB 5"),
        (whole_cars(), MAT, b"", "is no file of MATLAB 5|cannot be read"),
        (whole_cars(), MAT, b"MATLAB 5.0 and nothing", "cannot be read"),
        (whole_cars(), MAT, b"MATLAB 5.0" + bytes(118) + b"\x0e\0\0\0\x10\0\0\0damaged!", "cannot be read"),
        (inaturalist(), JSON, b"{", "is no JSON"),
        (inaturalist(), JSON, b"{}", "lack 'images'"),
        (TWO, JSON, b"[]", SHAPE),
        (TWO, JSON, b"null", SHAPE),
        (TWO, JSON, b'{"categories": [1], "images": [], "annotations": []}', SHAPE),
        (TWO, JSON, b'{"categories": null, "images": [], "annotations": []}', SHAPE),
        (TWO, MAT, matlab("annotations", [("a/0.png",)], ("fname",)), SHAPE),
    ],
)
def test_lists_that_cannot_be_read_are_refused_in_a_sentence(
    tmp_path: Path, files: Files, name: str, data: bytes, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        inspect(written(tmp_path / "set", {**files, name: data}))


def test_a_list_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    root = written(tmp_path / "set", whole_cars())
    savemat(root / MAT, {"annotations": np.zeros(9_000_000)}, do_compression=True)
    with pytest.raises(DataError, match="unpacks to more than 64 MB"):
        inspect(root)


def test_lists_are_smaller_where_strangers_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = inaturalist()
    root = written(tmp_path / "set", {**files, JSON: files[JSON] + b" " * 20_000_001})
    assert not inspect(root).problems
    monkeypatch.setenv("RANKSCOPE_PUBLIC", "on")
    monkeypatch.setenv("RANKSCOPE_FOLDERS", str(tmp_path))
    with pytest.raises(DataError, match="has more than 20 MB"):
        inspect(root)


def test_a_changed_list_is_read_anew(tmp_path: Path) -> None:
    root = written(tmp_path / "set", products())
    before = content_key_of(Folder(path=root), [])
    (root / "Ebay_test.txt").write_bytes(lines("image_id class_id super_class_id path"))
    assert content_key_of(Folder(path=root), []) != before


# ------------------------------------------------------------- lists of no benchmark


def test_labels_in_a_text_file_are_read(tmp_path: Path) -> None:
    names = [(kind, f"{kind}_{n}") for kind in "abcd" for n in range(3)]
    written(tmp_path / "set", {f"images/{name}.png": picture(at) for at, (_, name) in enumerate(names)})
    for text in (
        "\n".join(f"images/{name}.png {kind}" for kind, name in names),
        "\n".join(f"{name}.png,{'abcd'.index(kind)}" for kind, name in names),
        "\n".join(["image label", *(f"{name} {kind}" for kind, name in names)]),
        "\r\n".join(f"{name}\t{kind}" for kind, name in names),
    ):
        (tmp_path / "set" / "labels.txt").write_text(text)
        report = inspect(tmp_path / "set")
        assert report.counts == (4,) and any("labels.txt is used for 12 of 12" in n for n in report.notes), report


def test_lists_of_names_are_splits(tmp_path: Path) -> None:
    names = [f"{kind}/{kind}_{n}.png" for kind in "abcd" for n in range(4)]
    files = {name: picture(at) for at, name in enumerate(names)} | {"README.txt": b"images of mine"}
    files |= {"my_train.txt": lines(*names[:8]), "my_test.txt": lines(*names[8:])}
    report = inspect(written(tmp_path / "set", files))
    assert {*report.splits.values()} == {8} and report.counts == (4,) and not report.problems
    assert not any("README" in note for note in report.notes)


def test_a_text_file_that_is_no_list_is_named(tmp_path: Path) -> None:
    files = {f"{kind}/{n}.png": picture(n) for kind in "abcd" for n in range(3)}
    report = inspect(written(tmp_path / "set", files | {"classes.txt": lines(*"abcd")}))
    assert any(note.startswith("classes.txt is not used: ") for note in report.notes) and report.counts == (4,)
