"""Flickr30k Entities on the page: opened, asked, scored; its annotation says what a caption names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entities import write_entities
from tests.explorer.small_world import Tab, finished, small_set
from trainers.data.captioned.loader import load_captioned
from trainers.data.captioned_images import CaptionedDataset


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    write_entities(tmp_path / "entities")

    def load(source: str, **choices: object) -> CaptionedDataset:
        return small_set() if source == "drawn_scenes" else load_captioned(source, **choices)  # type: ignore[arg-type]

    made = Tab(tmp_path, loading=load)
    yield made
    made.close()


def test_the_annotation_judges_and_colours(tab: Tab, tmp_path: Path) -> None:
    group = tab.opened(str(tmp_path / "entities"))
    assert group["classes"] == ["people", "animals", "vehicles", "instruments"] and group["images"] == 9
    assert any("annotated" in note for note in group["notes"]) and not any("English" in note for note in group["notes"])
    photo = f"{group['name']}.0"
    assert [one["class"] for one in tab.json(f"image/{photo}")["objects"]] == ["people", "animals"]
    reply = tab.ask(photo, remove={"classes": ["people"]}, fill="zero", k=50)
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


def test_what_is_drawn_over_is_named_by_words(tab: Tab, tmp_path: Path) -> None:
    group = tab.opened(str(tmp_path / "entities"))
    drawn = {"class": "dog", "boxes": [[0.6, 0.5, 0.95, 0.95]]}
    reply = tab.ask(f"{group['name']}.0", remove=drawn, fill="zero", k=50)
    assert reply["removed"] == ["dog", "animals"] and reply["words"]["dog"] == ["dog", "puppy"]
    shown = {caption["text"]: caption for caption in reply["models"][0]["removed"]}
    assert [p["text"] for p in shown["Two men play with a dog ."]["parts"] if p["kind"] == "removed"] == ["a dog"]
    assert shown["The choir and a toy dog on a rickshaw ."]["verdict"] == "names removed"
    answer = tab.ask(f"{group['name']}.0", remove={**drawn, "class": "people", "words": ["outside"]}, fill="zero", k=50)
    assert answer["words"]["people"] == ["people", "outside"]


def test_a_whole_set_is_scored(tab: Tab, tmp_path: Path) -> None:
    group = tab.opened(str(tmp_path / "entities"))
    order = {"dataset": group["name"], "models": ["large"], "fill": "zero", "queries": 50, "every": True, "seed": 0}
    result = finished(tab, tab.json("score", order)["job"])["result"]
    assert result["queries"] == 8
    assert {"reason": "fewer than two classes", "count": 5} in result["skipped"]
    for one in result["models"][0]["failing"]:
        red = {name for part in one["parts"] if part["kind"] == "removed" for name in part["classes"]}
        assert red and red <= {"people", "animals", "vehicles", "instruments"}
