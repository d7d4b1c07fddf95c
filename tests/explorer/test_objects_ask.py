"""Taking an object out of an image over the routes: what goes, what is shown, what each model says."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.tabs.object_removal.bodies import Query
from explorer.tabs.object_removal.models import Loaded
from tests.data.world import encode
from tests.entities import write_entities
from tests.explorer.conftest import OpenTab
from tests.explorer.page import picture
from tests.explorer.small_world import (
    DOG,
    FRISBEE,
    GALLERY,
    PHOTO,
    Tab,
    Words,
    load,
    paint_png,
    sentences,
    small_set,
)
from tests.waiting import wait
from trainers.data.captioned.loader import load_captioned
from trainers.data.captioned_images import CaptionedDataset
from trainers.image_text.encoding import encode_images, encode_texts, squash
from trainers.object_removal.captions import classes_of
from trainers.object_removal.fills import FILLS, paint
from trainers.object_removal.vocabulary import load_words


def upload(tab: Tab) -> str:
    reply = tab.post("upload", paint_png([DOG, FRISBEE]))
    assert reply.status_code == 200 and reply.json()["alt"] == "An image of your own"
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
    assert all(isinstance(preset["values"]["recipes"], list) for preset in start["presets"])
    first = tab.json(f"image/{start['first']}")
    assert start["taken"] in [one["class"] for one in first["objects"] if one["allowed"]]


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
    assert (reply["removed"], reply["kept"], reply["chosen"]) == (["frisbee"], ["dog"], "frisbee")
    assert reply["case"] == "single" and reply["recorded"] is False, "these models have the names of the record's"
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


@pytest.mark.parametrize(
    ("image", "classes", "removed", "kept", "words"),
    [
        (4, ["dog"], ["dog", "frisbee"], [], "no object is left"),  # the frisbee lies on the dog
        (2, ["cat", "frisbee"], ["cat", "frisbee"], ["person"], "one class at a time"),
        (3, ["dog"], ["dog"], [], "one class only"),
    ],
)
def test_more_or_all_classes_are_removed_with_a_sentence(
    tab: Tab, image: int, classes: list[str], removed: list[str], kept: list[str], words: str
) -> None:
    reply = tab.ask(f"drawn_scenes.{image}", remove={"classes": classes})
    assert sorted(reply["removed"]) == removed and reply["kept"] == kept
    assert any(words in problem for problem in reply["problems"])


@pytest.mark.parametrize(
    ("remove", "words"),
    [({"class": "empty field"}, ["empty field"]), ({"class": "pet", "words": ["puppy"]}, ["pet", "puppy"])],
)
def test_a_drawn_box_has_a_name_and_words_of_its_own(tab: Tab, remove: dict, words: list[str]) -> None:
    reply = tab.ask("drawn_scenes.6", remove=remove | {"boxes": [[0.1, 0.1, 0.4, 0.5]]}, k=100_000)
    assert reply["words"] == {remove["class"]: words} and reply["removed"] == [remove["class"]]
    assert any("100,000 captions were asked for; 50 are shown" in note for note in reply["notes"])
    said = [caption for model in reply["models"] for caption in model["removed"]]
    assert len(said) == 2 * 50
    assert all((one["verdict"] == "names removed") == (words[-1] in one["text"]) for one in said)
    red = [part for one in said for part in one["parts"] if part["kind"] == "removed"]
    assert red and {part["text"] for part in red} == {words[-1]}


def test_a_name_in_other_letters_is_the_tables_own(tab: Tab) -> None:
    reply = tab.ask(remove={"class": "  Potted   PLANT ", "boxes": [[0.8, 0.1, 0.9, 0.5]]})
    assert reply["chosen"] == "potted plant" and "flower" in reply["words"]["potted plant"]


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
    reply = tab.ask(ref, remove={"class": "dog", "boxes": [[0.1, 0.5, 0.3, 0.9]]}, models=["tiny_clip", "large"])
    assert reply["dataset"] == "drawn_scenes" and reply["removed"] == ["dog"]
    note = "This small model knows the drawn scenes only; it does not know photographs."
    assert [note in model["notes"] for model in reply["models"]] == [True, False]
    assert all(note not in model["notes"] for model in tab.ask()["models"])


def test_many_visitors_at_once_get_their_own_answers(tab: Tab) -> None:
    visits = [(0, "frisbee"), (1, "dog"), (2, "cat"), (8, "person"), (7, "dog")]

    def visit(asked: tuple[int, str]) -> dict:
        return {**tab.ask(f"drawn_scenes.{asked[0]}", remove={"classes": [asked[1]]}), "fill_ms": 0}

    alone = [visit(each) for each in visits]
    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(visit, visits * 8)) == alone * 8


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
    assert shown <= set(sentences(small_set())[: both[0]["encoded"]])
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
    for model in reply["models"]:
        assert model["waiting"] and model["removed"] == [] and "Ask again" in model["notes"][0]
    assert reply["filled"]


def test_a_photo_without_marks_is_not_said_to_have_one_class(tab: Tab) -> None:
    """Nobody has said what else it shows; where something is marked, that is the class it has."""
    drawn = {"class": "cat", "boxes": [[0.1, 0.5, 0.3, 0.9]]}
    problems = tab.ask(upload(tab), remove=drawn)["problems"]
    assert len(problems) == 1 and "No other object is marked" in problems[0]
    objects = [{"class": "cat", "boxes": drawn["boxes"]}]
    problems = tab.ask(upload(tab), remove=drawn, objects=objects)["problems"]
    assert any("one class only" in problem for problem in problems)
    objects.append({"class": "dog", "boxes": [[0.6, 0.5, 0.8, 0.9]]})
    reply = tab.ask(upload(tab), remove=drawn, objects=objects)
    assert (reply["problems"], reply["kept"]) == ([], ["dog"])


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
        notes = tab.ask(models=["large"])["models"][0]["notes"]
        assert any("longer than the 24 tokens" in note and f"the longest has {longest}" in note for note in notes)
        tab.close()
    assert over > 0 and torch.equal(*found)


def test_a_large_upload_is_shrunk(tab: Tab) -> None:
    photo = tab.post("upload", encode(np.zeros((1500, 2000, 3), np.uint8), "JPEG")).json()
    assert (photo["width"], photo["height"]) == (2000, 1500)
    assert picture(tab.get(f"image/{photo['ref']}/pixels?side=5000").content).shape == (768, 1024, 3)


# ----------------------------------------------------------------------------------------------- Flickr30k Entities


@pytest.fixture
def entities(tmp_path: Path, open_tab: OpenTab) -> Tab:
    """A dataset whose annotation says what a caption names."""
    write_entities(tmp_path / "entities")

    def load(source: str, **choices: object) -> CaptionedDataset:
        return small_set() if source == "drawn_scenes" else load_captioned(source, **choices)  # type: ignore[arg-type]

    return open_tab(loading=load)


def test_the_annotation_judges_and_colours(entities: Tab, tmp_path: Path) -> None:
    group = entities.opened(str(tmp_path / "entities"))
    assert group["classes"] == ["people", "animals", "vehicles", "instruments"] and group["images"] == 9
    assert any("annotated" in note for note in group["notes"]) and not any("English" in note for note in group["notes"])
    photo = f"{group['name']}.0"
    assert [one["class"] for one in entities.json(f"image/{photo}")["objects"]] == ["people", "animals"]
    reply = entities.ask(photo, remove={"classes": ["people"]}, fill="zero", k=50)
    assert reply["removed"] == ["people"] and reply["kept"] == ["animals"] and reply["words"]["people"] == ["people"]
    shown = {caption["text"]: caption for caption in reply["models"][0]["removed"]}
    men = shown["Two men play with a dog ."]
    assert men["verdict"] == "names removed"
    assert [(part["text"], part["kind"]) for part in men["parts"]] == [
        ("Two men", "removed"),
        (" play with ", None),
        ("a dog", "present"),
        (" .", None),
    ]
    assert shown["They are outside ."]["verdict"] == "names removed"
    assert shown["A puppy and nothing else ."]["verdict"] == "correct"
    toy = shown["The choir and a toy dog on a rickshaw ."]
    assert toy["verdict"] == "names removed" and [p["text"] for p in toy["parts"] if p["kind"]] == ["The choir"]


def test_what_is_drawn_over_is_named_by_words(entities: Tab, tmp_path: Path) -> None:
    group = entities.opened(str(tmp_path / "entities"))
    drawn = {"class": "dog", "boxes": [[0.6, 0.5, 0.95, 0.95]]}
    reply = entities.ask(f"{group['name']}.0", remove=drawn, fill="zero", k=50)
    assert reply["removed"] == ["dog", "animals"] and reply["words"]["dog"] == ["dog", "puppy"]
    shown = {caption["text"]: caption for caption in reply["models"][0]["removed"]}
    assert [p["text"] for p in shown["Two men play with a dog ."]["parts"] if p["kind"] == "removed"] == ["a dog"]
    assert shown["The choir and a toy dog on a rickshaw ."]["verdict"] == "names removed"
    answer = entities.ask(
        f"{group['name']}.0", remove={**drawn, "class": "people", "words": ["outside"]}, fill="zero", k=50
    )
    assert answer["words"]["people"] == ["people", "outside"]
