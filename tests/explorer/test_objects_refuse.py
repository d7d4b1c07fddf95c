"""Odd requests to the tab "Remove an object", datasets that are opened, and bounds: a sentence each, never a crash."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from explorer.server.visitors import Caller
from explorer.settings import Limits
from explorer.tabs.object_removal import datasets
from explorer.tabs.object_removal.bodies import Open
from explorer.tabs.object_removal.caption_index import CaptionIndex
from explorer.tabs.object_removal.service import MOST_OPENINGS
from tests.data.world import encode
from tests.explorer.conftest import OpenTab
from tests.explorer.small_world import GALLERY, PHOTO, Tab, finished, load, small_set
from tests.waiting import wait
from trainers.data.captioned_images import CaptionedDataset, CaptionedImage
from trainers.errors import DataError
from trainers.object_removal.drawing import read_boxes
from trainers.progress import Progress

BOX = {"class": "dog", "boxes": [[0.1, 0.1, 0.4, 0.5]]}


@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"image": "drawn_scenes.999"}, 404, "28 images"),
        ({"image": "nowhere.1"}, 404, "not open"),
        ({"image": "upload." + "0" * 32}, 404, "no longer kept"),
        ({"image": "../../etc/passwd"}, 404, "no image"),
        ({"image": 7}, 400, "image needs a text"),
        ({"remove": {"classes": ["zebra"]}}, 400, "no 'zebra'"),
        ({"remove": {"classes": []}}, 400, "list of 1 to 20"),
        ({"remove": {}}, 400, "classes, boxes or strokes"),
        ({"remove": "dog"}, 400, "an object"),
        ({"remove": {"class": "!?…", "boxes": [[0, 0, 0.5, 0.5]]}}, 400, "Say in words"),
        ({"remove": {"class": "x" * 61, "boxes": [[0, 0, 0.5, 0.5]]}}, 400, "at most 60"),
        ({"remove": {"class": "dog", "boxes": [[0, 0, 1, 1]]}}, 400, "whole image"),
        ({"remove": {"class": "dog", "boxes": [[0.2, 0.2, 0.2, 0.9]]}}, 400, "no area"),
        ({"remove": {"class": "dog", "boxes": [[None, 0, 1, 1]]}}, 400, "no area"),
        ({"remove": {"class": "dog", "boxes": "all"}}, 400, "list of 1 to 200"),
        ({"remove": {"class": "dog", "strokes": [{"radius": 0, "points": [[0.5, 0.5]]}]}}, 400, "has an area inside"),
        ({"remove": {"class": "dog", "strokes": [{"radius": 9, "points": [[0.5, 0.5]]}]}}, 200, ""),
        ({"fill": "magic"}, 400, "no fill 'magic'"),
        ({"fill": "lama"}, 400, "RANKSCOPE_LAMA"),
        ({"remove": BOX, "fill": "rerender"}, 400, "whole objects"),
        ({"models": ["gpt"]}, 404, "no model 'gpt'"),
        ({"models": ["absent"]}, 400, "pip install absent"),
        ({"models": ["run:0123456789ABCDEFGHJKMNPQRS:0"]}, 404, "no run"),
        ({"models": ["tiny_clip"] * 3}, 400, "1 to 2 entries"),
        ({"k": 0}, 400, "whole number"),
        ({"k": True}, 400, "whole number"),
    ],
)
def test_odd_questions_get_a_sentence(tab: Tab, changes: dict, status: int, words: str) -> None:
    reply = tab.post("query", tab.asked(**changes))
    assert reply.status_code == status, reply.text
    assert status == 200 or words in reply.json()["error"]


@pytest.mark.parametrize("boxes", [[[0.6, 0.7, 0.2, 0.1]], [[-5, 0.1, 0.6, 9]], [[0.1, 0.1, 0.4, 0.4], [math.nan] * 4]])
def test_boxes_are_sorted_cut_and_counted(boxes: list) -> None:
    found, notes = read_boxes(boxes)
    assert len(found) == 1 and all(0 <= value <= 1 for value in found[0])
    assert found[0][0] < found[0][2] and found[0][1] < found[0][3]
    assert bool(notes) == (len(boxes) > 1) and (not notes or "1 box has no area" in notes[0])


def test_endless_strokes_are_thinned(tab: Tab) -> None:
    points = [[0.5 + 0.4 * math.cos(i / 50), 0.5 + 0.4 * math.sin(i / 50)] for i in range(9000)]
    points = [[round(x, 3), round(y, 3)] for x, y in points]
    reply = tab.ask(remove={"class": "dog", "strokes": [{"radius": 0.02, "points": points}]})
    assert any("9,000 points were drawn; 1 in 3 is used" in note for note in reply["notes"])
    assert 0.02 < reply["share"] < 0.5


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("image/drawn_scenes.0/pixels?side=-3", 400),
        ("image/drawn_scenes.0/pixels?side=0", 200),
        ("image/..%2f..", 404),
        ("filled/abc", 404),
        ("score/abc", 404),
        ("open/none", 404),
        ("nothing", 404),
    ],
)
def test_odd_addresses(tab: Tab, path: str, status: int) -> None:
    reply = tab.get(path)
    assert reply.status_code == status and (status == 200 or len(reply.json()["error"]) > 10)


# ----------------------------------------------------------------------------------------------------------- datasets


def test_a_set_is_opened_by_name_and_read_once(open_tab: OpenTab) -> None:
    counted = []

    def counting(source: str, **options: object) -> CaptionedDataset:
        counted.append(source)
        return load(source)

    tab = open_tab(loading=counting)
    dataset = tab.opened("somebody/photos")
    two = tab.opened("somebody/photos")
    assert dataset == two and counted == ["somebody/photos"]
    assert dataset["images"] == 28 and dataset["name"].startswith("photos-")
    photo = tab.json(f"image/{dataset['name']}.1")
    assert photo["source"] == "dataset" and photo["rerender"] is False and photo["dataset"] == dataset["name"]
    assert [each["name"] for each in tab.json("start")["datasets"]] == ["drawn_scenes", dataset["name"]]
    assert "Only the drawn scenes" in tab.refused("query", tab.asked(f"{dataset['name']}.0", fill="rerender"))


def test_only_the_last_sets_stay_open(tab: Tab) -> None:
    names = [tab.opened(f"somebody/set{i}")["name"] for i in range(datasets.KEPT + 1)]
    tab.ask(f"{names[-1]}.0")
    assert tab.get(f"image/{names[0]}.0").status_code == 404
    assert tab.get(f"image/{names[-1]}.0").status_code == 200
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
    with ThreadPoolExecutor(2) as pool:
        opening = pool.submit(found.open, "somebody/photos")
        assert begun.wait(60)
        try:
            assert pool.submit(found.listed).result(60) and not opening.done()
        finally:
            done.set()


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
        assert "public page" in tab.refused("query", tab.asked(models=[name]))


def test_folders_with_weights_open_only_where_folders_may(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_FOLDERS", "off")
    asked = tab.asked(models=["large:local-dir:weights"])
    assert "folders of this machine cannot be opened" in tab.refused("query", asked)
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
        load=lambda: encode(np.zeros((PHOTO[1], PHOTO[0], 3), np.uint8)),
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
    assert said == dict.fromkeys(("", "?!", "🐕"), "names nothing present") | {"a dog": "names removed"}
    assert any("5 captions were asked for; 4 are shown" in note for note in reply["notes"])
    photo = tab.json(f"image/{dataset['name']}.0")
    assert [one["class"] for one in photo["objects"]] == ["dog", "cat"]
    assert any("2 boxes have no area" in note for note in photo["notes"])


def test_a_set_without_sentences_or_boxes(open_tab: OpenTab) -> None:
    tab = open_tab(loading=lambda source, **_: strange(source, (), boxes=False))
    dataset = tab.opened("a/b")
    photo = tab.json(f"image/{dataset['name']}.0")
    assert photo["objects"] == [] and any("draw over one" in note for note in photo["notes"])
    assert "No object is marked" in tab.refused("query", tab.asked(f"{dataset['name']}.0"))
    assert "no captions" in tab.refused("query", tab.asked(f"{dataset['name']}.0", remove=BOX))


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


# ------------------------------------------------------------------ datasets that are opened in the background


class Slow:
    """Reads a dataset that tells how far it is and waits at each of two places."""

    def __init__(self) -> None:
        self.at = threading.Event()
        self.go = threading.Event()
        self.told = 0

    def __call__(self, source: str, *, progress: Progress = lambda *_: None, **_: object) -> CaptionedDataset:
        if source == "drawn_scenes":
            return small_set()
        for text, fraction in (("reading the captions of train", 0.25), ("reading the boxes of train", 0.5)):
            progress(text, fraction)
            self.told += 1
            self.at.set()
            assert self.go.wait(60)
        return small_set("plain", drawn=False)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def slow_tab(slow: Slow, open_tab: OpenTab) -> Iterator[Tab]:
    yield open_tab(loading=slow)
    slow.go.set()


def opening(tab: Tab) -> str:
    """The address of the job that opens a dataset."""
    return f"open/{tab.json('open', {'source': 'somebody/photos'})['job']}"


def test_a_set_tells_how_far_it_is_and_opens(slow_tab: Tab, slow: Slow) -> None:
    job = opening(slow_tab)
    assert slow.at.wait(60)
    state = slow_tab.json(job)
    assert (state["message"], state["fraction"]) == ("reading the captions of train", 0.25)
    slow.go.set()
    assert finished(slow_tab, job)["result"]["images"]
    assert slow_tab.opened("somebody/photos") == slow_tab.json(job)["result"] and slow.told == 2


def test_a_set_can_be_left(slow_tab: Tab, slow: Slow) -> None:
    job = opening(slow_tab)
    assert slow.at.wait(60)
    assert slow_tab.post(f"{job}/stop", {}).status_code == 200
    slow.go.set()
    assert finished(slow_tab, job, "stopped") and slow.told == 1
    assert [dataset["name"] for dataset in slow_tab.json("start")["datasets"]] == ["drawn_scenes"]
    assert slow_tab.opened("somebody/photos")["images"], "the next one may begin"


def test_few_wait_at_once(slow_tab: Tab, slow: Slow) -> None:
    asked = Open(source="somebody/photos")
    with ThreadPoolExecutor(MOST_OPENINGS) as pool:
        for number in range(MOST_OPENINGS):
            pool.submit(slow_tab.objects.open, asked, Caller(address=f"192.0.2.{number}"))
        wait(lambda: len(slow_tab.objects.openings.going()) == MOST_OPENINGS)
        assert "wait already" in slow_tab.refused("open", {"source": "other/photos"})
        slow.go.set()


def test_those_who_wait_for_their_turn_can_be_followed_and_leave_at_once(slow_tab: Tab, slow: Slow) -> None:
    first = opening(slow_tab)
    assert slow.at.wait(60)
    jobs = [opening(slow_tab) for _ in range(4)]
    assert [slow_tab.json(job)["message"] for job in jobs] == ["waiting for its turn"] * len(jobs)
    for _ in range(2):  # who leaves twice, leaves
        assert slow_tab.post(f"{jobs[0]}/stop", {}).status_code == 200
    assert slow_tab.json(jobs[0])["phase"] == "stopped"
    assert slow_tab.json(jobs[1])["phase"] == "waiting", "nobody else has left"
    slow.go.set()
    assert all(finished(slow_tab, job) for job in (first, *jobs[1:]))


def test_one_visitor_of_a_public_page_waits_for_few(open_tab: OpenTab, slow: Slow) -> None:
    slow_tab = open_tab(public=True, loading=slow)
    ada, eve = Caller(address="192.0.2.1"), Caller(address="192.0.2.2", login="eve")
    asked = Open(source="somebody/photos")
    for visitor in (*[ada] * Limits().openings, eve):
        assert slow_tab.objects.open(asked, visitor).id
    with pytest.raises(DataError, match=f"{Limits().openings} of your datasets wait"):
        slow_tab.objects.open(asked, ada)
    slow.go.set()
    wait(lambda: not slow_tab.objects.openings.going())
    assert slow_tab.objects.open(asked, ada)
