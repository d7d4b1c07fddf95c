"""Taking an object out of an image over the routes: what goes, what is shown, what each model says."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from explorer.server.library import Library
from explorer.settings import ASSETS, Settings
from explorer.tabs.object_removal.bodies import Query
from explorer.tabs.object_removal.models import Loaded
from explorer.tabs.object_removal.service import Objects
from tests.explorer.conftest import OpenTab
from tests.explorer.small_world import (
    DOG,
    FRISBEE,
    GALLERY,
    PHOTO,
    Tab,
    Words,
    encoded,
    load,
    paint_png,
    sentences,
    small_set,
)
from tests.waiting import wait
from trainers.data.captioned_images import CaptionedDataset
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.object_removal.captions import classes_of
from trainers.object_removal.fills import FILLS, paint
from trainers.object_removal.vocabulary import load_words


def picture(content: bytes) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(content)).convert("RGB"))


def upload(tab: Tab) -> str:
    reply = tab.post("upload", paint_png([DOG, FRISBEE]), **{"x-rankscope-name": "my%20dog.png"})
    assert reply.status_code == 200 and reply.json()["alt"] == "The image my dog.png"
    return reply.json()["ref"]


def test_the_start_says_what_there_is(tab: Tab) -> None:
    start = tab.json("start")
    assert [dataset["name"] for dataset in start["datasets"]] == ["drawn_scenes"] == [start["dataset"]]
    assert start["chosen"] == ["tiny_clip", "tiny_clip_mended"] and start["fill"] in [f["name"] for f in start["fills"]]
    assert set(start["models"][0]) >= {"name", "title", "sentence", "ready", "missing", "natural_images", "trainable"}
    absent = next(model for model in start["models"] if model["name"] == "absent")
    assert absent["ready"] is False and "pip install" in absent["missing"]
    finders = tab.json("detectors")["detectors"]
    assert finders and all(set(finder) == {"name", "title", "sentence", "missing"} for finder in finders)
    assert [fill["name"] for fill in start["fills"]] == list(FILLS)
    assert [fill["name"] for fill in start["fills"] if fill["redraws"]] == ["rerender"]
    assert [recipe["name"] for recipe in start["recipes"]] == ["phrases", "prompts", "captioner"]
    assert all(isinstance(preset["values"]["recipes"], list) for preset in start["presets"])
    ours = " ".join(start["interpretation"])
    for reading in (
        "longest entry",
        "Equal captions",
        "no pair to train on",
        "cyclist",
        "four classes",
        "Telea",
        "LaMa",
    ):
        assert reading in ours, reading
    first = tab.json(f"image/{start['first']}")
    assert start["taken"] in [one["class"] for one in first["objects"] if one["allowed"]]


def test_photos_come_in_pages(tab: Tab) -> None:
    page = tab.json("images/drawn_scenes?offset=2&count=3")
    assert page["total"] == 28 and [image["ref"] for image in page["images"]] == [
        f"drawn_scenes.{i}" for i in (2, 3, 4)
    ]
    assert page["images"][0]["classes"] == ["cat", "person", "frisbee"]
    assert tab.json("images/drawn_scenes?offset=27&count=9")["images"][0]["ref"] == "drawn_scenes.27"
    assert tab.json("images/drawn_scenes?offset=99")["images"] == []


def test_a_photo_tells_its_objects(tab: Tab) -> None:
    photo = tab.json("image/drawn_scenes.0")
    assert photo["source"] == "drawn" and photo["rerender"] is True and (photo["width"], photo["height"]) == PHOTO
    dog, frisbee = photo["objects"]
    assert dog["boxes"] == [[round(10 / 120, 5), 0.5, round(40 / 120, 5), 0.875]]
    assert frisbee == {
        "class": "frisbee",
        "boxes": [[0.5, 0.125, 0.625, 0.25]],
        "allowed": True,
        "removes": ["frisbee"],
        "keeps": ["dog"],
        "share": round(15 * 10 / 9600, 4),
        "problems": [],
    }
    assert picture(tab.get("image/drawn_scenes.0/pixels?side=60").content).shape == (40, 60, 3)


def test_the_reply_is_what_the_pieces_give(tab: Tab) -> None:
    """Painting, encoding, ranking and judging once more by hand."""
    reply = tab.ask(k=7)
    assert (reply["removed"], reply["kept"], reply["case"], reply["chosen"]) == (
        ["frisbee"],
        ["dog"],
        "single",
        "frisbee",
    )
    assert reply["problems"] == [] and reply["share"] == round(150 / 9600, 4)
    assert reply["words"]["dog"] == ["dog", "puppy"]
    before = picture(paint_png([DOG, FRISBEE]))
    mask = np.zeros(before.shape[:2], dtype=bool)
    mask[10:20, 60:75] = True
    after = paint(FILLS["telea"], before, mask)
    assert np.array_equal(picture(tab.get(f"filled/{reply['filled']}").content), after)
    texts = sentences(small_set())
    words = load_words()
    for model, seed in zip(reply["models"], (1, 2), strict=True):
        net = Words(seed)
        answers = encode_texts(net, texts)
        near = encode_images(net, torch.stack([squash(one, net.side) for one in (before, after)])) @ answers.T
        for name, row in (("original", 0), ("removed", 1)):
            shown = model[name]
            best = near[row].topk(7).values.tolist()
            assert [one["similarity"] for one in shown] == pytest.approx(best, abs=2e-4)
            for one in shown:
                assert near[row, texts.index(one["text"])].item() == pytest.approx(one["similarity"], abs=2e-4)
                named = classes_of(one["text"], words)
                if name == "original":
                    expected = "fits" if named & {"dog", "frisbee"} else "names nothing present"
                else:
                    plain = "correct" if "dog" in named else "names nothing present"
                    expected = "names removed" if "frisbee" in named else plain
                assert one["verdict"] == expected
                assert "".join(part["text"] for part in one["parts"]) == one["text"]
        places = {caption["text"]: rank for rank, caption in enumerate(model["original"])}
        for rank, one in enumerate(model["removed"]):
            assert one["move"] == (places[one["text"]] - rank if one["text"] in places else "new")
            assert (rank in model["entered"]) == (one["move"] == "new")
        after_texts = {caption["text"] for caption in model["removed"]}
        assert model["left"] == [
            rank for rank, caption in enumerate(model["original"]) if caption["text"] not in after_texts
        ]


def test_drawing_again_shows_the_truth(tab: Tab) -> None:
    reply = tab.ask(fill="rerender")
    assert reply["fill_title"] == "Drawn again without it"
    assert np.array_equal(picture(tab.get(f"filled/{reply['filled']}").content), picture(paint_png([DOG])))


def test_a_class_that_covers_another_takes_it_along(tab: Tab) -> None:
    reply = tab.ask("drawn_scenes.4", remove={"classes": ["dog"]})  # the frisbee lies on the dog
    assert reply["case"] == "several" and set(reply["removed"]) == {"dog", "frisbee"} and reply["kept"] == []
    assert any("no object is left" in problem for problem in reply["problems"])


def test_several_classes_at_once_are_done_and_told(tab: Tab) -> None:
    reply = tab.ask("drawn_scenes.2", remove={"classes": ["cat", "frisbee"]})
    assert reply["chosen"] == "cat" and reply["removed"] == ["cat", "frisbee"] and reply["kept"] == ["person"]
    assert any("one class at a time" in problem for problem in reply["problems"])


def test_a_single_class_is_removed_with_a_sentence(tab: Tab) -> None:
    reply = tab.ask("drawn_scenes.3", remove={"classes": ["dog"]})
    assert any("one class only" in problem for problem in reply["problems"])
    assert {caption["verdict"] for model in reply["models"] for caption in model["removed"]} <= {
        "names removed",
        "names nothing present",
    }


def test_a_drawn_box_with_a_name_of_its_own(tab: Tab) -> None:
    reply = tab.ask("drawn_scenes.6", remove={"class": "empty field", "boxes": [[0.1, 0.1, 0.4, 0.5]]}, k=50)
    assert reply["removed"] == ["empty field"] and reply["words"] == {"empty field": ["empty field"]}
    said = [caption for model in reply["models"] for caption in model["removed"]]
    assert all((sentence["verdict"] == "names removed") == ("empty field" in sentence["text"]) for sentence in said)
    red = [part for sentence in said for part in sentence["parts"] if part["kind"] == "removed"]
    assert red and {part["text"] for part in red} == {"empty field"}


def test_a_name_in_other_letters_is_the_tables_own(tab: Tab) -> None:
    reply = tab.ask(remove={"class": "  Potted   PLANT ", "boxes": [[0.8, 0.1, 0.9, 0.5]]})
    assert reply["chosen"] == "potted plant" and "flower" in reply["words"]["potted plant"]


def test_further_words_can_be_given_for_a_name(tab: Tab) -> None:
    remove = {"class": "pet", "words": ["puppy"], "boxes": [[0.8, 0.1, 0.9, 0.5]]}
    reply = tab.ask(remove=remove, k=50)
    assert reply["words"]["pet"] == ["pet", "puppy"]
    said = [caption for model in reply["models"] for caption in model["removed"]]
    assert all((sentence["verdict"] == "names removed") == ("puppy" in sentence["text"]) for sentence in said)


def test_drawing_over_half_of_a_marked_object_says_what_stays(tab: Tab) -> None:
    reply = tab.ask(remove={"class": "dog", "boxes": [[10 / 120, 0.5, 25 / 120, 0.875]]})
    assert reply["removed"] == ["dog"] and reply["kept"] == ["frisbee"]
    assert any("50% of what is marked as dog" in problem for problem in reply["problems"])


def test_a_brush_paints_round_and_joined(tab: Tab) -> None:
    reply = tab.ask(
        remove={"class": "dog", "strokes": [{"radius": 0.05, "points": [[0.2, 0.5], [0.8, 0.5]]}]}, fill="zero"
    )
    black = (picture(tab.get(f"filled/{reply['filled']}").content) == 0).all(2)
    assert black[40, 30:90].all(), "from end to end"
    assert not black[40 - 8, 30] and not black[40 + 8, 90] and black[40 - 5, 60]
    assert black.mean() == pytest.approx(reply["share"], abs=1e-3)
    half = black[:, :24].sum()  # the round end: half a disc of radius 6
    assert half == pytest.approx(np.pi * 36 / 2, rel=0.25)


def test_an_upload_is_asked_among_a_sets_sentences(tab: Tab) -> None:
    ref = upload(tab)
    photo = tab.json(f"image/{ref}")
    assert photo["source"] == "upload" and photo["objects"] == [] and photo["rerender"] is False
    assert any("draw over one" in note for note in photo["notes"])
    reply = tab.ask(ref, remove={"class": "dog", "boxes": [[0.1, 0.5, 0.3, 0.9]]}, models=["large"])
    assert reply["dataset"] == "drawn_scenes" and reply["removed"] == ["dog"]
    assert not any("does not know images" in note for note in reply["models"][0]["notes"])


def test_objects_found_in_an_upload_count_as_present(tab: Tab) -> None:
    ref = upload(tab)
    found = [{"class": "dog", "boxes": [[0.1, 0.5, 0.3, 0.9]]}, {"class": "frisbee", "boxes": [[0.5, 0.1, 0.62, 0.25]]}]
    reply = tab.ask(ref, objects=found)
    assert (reply["removed"], reply["kept"], reply["problems"]) == (["frisbee"], ["dog"], [])


def test_a_model_of_drawn_scenes_says_so_on_photos(tab: Tab) -> None:
    note = "This small model knows the drawn scenes only; it does not know photographs."
    reply = tab.ask(
        upload(tab), remove={"class": "dog", "boxes": [[0.1, 0.5, 0.3, 0.9]]}, models=["tiny_clip", "large"]
    )
    assert [note in model["notes"] for model in reply["models"]] == [True, False]
    assert all(note not in model["notes"] for model in tab.ask()["models"])


def test_more_sentences_than_there_are_is_told(tab: Tab) -> None:
    reply = tab.ask(k=100_000)
    assert len(reply["models"][0]["removed"]) == 50
    assert any("100,000 captions were asked for; 50 are shown" in note for note in reply["notes"])


def test_long_sentences_are_told(open_tab: OpenTab) -> None:
    def wordy(source: str, **_: object) -> CaptionedDataset:
        dataset = small_set(source)
        scenes = dataset.splits["test"]
        long = [type(s)(**{**vars(s), "captions": (*s.captions, "a dog " + "very " * 40 + "far away")}) for s in scenes]
        return CaptionedDataset(**{**vars(dataset), "splits": {**dataset.splits, "test": tuple(long)}})

    tab = open_tab(loading=wordy)
    notes = tab.ask()["models"][0]["notes"]
    assert any("longer than the 24 tokens" in note and "the longest has 46" in note for note in notes)


def test_many_visitors_at_once_get_their_own_answers(tab: Tab) -> None:
    alone = {place: tab.ask(f"drawn_scenes.{place}", remove={"classes": [name]}) for place, name in VISITS}
    wrong: list[str] = []

    def visit(place: int, name: str) -> None:
        for _ in range(4):
            reply = tab.ask(f"drawn_scenes.{place}", remove={"classes": [name]})
            if {**reply, "fill_ms": 0} != {**alone[place], "fill_ms": 0}:
                wrong.append(f"{place} {name}")

    threads = [threading.Thread(target=visit, args=pair) for pair in VISITS for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


VISITS = ((0, "frisbee"), (1, "dog"), (2, "cat"), (8, "person"), (7, "dog"))


def test_what_is_read_so_far_answers_first(open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.tabs.object_removal.query.HURRY", 0.0)
    monkeypatch.setattr("explorer.tabs.object_removal.caption_index.ENOUGH", 8)
    monkeypatch.setattr("explorer.tabs.object_removal.caption_index.PIECE", 8)
    go, read, counted = threading.Event(), Loaded.texts, []

    def slow(self: Loaded, texts: Sequence[str]) -> torch.Tensor:
        counted.append(len(texts))
        if len(counted) > 4:  # two models, two pieces each
            go.wait(60)
        return read(self, texts)

    monkeypatch.setattr(Loaded, "texts", slow)
    monkeypatch.setenv("RANKSCOPE_CACHE", "off")
    tab = open_tab(loading=load)
    part = tab.ask()
    both = [model["partial"] for model in part["models"]]
    assert both[0] == both[1] and both[0]["encoded"] in (8, 16) and both[0]["total"] == GALLERY
    shown = {caption["text"] for model in part["models"] for caption in model["removed"]}
    first = list(dict.fromkeys(text for scene in small_set().splits["test"] for text in scene.captions))[
        : both[0]["encoded"]
    ]
    assert shown <= set(first)
    assert tab.json("encoding")["encoding"]
    go.set()
    wait(lambda: not tab.json("encoding")["encoding"])
    assert [model["partial"] for model in tab.ask()["models"]] == [None, None]


def test_nothing_read_yet_is_told_and_not_an_error(open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch) -> None:
    go, lengths = threading.Event(), Words.lengths

    def stuck(self: Words, texts: Sequence[str]) -> list[int]:
        go.wait(60)
        return lengths(self, texts)

    monkeypatch.setattr(Words, "lengths", stuck)
    tab = open_tab()
    objects = tab.objects
    reply = objects.answers.answer(Query.of(tab.asked()), wait=0.0)
    go.set()
    assert all(
        model["waiting"] and model["removed"] == [] and "Ask again" in model["notes"][0] for model in reply["models"]
    )
    assert reply["filled"]


def test_a_photo_without_marks_is_not_said_to_have_one_class(tab: Tab) -> None:
    """Nobody has said what else it shows; where something is marked, that is the class it has."""
    drawn = {"class": "cat", "boxes": [[0.1, 0.5, 0.3, 0.9]]}
    problems = tab.ask(upload(tab), remove=drawn)["problems"]
    assert len(problems) == 1 and "No other object is marked" in problems[0]
    objects = [{"class": "cat", "boxes": drawn["boxes"]}]
    assert any(
        "one class only" in problem for problem in tab.ask(upload(tab), remove=drawn, objects=objects)["problems"]
    )
    objects.append({"class": "dog", "boxes": [[0.6, 0.5, 0.8, 0.9]]})
    assert tab.ask(upload(tab), remove=drawn, objects=objects)["problems"] == []


def test_what_was_too_long_is_kept_with_the_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Words, "lengths", lambda _, texts: [len(text) for text in texts])
    texts, found = sentences(small_set()), []
    over, longest = sum(len(text) > 24 for text in texts), max(map(len, texts))
    for turn in range(2):
        if turn:
            monkeypatch.setattr(Words, "lengths", lambda *_: pytest.fail("read again"))
        tab = Tab(tmp_path)
        reading = tab.objects.index.ask("large", "drawn_scenes")
        assert reading.done.wait(60) and reading.error is None
        found.append(reading.first(GALLERY))
        assert reading.cut == (over, longest)
        tab.close()
    assert over > 0 and torch.equal(*found)


def test_a_large_upload_is_shrunk(tab: Tab) -> None:
    photo = tab.post("upload", encoded(np.zeros((1500, 2000, 3), np.uint8), "JPEG")).json()
    assert (photo["width"], photo["height"]) == (2000, 1500)
    assert picture(tab.get(f"image/{photo['ref']}/pixels?side=5000").content).shape == (768, 1024, 3)


def test_the_start_knows_the_recorded_mending(tab: Tab) -> None:
    assert tab.json("start")["recorded"] is None  # no recordings in this library
    root = tab.library.root
    library = Library(root, ASSETS / "recorded")
    objects = Objects(Settings(runs=root), library, load=load)
    recorded = objects.start()["recorded"]
    assert recorded is not None and isinstance(library.get(recorded).config, FinetuningConfig)
    objects.close()
    library.close()
