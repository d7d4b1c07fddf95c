"""What the events of the tab "Remove an object" fill: menus, images, answers, scores, recipes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from explorer.page.words import literal
from explorer.server.http import RequestError
from explorer.server.photographs import Photographs
from explorer.server.shown_files import ShownFiles
from explorer.server.turns import Turns
from explorer.server.visitors import Caller
from explorer.tabs.object_removal import mending, offers, recipes
from explorer.tabs.object_removal.choosing import PAGE, Choosing
from explorer.tabs.object_removal.first import suggestion
from explorer.tabs.object_removal.measuring import Measuring, figure, table
from explorer.tabs.object_removal.removing import Removing
from explorer.tabs.object_removal.view import Showing
from tests.explorer.conftest import OpenTab
from tests.explorer.small_world import DOG, FRISBEE, GALLERY, Tab, paint_png, sentences, small_set
from trainers.data.captioned_images import CaptionedDataset
from trainers.errors import UserError
from trainers.image_text.imagenet import class_names
from trainers.kinds.finetuning.recipes import PRESETS

DRAWN = ("drawn_scenes", "tiny_clip", "tiny_clip_mended", "telea", 5)
BOX = {"boxes": [[0.1, 0.4, 0.4, 0.9]], "around": [0.1, 0.4, 0.4, 0.9]}
HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(2)) ${eval(3)} {{constructor}} `*_~#"


@pytest.fixture
def files(tmp_path: Path) -> Iterator[ShownFiles]:
    made = ShownFiles(tmp_path / "shown")
    yield made
    made.close()


@pytest.fixture
def choosing(tab: Tab, files: ShownFiles, tmp_path: Path) -> Choosing:
    return Choosing(Showing(tab.objects), Photographs(tmp_path / "sent", Turns()), files)


def event(**data: Any) -> Any:
    return SimpleNamespace(_data=data)


def shown(tab: Tab, ref: str, chosen: tuple[Any, ...] = DRAWN, **more: Any) -> list[Any]:
    return Showing(tab.objects).image(tab.objects.images.get(ref), chosen, **more)


def own(tab: Tab) -> str:
    return tab.objects.images.add(paint_png([DOG, FRISBEE])).ref


def test_the_tab_begins_with_something_to_remove_and_stays_as_it_was_left(choosing: Choosing) -> None:
    made = choosing.begin("", None, None, None, None, 5)
    assert [menu["value"] for menu in made[:3]] == ["drawn_scenes", "tiny_clip", "tiny_clip_mended"]
    assert all(name != "absent" for _, name in made[1]["choices"]) and made[2]["choices"][0] == (offers.NO_OTHER, "")
    state, target = json.loads(made[3]), json.loads(made[4])
    assert state["ref"].startswith("drawn_scenes.") and target["classes"]
    assert made[11]["image"]["ref"] == state["ref"] and made[13]["reply"] is None
    again = choosing.begin(made[3], *DRAWN)
    assert len(again) == len(made) and all(value == gr.skip() for value in again[3:])


def test_images_come_in_pages_with_the_shown_one_marked(choosing: Choosing) -> None:
    gallery, offset, number, total = choosing.strip("drawn_scenes", "drawn_scenes.13")
    assert (offset, number["value"], total) == (str(PAGE), 14, "of 28")
    assert gallery["selected_index"] == 1 and len(gallery["value"]) == PAGE
    assert all(Path(path).suffix == ".jpg" and Path(path).is_file() for path, _ in gallery["value"])
    assert choosing.turned(PAGE)("24", "drawn_scenes")[1] == "24", "there is no page after the last one"
    assert len(choosing.turned(PAGE)("12", "drawn_scenes")[0]["value"]) == 4
    assert choosing.turned(-PAGE)("nonsense", "drawn_scenes")[1] == "0"
    for at, ref in ((27, "drawn_scenes.25"), (99, "drawn_scenes.27"), (None, "drawn_scenes.0")):
        assert json.loads(choosing.moved(-1)(at, *DRAWN)[0])["ref"] == ref


def test_files_are_bounded_and_named_in_words(tmp_path: Path) -> None:
    files = ShownFiles(tmp_path, limit=250)
    paths = [Path(files.path(str(number), "Without the ../dog", "png", lambda: bytes(100))) for number in range(4)]
    assert [path.exists() for path in paths] == [False, False, True, True]
    assert paths[0].name == "without-the-dog.png" and files.path("3", "Without the ../dog", "png", bytes) == str(
        paths[3]
    )
    files.close()
    assert not paths[3].exists()


def test_an_answer_marks_what_went_and_keeps_the_image(tab: Tab) -> None:
    image = shown(tab, "drawn_scenes.0", removed=["frisbee"])
    picker, pair, captions = Showing(tab.objects).answer(image[0], image[1], *DRAWN)
    assert (picker["image"]["ref"], picker["removed"]) == ("drawn_scenes.0", ["frisbee"])
    assert pair["reply"]["filled"] and captions["titles"] == ["Tiny_clip", "Tiny_clip_mended"]
    assert len(captions["reply"]["models"][0]["removed"]) == 5
    one = Showing(tab.objects).answer(image[0], image[1], "drawn_scenes", "tiny_clip", "", "telea", 3)
    assert [len(model["removed"]) for model in one[2]["reply"]["models"]] == [3]
    assert Showing(tab.objects).answer(image[0], "", *DRAWN) == [gr.skip()] * 3


def test_an_answer_that_comes_late_does_not_replace_a_newer_one(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    showing, waits, go_on = Showing(tab.objects), threading.Event(), threading.Event()
    page, other = SimpleNamespace(session_hash="page"), SimpleNamespace(session_hash="other")
    state = shown(tab, "drawn_scenes.0", removed=["frisbee"])[0]
    answers = showing.answer

    def slowly(shown: str, target: str, *chosen: Any) -> Any:
        if "frisbee" in target:
            waits.set()
            assert go_on.wait(60)
        return answers(shown, target, *chosen)

    def ask(name: str, page: Any) -> Any:
        (answer,) = showing.newest(state, json.dumps({"classes": [name]}), page, *DRAWN)
        return answer

    monkeypatch.setattr(showing, "answer", slowly)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, "frisbee", page)
        assert waits.wait(60)
        assert ask("dog", other)[0]["removed"] == ["dog"]
        assert ask("dog", page)[0]["removed"] == ["dog"]
        go_on.set()
        assert first.result() == [gr.skip()] * 3
        assert ask("frisbee", page)[0]["removed"] == ["frisbee"]


@pytest.mark.parametrize("state", ["{", "[]", '{"ref": 7}', '{"ref": "nowhere.1"}', '{"ref": "x", "objects": "all"}'])
@pytest.mark.parametrize("target", ["[1]", '{"classes": "dog"}', '{"class": "dog", "boxes": [[0, 0, 1e999, 1]]}'])
def test_what_the_page_keeps_is_checked(tab: Tab, state: str, target: str) -> None:
    with pytest.raises(UserError):
        Showing(tab.objects).answer(state, target, *DRAWN)
    with pytest.raises(UserError):
        Showing(tab.objects).answer(state, '{"classes": ["frisbee"]}', *DRAWN)


def test_another_dataset_shows_its_first_image(tab: Tab, choosing: Choosing) -> None:
    name, first = tab.opened("somebody/photos")["name"], shown(tab, "drawn_scenes.3")[0]
    moved = choosing.settle(first, name, *DRAWN[1:])
    assert json.loads(moved[0])["ref"] == f"{name}.0"
    stays = choosing.settle(moved[0], name, *DRAWN[1:])
    assert stays[0] == gr.skip() and len(stays) == len(moved)
    assert stays[3]["visible"], "photographs are no drawn scenes"


# ------------------------------------------------------------------------------------------------------ own photographs


def test_a_photograph_has_its_warning_on_top_and_the_way_to_a_real_model(tab: Tab, choosing: Choosing) -> None:
    path = choosing._photographs.add(paint_png([DOG, FRISBEE]))
    made = choosing.own(str(path), Caller(address="192.0.2.1"), DRAWN)
    assert json.loads(made[0])["ref"].startswith("upload.") and made[1] == ""
    assert "know the drawn scenes only" in made[3]["value"] and made[3]["visible"]
    assert made[4] == gr.update(visible=True, value="Use Large")
    assert Removing(Showing(tab.objects)).real(made[0], *DRAWN[1:3]) == ["large", "", "large"]
    known = Showing(tab.objects).warning(tab.objects.images.get(json.loads(made[0])["ref"]), ["large"])
    assert [one["visible"] for one in known] == [False, False]
    assert choosing.own(None, Caller(), DRAWN) == [gr.skip()] * len(made)


def test_a_photograph_is_not_named_by_a_model_that_knows_drawn_scenes(tab: Tab) -> None:
    removing, image = Removing(Showing(tab.objects)), shown(tab, own(tab))[0]
    target, region, _, pair = removing.drawn(image, None, "tiny_clip", "tiny_clip_mended", event(**BOX))
    assert target == "" and json.loads(region) == {"boxes": BOX["boxes"]} and "What is it?" in pair["prompt"]
    dog = removing.named(image, "", "my dog", region)[1]
    assert json.loads(dog) == {"class": "my dog", "boxes": BOX["boxes"]}
    stays = removing.drawn(image, "my dog", "large", "", event(boxes=[[0.5, 0.1, 0.7, 0.3]], stays=True))
    assert stays[0] == gr.skip() and stays[2] == gr.update(value=None), "it is another thing, with another name"
    state, target, *_, picker = removing.named(image, dog, "frisbee", stays[1])
    assert json.loads(target) == {"classes": ["my dog"]} and picker["removed"] == ["my dog"]
    assert [(one["class"], one["allowed"]) for one in picker["image"]["objects"]] == [
        ("my dog", True),
        ("frisbee", True),
    ]
    reply = Showing(tab.objects).answer(state, target, *DRAWN)[2]["reply"]
    assert (reply["removed"], reply["kept"]) == (["my dog"], ["frisbee"])
    target, _, names, _ = removing.drawn(image, None, "tiny_clip", "large", event(**BOX))
    assert json.loads(target)["class"] == names["value"] and len(names["choices"]) == 5
    scene = shown(tab, "drawn_scenes.0")[0]
    assert removing.drawn(scene, None, "tiny_clip", "", event(**BOX))[0], "it knows its own scenes"
    assert json.loads(removing.drawn(scene, "cat", "tiny_clip", "", event(**BOX))[0])["class"] == "cat"


def test_where_no_verdict_can_be_had_it_is_said_what_is_missing(tab: Tab) -> None:
    photograph = shown(tab, own(tab))[0]
    zebra = json.dumps({"class": "zebra", "boxes": BOX["boxes"]})
    reply = Showing(tab.objects).answer(photograph, zebra, *DRAWN)[2]["reply"]
    assert reply["pool"] == {"captions": len(sentences(small_set())), "naming": 0, "own": False} and reply["kept"] == []
    assert {one["verdict"] for model in reply["models"] for one in model["removed"]} == {"unknown"}
    lines = "a zebra on grass\n\n empty grass \nempty grass"
    reply = Showing(tab.objects).answer(photograph, zebra, *DRAWN, lines)[2]["reply"]
    assert reply["pool"] == {"captions": 2, "naming": 1, "own": True} and not reply["recorded"]
    verdicts = {one["text"]: one["verdict"] for one in reply["models"][0]["removed"]}
    assert verdicts == {"a zebra on grass": "names removed", "empty grass": "unknown"}
    seen = reply["seen"]
    assert seen["first"] and all(len(seen[side]) == 5 for side in ("original", "removed"))
    assert all(0 < one["share"] < 1 and one["name"] in class_names() for one in seen["original"])
    asked = Showing(tab.objects).answer(photograph, zebra, "drawn_scenes", "large", "", "telea", 5, lines)[2]["reply"]
    assert asked["seen"] == seen | {"first": False}, "a model that knows photographs answers first"
    scene = shown(tab, "drawn_scenes.0", removed=["frisbee"])
    reply = Showing(tab.objects).answer(scene[0], scene[1], *DRAWN, lines)[2]["reply"]
    assert reply["seen"] is None and reply["pool"]["naming"] > 0 and not reply["pool"]["own"]


def test_photographs_are_filled_by_the_best_that_is_installed(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    photograph, scene = tab.objects.images.get(own(tab)), tab.objects.images.get("drawn_scenes.0")
    assert offers.fill_for(photograph, "telea") == "by_area" and offers.fill_for(photograph, "blur") == "blur"
    assert "rerender" in [name for _, name in offers.fills(scene)]
    assert offers.fill_for(photograph, "rerender") == "by_area" and offers.fill_for(scene, "rerender") == "rerender"
    assert offers.fill_for(scene, "by_area") == "telea" and "shift map" in offers.about(
        tab.objects, DRAWN[0], "by_area"
    )
    for side, title in ((0.2, "Telea"), (0.5, "Shift map")):  # 4 % and 25 % of the image
        box = json.dumps({"class": "dog", "boxes": [[0.1, 0.1, 0.1 + side, 0.1 + side]]})
        asked = shown(tab, photograph.ref)[0], box, SimpleNamespace(session_hash="page"), *DRAWN[:3], "by_area", 5
        *working, (_, pair, _) = Showing(tab.objects).newest(*asked)
        assert pair["reply"]["fill_title"] == title
        assert [title in one[1]["prompt"] for one in working] == [True] * (title == "Shift map")
        assert len(list(Showing(tab.objects).newest(*asked))) == 1, "the next question about it finds it filled"
    monkeypatch.setattr(type(offers.FILLS["lama"]), "lacking", lambda self, *_: None)
    assert offers.fill_for(photograph, "telea") == "lama" and offers.fill_for(scene, "telea") == "telea"


def test_the_smallest_noticeable_object_is_suggested() -> None:
    def one(name: str, share: float, allowed: bool = True) -> dict[str, Any]:
        return {"class": name, "share": share, "allowed": allowed}

    assert suggestion([one("a", 0.3), one("b", 0.02), one("c", 0.001)]) == ["b"]
    assert suggestion([one("a", 0.01), one("b", 0.002)]) == ["a"]
    assert suggestion([one("a", 0.5, False)]) == ["a"] and suggestion([]) == []


# -------------------------------------------------------------------------------------------------------------- scores


def test_a_score_is_shown_with_its_numbers_and_its_failures(tab: Tab, files: ShownFiles) -> None:
    measuring = Measuring(tab.objects, files)
    asked = {"dataset": "drawn_scenes", "models": ["tiny_clip", "large"], "queries": 20}
    job = measuring.start(asked, Caller())["job"]
    result = tab.objects.scores.get(job).wait()
    made = measuring.measured(event(job=job))
    assert made[0] == job and "ODmAP" in made[2]["value"] and made[6]["visible"]
    head, rows = table(result)["headers"], table(result)["data"]
    assert head[1:] == ["Tiny_clip", "Large"] and len(rows) == len(result["measures"]["all"])
    drawn = figure(result).data
    assert [trace.name for trace in drawn] == ["Tiny_clip", "Large"]
    assert drawn[0].x[0] == pytest.approx(100 * result["models"][0]["values"]["ODmAP_at_1"]["mean"])
    failing = result["models"][0]["failing"]
    assert [text.partition(":")[0] for _, text in made[9]["value"]] == [
        f"Without the {', '.join(one['removed'])}" for one in failing
    ]
    assert measuring.failed(job, 0, 0) == (failing[0]["image"], failing[0]["removed"])
    with pytest.raises(UserError):
        measuring.measured(event(job="none"))


# ------------------------------------------------------------------------------------------------------------- recipes


@pytest.mark.parametrize("name", [preset.name for preset in PRESETS])
def test_fields_show_recipes_as_they_are(name: str) -> None:
    known = recipes.of_preset(name)
    assert [recipes.edited(recipes.shown(values)) for values in known] == known
    assert len(set(recipes.titles(known))) == len(known)
    assert recipes.read(json.dumps(known)) == known
    assert mending._edited(known, 99)[1]["value"] == len(known) - 1


def test_recipes_from_the_page_are_checked() -> None:
    assert recipes.read("") == [recipes.of_preset("default")[0]] == recipes.read("[]")
    with pytest.raises(RequestError):
        recipes.read('["a"]')
    assert recipes.sentence({**recipes.of_preset("default")[0], "originals": "none", "removed": False}).startswith(
        "Nothing is left"
    )


# --------------------------------------------------------------------------------------------------- names of strangers


def test_names_of_strangers_are_text(open_tab: OpenTab, tmp_path: Path) -> None:
    def hostile(source: str, **_: object) -> CaptionedDataset:
        return small_set(source, drawn=source == "drawn_scenes", title=HOSTILE, licence=HOSTILE)

    tab = open_tab(loading=hostile)
    choosing = Choosing(Showing(tab.objects), Photographs(tmp_path / "sent", Turns()), ShownFiles(tmp_path / "shown"))
    job = choosing.open("somebody/photos", "", Caller())["job"]
    tab.objects.openings.get(job).wait()
    said = choosing.opened(event(job=job))[1]
    assert literal(HOSTILE) in said and literal(HOSTILE) != HOSTILE
    assert GALLERY
