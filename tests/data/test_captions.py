"""Photos with sentences and boxes, in the shapes sets write them."""

from __future__ import annotations

import io
import json
import math
import unicodedata

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value
from PIL import Image as Pillow
from PIL import ImageOps

from tests.entities import SIZE as SIZE_OF_ENTITIES
from tests.entities import write_entities
from tests.shared import needs
from trainers.data.captioned.columns import corners, decide
from trainers.data.captioned.datasets.flickr_entities import parse_sentence
from trainers.data.captioned.loader import load_captioned
from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.data.image_file import read_below
from trainers.errors import DataError

SIZE = (64, 48)
BOXES = [[[2.0, 4.0, 30.0, 20.0], [40.0, 30.0, 10.0, 10.0]], [[0.0, 0.0, 64.0, 48.0]], []]
CLASSES = [["dog", "cat"], ["cat"], []]
TEXTS = [["a dog", "a cat"], ["one cat"], ["grass", "a field", ""]]
NAMES = ["cat", "dog"]


def photo(colour: int = 9) -> bytes:
    data = io.BytesIO()
    Pillow.new("RGB", SIZE, (colour, 0, 0)).save(data, "PNG")
    return data.getvalue()


def as_corners(box):
    return [box[0], box[1], box[0] + box[2], box[1] + box[3]]


def save(folder, columns, features=None):
    rows = {"image": [{"bytes": photo(index), "path": None} for index in range(3)], **columns}
    kinds = Features({"image": Image(), **features}) if features else None
    data = Dataset.from_dict(rows, features=kinds)
    if kinds is None:
        data = data.cast_column("image", Image())
    DatasetDict({"train": data}).save_to_disk(str(folder))
    return str(folder)


def objects(shape, boxes):
    """The same objects in one of the shapes that sets use, and its feature."""
    number = ClassLabel(names=NAMES)
    if shape == "list":
        rows = [
            [{"bbox": b, "category": c} for b, c in zip(*pair, strict=True)]
            for pair in zip(boxes, CLASSES, strict=True)
        ]
        return {"objects": rows}, {"objects": List({"bbox": List(Value("float32"), 4), "category": number})}
    if shape == "struct":
        rows = [{"bbox": b, "label": c} for b, c in zip(boxes, CLASSES, strict=True)]
        return {"objects": rows}, {"objects": {"bbox": List(List(Value("float64"))), "label": List(number)}}
    return {"bboxes": boxes, "categories": CLASSES}, {
        "bboxes": List(List(Value("float64"))),
        "categories": List(Value("string")),
    }


@pytest.mark.parametrize("shape", ["list", "struct", "columns"])
@pytest.mark.parametrize("reading", ["xywh", "xyxy"])
def test_boxes_in_every_shape(tmp_path, shape, reading):
    boxes = [[box if reading == "xywh" else as_corners(box) for box in row] for row in BOXES]
    columns, features = objects(shape, boxes)
    source = save(tmp_path / "set", {"captions": TEXTS, **columns}, {"captions": List(Value("string")), **features})
    dataset = load_captioned(source)
    scenes = dataset.splits["train"]
    for scene, listed, names in zip(scenes, BOXES, CLASSES, strict=True):
        np.testing.assert_allclose(
            np.array(scene.boxes).reshape(-1, 4), np.array([as_corners(b) for b in listed]).reshape(-1, 4)
        )
        assert scene.classes == tuple(names)
    assert dataset.classes == tuple(NAMES)
    assert scenes[2].captions == ("grass", "a field") and scenes[1].load() == photo(1)
    assert (scenes[0].width, scenes[0].height) == SIZE
    assert "1 image has no box." in dataset.notes


@pytest.mark.parametrize(
    ("columns", "captions"),
    [
        ({"caption_0": ["a", "c", "e"], "caption_1": ["b", "d", ""]}, [("a", "b"), ("c", "d"), ("e",)]),
        ({"caption": ["a", "b", "c"]}, [("a",), ("b",), ("c",)]),
        ({"sentences": [[{"raw": "a"}, {"raw": "b"}], [{"raw": "c"}], []]}, [("a", "b"), ("c",), ()]),
        ({"sentences": [{"raw": ["a", "b"]}, {"raw": ["c"]}, {"raw": []}]}, [("a", "b"), ("c",), ()]),
    ],
)
def test_captions_in_every_shape(tmp_path, columns, captions):
    dataset = load_captioned(save(tmp_path / "set", columns))
    assert [scene.captions for scene in dataset.splits["train"]] == captions
    assert "no boxes" in dataset.notes[0]


def test_boxes_and_captions_joined_by_image_id(tmp_path):
    columns, features = objects("list", BOXES)
    photos = save(tmp_path / "photos", {"image_id": [7, 8, 9], **columns}, {"image_id": Value("int64"), **features})
    texts = tmp_path / "texts"
    rows = {"cocoid": ["COCO_val2014_000000000009.jpg", "7"], "captions": [["far"], ["near", "close"]]}
    DatasetDict({"val": Dataset.from_dict(rows)}).save_to_disk(str(texts))
    with pytest.raises(DataError, match="no caption column"):
        load_captioned(photos)
    dataset = load_captioned(photos, captions_from=str(texts))
    assert [scene.captions for scene in dataset.splits["train"]] == [("near", "close"), (), ("far",)]
    assert "2 of 3 images" in dataset.notes[1]
    assert len(load_captioned(photos, captions_from=str(texts), limit=1).splits["train"]) == 1


def test_what_cannot_be_used_is_said(tmp_path):
    with pytest.raises(DataError, match="no image column"):
        DatasetDict({"a": Dataset.from_dict({"caption": ["x"]})}).save_to_disk(str(tmp_path / "texts"))
        load_captioned(str(tmp_path / "texts"))
    photos = save(tmp_path / "photos", {"caption": ["a", "b", "c"]})
    with pytest.raises(DataError, match="needs an image id"):
        load_captioned(photos, captions_from=photos)
    plain = tmp_path / "plain" / "cat"
    plain.mkdir(parents=True)
    (plain / "1.png").write_bytes(photo())
    with pytest.raises(DataError, match="without captions"):
        load_captioned(str(plain.parent))


def test_readings_of_four_numbers():
    sizes = np.full((4, 2), 100.0)
    wide = np.array([[60, 60, 30, 30], [10, 10, 80, 80], [50, 5, 50, 20], [0, 0, 100, 100]], float)
    assert decide(wide, sizes).format == "xywh"
    assert decide(np.array([as_corners(box) for box in wide]), sizes).format == "xyxy"
    shares = decide(np.array([as_corners(box) for box in wide]) / 100, sizes)
    assert (
        shares.unit and shares.format == "xyxy" and corners([0.1, 0.2, 0.3, 0.4], shares, 100, 50) == (10, 10, 30, 20)
    )
    small = np.array([[1, 1, 3, 4]], float)  # fits both ways, so the object's area decides
    assert decide(small, sizes[:1]).format == "xywh"
    assert decide(small, sizes[:1], np.array([11.0])).format == "xywh"
    assert decide(np.array([[50, 50, 60, 60]], float), np.zeros((1, 2)), np.array([90.0])).format == "xywh"
    assert decide(np.array([[np.nan, 0, 1, 1]]), sizes[:1]).note.endswith("0 of 0 boxes do not fit that reading.")


def test_the_real_part_of_coco():
    dataset = load_captioned(str(needs("data/coco_captions")))
    scenes = [scene for part in dataset.splits.values() for scene in part]
    assert len(scenes) == 320 and sum(len(scene.boxes) for scene in scenes) == 2867
    assert len(dataset.classes) == 80 and all(len(scene.captions) == 5 for scene in scenes)
    assert dataset.notes[0].startswith("Boxes are read as a corner, width and height: 0 of")
    for scene in scenes:
        for x0, y0, x1, y1 in scene.boxes:
            assert 0 <= x0 < x1 <= scene.width + 1 and 0 <= y0 < y1 <= scene.height + 1


def coco(folder, image=5, captions=5, boxes=5):
    (folder / "annotations").mkdir(parents=True)
    (folder / "val2017").mkdir()
    (folder / "val2017" / "5.png").write_bytes(photo())
    images = [{"id": image, "file_name": "5.png", "width": 64, "height": 48}]
    said = {"images": images, "annotations": [{"image_id": captions, "caption": text} for text in (" a dog ", "one")]}
    crowd = {"image_id": boxes, "category_id": 18, "bbox": [1, 2, 3, 4], "iscrowd": 1}
    seen = {"images": images, "annotations": [crowd], "categories": [{"id": 18, "name": "dog"}]}
    (folder / "annotations" / "captions_val2017.json").write_text(json.dumps(said))
    (folder / "annotations" / "instances_val2017.json").write_text(json.dumps(seen))
    return folder


def test_a_coco_folder(tmp_path):
    dataset = load_captioned(str(coco(tmp_path / "coco")))
    (scene,) = dataset.splits["val2017"]
    assert scene.captions == ("a dog", "one") and scene.boxes == ((1, 2, 4, 6),) and scene.classes == ("dog",)
    assert scene.load() == photo() and scene.image_id == "5" and dataset.classes == ("dog",)
    home = tmp_path / "coco" / "val2017"
    assert read_below(home / ".." / "annotations" / "captions_val2017.json", (home.resolve(),)) is None
    (tmp_path / "coco" / "annotations" / "captions_val2017.json").write_text("{}")
    with pytest.raises(DataError, match="COCO annotation"):
        load_captioned(str(tmp_path / "coco"))


@pytest.mark.parametrize(("here", "told"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_a_coco_folder_from_a_mac(tmp_path, here, told):
    """Accents of names are written in another way in the annotations than on the disk."""
    folder = coco(tmp_path / "coco")
    (folder / "val2017" / "5.png").rename(folder / "val2017" / unicodedata.normalize(here, "café 5.png"))
    for path in (folder / "annotations").iterdir():
        path.write_text(path.read_text().replace('"5.png"', json.dumps(unicodedata.normalize(told, "café 5.png"))))
    (scene,) = load_captioned(str(folder)).splits["val2017"]
    assert scene.load() == photo()


@pytest.mark.parametrize(
    ("image", "captions", "boxes"),
    [(0, "0", 0), ("0", 0, "0"), ("7", "7", 7.0), ("000042", 42, "42"), ("abc", "abc", "abc")],
)
def test_ids_of_coco_that_differ_in_type_are_joined(tmp_path, image, captions, boxes):
    (scene,) = load_captioned(str(coco(tmp_path, image, captions, boxes))).splits["val2017"]
    assert scene.captions == ("a dog", "one") and scene.classes == ("dog",)


@pytest.mark.parametrize(
    "name",
    ["/data/coco/val2017/5.png", "../../media/upload/4/5.png", "val2017\\5.png", "https://a.org/b/5.png?size=640"],
)
def test_images_of_coco_are_found_by_the_last_part_of_their_names(tmp_path, name):
    folder = coco(tmp_path / "coco")
    for path in (folder / "annotations").iterdir():
        path.write_text(path.read_text().replace('"5.png"', json.dumps(name)))
    dataset = load_captioned(str(folder))
    assert dataset.splits["val2017"][0].load() == photo()
    assert dataset.notes == ("val2017: images are found by the last part of their file_name.",)
    (folder / "val2017" / "5.png").unlink()
    with pytest.raises(DataError, match=r"No image of 'val2017' was found: .5\.png. is in no folder.*Put"):
        load_captioned(str(folder))


def test_what_of_coco_cannot_be_used_is_left_out_and_counted(tmp_path):
    folder = coco(tmp_path / "coco")
    for kind, more in {
        "captions": [{"image_id": 5, "caption": None}, {"image_id": 5}, {"caption": "lost"}, 7],
        "instances": [
            {"image_id": 5, "category_id": 18, "bbox": box}
            for box in (["10", "20", "30.5", "5"], [], [1, 2, 3], None, [1, 2, "x", 4], [1, 2, 3, math.nan])
        ],
    }.items():
        path = folder / "annotations" / f"{kind}_val2017.json"
        held = json.loads(path.read_text())
        path.write_text(json.dumps(held | {"annotations": [*held["annotations"], *more]}))
    dataset = load_captioned(str(folder))
    (scene,) = dataset.splits["val2017"]
    assert scene.captions == ("a dog", "one") and scene.boxes == ((1, 2, 4, 6), (10, 20, 40.5, 25))
    assert dataset.notes == (
        "val2017: 4 captions without a text or an image are left out.",
        "val2017: 5 boxes that are not four numbers are left out.",
    )  # fmt: skip


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("stored", [True, False])
def test_boxes_of_turned_photographs_follow_the_frame_that_the_sizes_name(tmp_path, turn, stored):
    folder = coco(tmp_path / "coco")
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[4:9, 10:30] = 255
    remarks = Pillow.Exif()
    remarks[0x0112] = turn
    Pillow.fromarray(pixels).save(folder / "val2017" / "5.png", exif=remarks)
    shown = ImageOps.exif_transpose(Pillow.open(folder / "val2017" / "5.png"))
    named = (64, 48) if stored else shown.size
    x0, y0, x1, y1 = (10, 4, 30, 9) if stored else shown.convert("L").getbbox()
    for path in (folder / "annotations").iterdir():
        held = json.loads(path.read_text())
        held["images"][0] |= dict(zip(("width", "height"), named, strict=True))
        held["annotations"] = [{**one, "bbox": [x0, y0, x1 - x0, y1 - y0]} for one in held["annotations"]]
        path.write_text(json.dumps(held))
    dataset = load_captioned(str(folder))
    (scene,) = dataset.splits["val2017"]
    if turn > 4 or not stored:  # of others the sizes do not say whether they are turned
        assert scene.boxes[0] == shown.convert("L").getbbox() and (scene.width, scene.height) == shown.size
    assert any("1 photographs are turned" in note for note in dataset.notes) == (stored and turn > 4)


def test_folders_as_their_authors_hand_them_out_tell_how_far_they_are(tmp_path):
    told = []
    for folder in (coco(tmp_path / "coco"), write_entities(tmp_path / "entities")):
        told.clear()
        load_captioned(str(folder), progress=lambda *one: told.append(one))
        assert all("captions" in text or "boxes" in text for text, _ in told) and told[0][1] == 0
        assert [done for _, done in told] == sorted(done for _, done in told) and told[-1][1] < 1


def test_a_flickr30k_entities_folder(tmp_path):
    dataset = load_captioned(str(write_entities(tmp_path)))
    assert dataset.classes == ("people", "animals", "vehicles", "instruments")
    assert {name: len(scenes) for name, scenes in dataset.splits.items()} == {"train": 12, "val": 2, "test": 9}
    scene = dataset.splits["test"][0]
    assert scene.captions[0] == "Two men play with a dog ." and (scene.width, scene.height) == SIZE_OF_ENTITIES
    assert scene.classes == ("people", "people", "animals")
    assert scene.boxes[0] == (0, 1, 20, 40)  # 1, 2, 20, 40 in the file: counted from 1, both corners inside the box
    named = [(scene.captions[0][one.start : one.end], one.classes) for one in scene.phrases[0]]
    assert named == [("Two men", ("people",)), ("a dog", ("animals",))]
    assert scene.load() is not None and all(len(one.phrases) == len(one.captions) for one in dataset.splits["test"])
    assert "annotated" in dataset.notes[0] and "our reading" in dataset.notes[0]
    assert len(load_captioned(str(tmp_path), limit=3).splits["train"]) == 3


def test_phrases_with_several_types_without_a_box_and_without_a_class():
    text, chunks = parse_sentence(
        " [/EN#3/people/clothing Men in kilts] and [/EN#0/people someone] hold [/EN#4/instruments/other  a bagpipe ] "
        "by [/EN#5/scene the sea] , [/EN#6/other a toy dog] .\n"
    )
    assert text == "Men in kilts and someone hold a bagpipe by the sea , a toy dog ."
    assert [text[chunk.start : chunk.end] for chunk in chunks] == [
        "Men in kilts",
        "someone",
        "a bagpipe",
        "the sea",
        "a toy dog",
    ]
    assert [chunk.types for chunk in chunks[:3]] == [("people", "clothing"), ("people",), ("instruments", "other")]
    assert [chunk.chain for chunk in chunks] == ["3", "0", "4", "5", "6"]
    assert parse_sentence("Nobody marked anything .") == ("Nobody marked anything .", ())


@pytest.mark.parametrize("part", ["Sentences/2000.txt", "Annotations/2000.xml"])
@pytest.mark.parametrize("content", [None, b"<annotation>\xff"])
def test_a_damaged_flickr30k_entities_folder(tmp_path, part, content):
    path = write_entities(tmp_path) / part
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(DataError, match=f"{path.name} cannot be read as an? .* of Flickr30k Entities"):
        load_captioned(str(tmp_path))


@pytest.mark.parametrize(
    ("names", "test", "train"),
    [
        (("train", "val", "test"), "test", "train"),
        (("train2017", "val2017"), "val2017", "train2017"),
        (("Validation", "Train"), "Validation", "Train"),
        (("val", "test"), "test", "val"),
        (("train",), "train", "train"),
        (("one", "two"), "two", "one"),
    ],
)
def test_which_split_asks_and_which_is_trained_on(names, test, train):
    scene = CaptionedImage(image_id="0", load=lambda: None, captions=("a dog",), boxes=(), classes=())
    splits = {"empty": (), **{name: (scene,) for name in names}}
    captioned_dataset = CaptionedDataset(title="Set", licence="", splits=splits, classes=(), notes=())
    assert (captioned_dataset.test_split, captioned_dataset.train_split) == (test, train)
    with pytest.raises(DataError, match="Set has no image"):
        _ = CaptionedDataset(title="Set", licence="", splits={"empty": ()}, classes=(), notes=()).test_split


@pytest.mark.parametrize(
    "content",
    [
        {"annotations": [1], "images": []},
        {"annotations": [], "images": [{"id": None, "file_name": "a.png"}]},
        {"annotations": [], "images": [{"id": 1}]},
        {"annotations": [{"image_id": 1, "caption": 5}], "images": []},
        {"annotations": [], "images": 5},
        {"annotations": [], "images": [{"id": "a", "file_name": "a.png"}, {"id": 1, "file_name": "a.png"}]},
        {"annotations": [], "images": [{"id": 1, "file_name": "a.png", "width": "wide"}]},
        {"annotations": [], "images": [{"id": 1, "file_name": "a\0b"}]},
    ],
)
def test_annotations_that_are_not_cocos_are_said(tmp_path, content):
    (tmp_path / "captions_val.json").write_text(json.dumps(content))
    (tmp_path / "a.png").write_bytes(b"x")
    with pytest.raises(DataError):
        load_captioned(str(tmp_path))
