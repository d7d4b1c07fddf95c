"""Odd requests to the tab "Remove an object": a sentence each, never a crash; nothing kept beyond its bound."""

from __future__ import annotations

import io
import math
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from explorer.server.routes import PREFIX
from explorer.tabs.object_removal import datasets, images
from explorer.tabs.object_removal.caption_index import CaptionIndex
from tests.data.world import claimed
from tests.explorer.conftest import OpenTab
from tests.explorer.small_world import GALLERY, PHOTO, Tab, encoded, load, small_set
from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.errors import DataError
from trainers.object_removal.drawing import read_boxes

BOX = {"class": "dog", "boxes": [[0.1, 0.1, 0.4, 0.5]]}


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"image": "drawn_scenes.999"}, 404, "28 images"),
        ({"image": "nowhere.1"}, 404, "not open"),
        ({"image": "upload." + "0" * 32}, 404, "no longer kept"),
        ({"image": "../../etc/passwd"}, 404, "no image"),
        ({"image": 7}, 400, "image needs a text"),
        ({"image": None}, 400, "got nothing"),
        ({"remove": {"classes": ["zebra"]}}, 400, "no 'zebra'"),
        ({"remove": {"classes": []}}, 400, "list of 1 to 20"),
        ({"remove": {"classes": [3]}}, 400, "needs a text"),
        ({"remove": {}}, 400, "classes, boxes or strokes"),
        ({"remove": "dog"}, 400, "an object"),
        ({"remove": {"class": "", "boxes": [[0, 0, 0.5, 0.5]]}}, 400, "Say in words"),
        ({"remove": {"class": "!?…", "boxes": [[0, 0, 0.5, 0.5]]}}, 400, "Say in words"),
        ({"remove": {"class": "x" * 61, "boxes": [[0, 0, 0.5, 0.5]]}}, 400, "at most 60"),
        ({"remove": {"class": "dog", "boxes": [[0, 0, 1, 1]]}}, 400, "whole image"),
        ({"remove": {"class": "dog", "boxes": [[0.2, 0.2, 0.2, 0.9]]}}, 400, "no area"),
        ({"remove": {"class": "dog", "boxes": [[2, 2, 3, 3]]}}, 400, "no area"),
        ({"remove": {"class": "dog", "boxes": [[None, 0, 1, 1]]}}, 400, "no area"),
        ({"remove": {"class": "dog", "boxes": [[0, 0, 1]]}}, 400, "four fractions"),
        ({"remove": {"class": "dog", "boxes": "all"}}, 400, "list of 1 to 200"),
        ({"remove": {"class": "dog", "strokes": [{"radius": 0, "points": [[0.5, 0.5]]}]}}, 400, "has an area inside"),
        ({"remove": {"class": "dog", "strokes": [{"radius": 0.1}]}}, 400, "list of points"),
        (
            {"remove": {"class": "dog", "strokes": [{"radius": 0.01, "points": [[-0.9, -0.9]]}]}},
            400,
            "inside the image",
        ),
        ({"remove": {"class": "dog", "strokes": [{"radius": 9, "points": [[0.5, 0.5]]}]}}, 200, ""),
        ({"fill": "magic"}, 400, "no fill 'magic'"),
        ({"fill": "lama"}, 400, "RANKSCOPE_LAMA"),
        ({"remove": BOX, "fill": "rerender"}, 400, "whole objects"),
        ({"models": ["gpt"]}, 404, "no model 'gpt'"),
        ({"models": ["absent"]}, 400, "pip install absent"),
        ({"models": ["run:0123456789ABCDEFGHJKMNPQRS:0"]}, 404, "no run"),
        ({"models": ["tiny_clip"] * 3}, 400, "1 to 2 entries"),
        ({"models": []}, 400, "1 to 2 entries"),
        ({"k": 0}, 400, "whole number"),
        ({"k": 2.5}, 400, "whole number"),
        ({"k": True}, 400, "whole number"),
        ({"k": "many"}, 400, "whole number"),
    ],
)
def test_odd_questions_get_a_sentence(tab: Tab, changes: dict, status: int, words: str) -> None:
    reply = tab.post("query", tab.asked(**changes))
    assert reply.status_code == status, reply.text
    assert status == 200 or words in reply.json()["error"]


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"{", "JSON"), (b"[1]", "JSON object"), (b"\xff\xfe", "JSON"), (b"[" * 100_000, "JSON"), (b"", "image needs")],
)
def test_what_is_no_json_object_is_refused(tab: Tab, body: bytes, words: str) -> None:
    reply = tab.post("query", body)
    assert reply.status_code == 400 and words in reply.json()["error"]


def test_bodies_are_bounded(tab: Tab) -> None:
    assert "256 KB" in tab.post("query", b" " * (256 * 1024 + 1)).json()["error"]
    unsaid = tab.client.post(f"{PREFIX}/objects/query", content=iter([b" " * 200_000, b" " * 200_000]))
    assert unsaid.status_code == 400 and "256 KB" in unsaid.json()["error"]
    assert "30 MB" in tab.post("upload", bytes(30 * 2**20 + 1)).json()["error"]


@pytest.mark.parametrize("boxes", [[[0.6, 0.7, 0.2, 0.1]], [[-5, 0.1, 0.6, 9]], [[0.1, 0.1, 0.4, 0.4], [math.nan] * 4]])
def test_boxes_are_sorted_cut_and_counted(boxes: list) -> None:
    found, notes = read_boxes(boxes)
    assert len(found) == 1 and all(0 <= value <= 1 for value in found[0])
    assert found[0][0] < found[0][2] and found[0][1] < found[0][3]
    assert bool(notes) == (len(boxes) > 1) and (not notes or "1 box has no area" in notes[0])


def test_infinite_numbers_in_json_do_no_harm(tab: Tab) -> None:
    boxes = "[[NaN,0,1,1],[0.1,0.1,Infinity,0.5],[0.1,0.1,0.4,1e999]]"
    text = f'{{"image":"drawn_scenes.0","remove":{{"class":"dog","boxes":{boxes}}},"models":["tiny_clip"]}}'
    reply = tab.post("query", text.encode())
    assert reply.status_code == 400 and "A finite number was needed" in reply.json()["error"]


def test_endless_strokes_are_thinned(tab: Tab) -> None:
    points = [[0.5 + 0.4 * math.cos(i / 50), 0.5 + 0.4 * math.sin(i / 50)] for i in range(9000)]
    points = [[round(x, 3), round(y, 3)] for x, y in points]
    reply = tab.ask(remove={"class": "dog", "strokes": [{"radius": 0.02, "points": points}]})
    assert any("9,000 points were drawn; 1 in 3 is used" in note for note in reply["notes"])
    assert 0.02 < reply["share"] < 0.5


def picture_file(kind: str) -> bytes:
    pixels = np.full((20, 30, 3), 200, np.uint8)
    if kind == "truncated":
        return encoded(np.random.default_rng(0).integers(0, 255, (90, 90, 3), dtype=np.uint8))[:900]
    if kind == "small":
        return encoded(pixels[:8, :8])
    if kind == "huge":
        return claimed(9000, 9000, colour=6)
    return {"text": b"<svg onload=alert(1)>", "empty": b""}[kind]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("text", "not an image that can be read"),
        ("truncated", "cut short"),
        ("empty", "No image was sent"),
        ("small", "16"),
        ("huge", "Shrink"),
    ],
)
def test_uploads_that_cannot_be_used(tab: Tab, kind: str, words: str) -> None:
    reply = tab.post("upload", picture_file(kind))
    assert reply.status_code == 400 and words in reply.json()["error"]


def saved(picture: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def test_odd_pictures_are_told(tab: Tab) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = saved(Image.new("RGB", (40, 100)), "JPEG", exif=exif)
    clear = saved(Image.new("RGBA", (40, 40), (255, 0, 0, 0)), "PNG")
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue")]
    moving = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    photo = tab.post("upload", turned).json()
    assert (photo["width"], photo["height"]) == (100, 40)
    assert any("white" in note for note in tab.post("upload", clear).json()["notes"])
    assert any("frames" in note for note in tab.post("upload", moving).json()["notes"])
    deep = Image.fromarray(np.linspace(0, 65535, 1600).reshape(40, 40).astype(np.uint16))
    grey = tab.post("upload", saved(deep, "PNG")).json()
    shown = np.array(Image.open(io.BytesIO(tab.get(f"image/{grey['ref']}/pixels?side=40").content)))
    assert shown.min() < 30 and 100 < shown.mean() < 155, "not clipped"


def test_a_name_from_a_header_is_only_text(tab: Tab) -> None:
    reply = tab.post(
        "upload", encoded(np.zeros((20, 20, 3), np.uint8)), **{"x-rankscope-name": "%3Cb%3E%00%0A" + "x" * 500}
    )
    assert reply.json()["alt"].startswith("The image <b>x") and len(reply.json()["alt"]) < 100
    assert reply.headers["content-type"] == "application/json" and reply.headers["x-content-type-options"] == "nosniff"


def test_uploads_make_way_for_newer_ones(tab: Tab) -> None:
    small = encoded(np.zeros((20, 20, 3), np.uint8))
    refs = [tab.objects.images.add(small).ref for _ in range(images.UPLOADS + 3)]
    assert len(set(refs)) == len(refs)
    assert [tab.get(f"image/{ref}").status_code for ref in refs[:4]] == [404, 404, 404, 200]
    assert tab.get(f"image/{refs[-1]}").status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("images/nothing", 404),
        ("images/drawn_scenes?offset=-1", 400),
        ("images/drawn_scenes?count=x", 400),
        ("images/drawn_scenes?count=" + "9" * 400, 400),
        ("image/x", 404),
        ("image/drawn_scenes.0/pixels?side=-3", 400),
        ("image/drawn_scenes.0/pixels?side=0", 200),
        ("image/..%2f..", 404),
        ("filled/abc", 404),
        ("score/abc", 404),
        ("score/abc/csv", 404),
        ("query", 404),
        ("nothing", 404),
    ],
)
def test_odd_addresses(tab: Tab, path: str, status: int) -> None:
    reply = tab.get(path)
    assert reply.status_code == status and (status == 200 or len(reply.json()["error"]) > 10)


def test_reading_addresses_cannot_be_posted_to(tab: Tab) -> None:
    for path in ("start", "image/drawn_scenes.0", "encoding"):
        assert tab.post(path, {}).status_code == 405


# ----------------------------------------------------------------------------------------------------------- datasets


def test_a_set_is_opened_by_name_and_read_once(open_tab: OpenTab) -> None:
    counted = []

    def counting(source: str, **options: object) -> CaptionedDataset:
        counted.append(source)
        return load(source)

    tab = open_tab(loading=counting)
    dataset = tab.opened("somebody/photos")
    two = tab.opened("somebody/photos")
    assert (
        dataset == two
        and counted == ["somebody/photos"]
        and dataset["images"] == 28
        and dataset["name"].startswith("photos-")
    )
    photo = tab.json(f"image/{dataset['name']}.1")
    assert photo["source"] == "dataset" and photo["rerender"] is False and photo["dataset"] == dataset["name"]
    assert [each["name"] for each in tab.json("start")["datasets"]] == ["drawn_scenes", dataset["name"]]
    again = tab.post("query", tab.asked(f"{dataset['name']}.0", fill="rerender"))
    assert again.status_code == 400 and "Only the drawn scenes" in again.json()["error"]
    assert tab.ask(f"{dataset['name']}.0", models=["tiny_clip"])["models"][0]["notes"][0].startswith(
        "This small model knows"
    )


def test_only_the_last_sets_stay_open(tab: Tab) -> None:
    names = [tab.opened(f"somebody/set{i}")["name"] for i in range(datasets.KEPT + 1)]
    tab.ask(f"{names[-1]}.0")
    assert tab.get(f"images/{names[0]}").status_code == 404
    assert tab.get(f"images/{names[-1]}").status_code == 200
    assert len(tab.json("start")["datasets"]) == 1 + datasets.KEPT


def test_a_set_that_takes_long_keeps_nobody_from_the_drawn_scenes() -> None:
    begun, done = threading.Event(), threading.Event()

    def slow(source: str, **options: object) -> CaptionedDataset:
        if source == "drawn_scenes":
            return small_set("drawn")
        begun.set()
        assert done.wait(60)
        return small_set("plain")

    found = datasets.Datasets(load=slow)
    opening = threading.Thread(target=found.open, args=("somebody/photos",))
    opening.start()
    assert begun.wait(60)
    asking = threading.Thread(target=found.listed, daemon=True)
    asking.start()
    asking.join(60)
    free = not asking.is_alive()
    done.set()
    opening.join(60)
    assert free and not opening.is_alive()


def test_a_folder_is_told_to_nobody(tmp_path: Path, open_tab: OpenTab) -> None:
    tab = open_tab(loading=lambda source, **_: small_set("plain"))
    dataset = tab.opened(str(tmp_path))
    assert str(tmp_path.parent) not in tab.get("start").text and "/" not in dataset["name"]


@pytest.mark.parametrize("source", ["/etc", "~/x", "./data", "../data", "C:\\photos"])
def test_a_public_page_opens_no_folders(open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.setenv("RANKSCOPE_PUBLIC", "on")
    tab = open_tab(public=True)
    assert tab.refused_opening(source) and tab.refused_opening("somebody/photos", captions_from=source)
    for name in (f"large:{source}", f"large:local-dir:{source}", "large:hf-hub:somebody/huge"):
        reply = tab.post("query", tab.asked(models=[name]))
        assert reply.status_code == 400 and "public page" in reply.json()["error"]


def test_folders_with_weights_open_only_where_folders_may(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_FOLDERS", "off")
    reply = tab.post("query", tab.asked(models=["large:local-dir:weights"]))
    assert reply.status_code == 400 and "folders of this machine cannot be opened" in reply.json()["error"]
    assert tab.objects.models.choice("large:7") == ("large", {"seed": 7})


def test_a_public_page_reads_fewer_photos(open_tab: OpenTab) -> None:
    limits = []

    def limited(source: str, **options: object) -> CaptionedDataset:
        limits.append(options.get("limit"))
        return load(source)

    tab = open_tab(public=True, loading=limited)
    tab.opened("somebody/photos", limit=10**6)
    assert limits == [datasets.PUBLIC_IMAGES]


def test_what_cannot_be_opened_says_why(open_tab: OpenTab) -> None:
    def failing(source: str, **_: object) -> CaptionedDataset:
        raise DataError("This dataset is private. Log in first.")

    tab = open_tab(loading=failing)
    assert tab.refused_opening("a/b") == "This dataset is private. Log in first."
    assert tab.get("start").status_code == 400, "the drawn scenes failed as well, and that is said too"


def strange(source: str, captions: tuple[str, ...], boxes: bool = True) -> CaptionedDataset:
    scene = CaptionedImage(
        image_id="1",
        load=lambda: encoded(np.zeros((PHOTO[1], PHOTO[0], 3), np.uint8)),
        captions=captions,
        boxes=((0, 0, 30, 30), (50, 50, 20, 70), (math.nan, 0, 1, 1), (5, 5, 5, 60)) if boxes else (),
        classes=("dog", "cat", "cat", "person") if boxes else (),
    )
    return small_set(source, splits={"train": (scene,)})


def test_a_set_in_another_language_is_told(open_tab: OpenTab) -> None:
    tab = open_tab(loading=lambda source, **_: strange(source, ("Собака бежит по траве", "Кошка спит")))
    dataset = tab.opened("a/b")
    assert any("do not look English" in note for note in dataset["notes"])
    reply = tab.ask(f"{dataset['name']}.0", remove={"classes": ["dog"]})
    assert any("do not look English" in note for note in reply["notes"])


def test_sentences_without_words_answer_all_the_same(open_tab: OpenTab) -> None:
    tab = open_tab(loading=lambda source, **_: strange(source, ("", "?!", "a dog", "a dog", "🐕")))
    dataset = tab.opened("a/b")
    reply = tab.ask(f"{dataset['name']}.0", remove={"classes": ["dog"]})
    said = {caption["text"]: caption["verdict"] for caption in reply["models"][0]["removed"]}
    assert said == {
        "": "names nothing present",
        "?!": "names nothing present",
        "a dog": "names removed",
        "🐕": "names nothing present",
    }
    assert any("5 captions were asked for; 4 are shown" in note for note in reply["notes"])
    photo = tab.json(f"image/{dataset['name']}.0")
    assert [one["class"] for one in photo["objects"]] == ["dog", "cat"]
    assert any("2 boxes have no area" in note for note in photo["notes"])


def test_a_set_without_sentences_or_boxes(open_tab: OpenTab) -> None:
    tab = open_tab(loading=lambda source, **_: strange(source, (), boxes=False))
    dataset = tab.opened("a/b")
    photo = tab.json(f"image/{dataset['name']}.0")
    assert photo["objects"] == [] and any("draw over one" in note for note in photo["notes"])
    asked = tab.post("query", tab.asked(f"{dataset['name']}.0"))
    assert asked.status_code == 400 and "No object is marked" in asked.json()["error"]
    asked = tab.post("query", tab.asked(f"{dataset['name']}.0", remove=BOX))
    assert asked.status_code == 400 and "no captions" in asked.json()["error"]


def test_a_photo_that_cannot_be_read_is_a_sentence(open_tab: OpenTab) -> None:
    def broken(source: str, **_: object) -> CaptionedDataset:
        scene = CaptionedImage(image_id="1", load=lambda: None, captions=("a dog",), boxes=(), classes=())
        return small_set(source, splits={"test": (scene,)})

    tab = open_tab(loading=broken)
    assert tab.get("image/drawn_scenes.0").status_code == 400


# --------------------------------------------------------------------------------------------------------------- bounds


def test_vectors_are_bounded_by_bytes(tab: Tab) -> None:
    index = CaptionIndex(tab.objects.models, tab.objects.datasets, limit=GALLERY * 24 * 4 * 2)
    names = ("tiny_clip", "tiny_clip_mended", "large")
    asked = [index.ask(name, "drawn_scenes") for name in names if index.ask(name, "drawn_scenes").done.wait(60)]
    kept = [encoding for name, encoding in zip(names, asked, strict=True) if index.has([name], "drawn_scenes")]
    assert asked[-1] in kept and sum(encoding.bytes for encoding in kept) <= GALLERY * 24 * 4 * 2
    assert asked[0] not in kept
    index.close()


def test_a_cut_cache_file_is_made_again(
    tab: Tab, tmp_path: Path, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    before = tab.ask()
    files = list((tmp_path / "cache" / "captions").glob("*/vectors.npy"))
    assert len(files) == 2
    files[0].write_bytes(b"short")
    again = open_tab(tmp_path / "again")
    assert {**again.ask(), "fill_ms": 0} == {**before, "fill_ms": 0}


def test_too_many_readings_are_refused(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(type(tab.objects.datasets), "get", lambda self, name: go.wait(60) and None)
    refused = []
    for number in range(12):
        try:
            tab.objects.index.ask("tiny_clip", f"set{number}")
        except DataError as error:
            refused.append(str(error))
    go.set()
    assert refused and "wait already" in refused[0]
