"""The page's first question: answered from a record that fits and from no other, with nothing loaded for it."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.server.library import Library
from explorer.settings import Settings
from explorer.tabs.object_removal import recorded
from explorer.tabs.object_removal.bodies import FILL, K, Query
from explorer.tabs.object_removal.first import CHOSEN, OPENING, TAKEN
from explorer.tabs.object_removal.images import judged
from explorer.tabs.object_removal.recorded import RECORD, Recorded, ingredients, pixels_digest
from explorer.tabs.object_removal.removal import FilledImage
from explorer.tabs.object_removal.service import Objects
from tests.explorer.small_world import Tab
from tests.make import recorded_answer
from trainers.errors import DataError
from trainers.image_text.models import MODELS

README = Path(__file__).parents[2] / "README.md"
ASKED = {"remove": {"classes": [TAKEN]}, "fill": FILL, "models": list(CHOSEN), "k": K}


class Idle(Objects):
    """The real scenes and the real models' files, whose captions are never read."""

    def __init__(self, root: Path, record: Path | None = RECORD) -> None:
        settings = Settings(runs=root / "runs", recorded=root / "none")
        super().__init__(settings, Library(settings.runs, settings.recorded), record=record)
        self.asked: list[tuple[str, str]] = []
        self.index.ask = self._refused  # type: ignore[method-assign]

    def _refused(self, model: str, group: str, own: object = ()) -> Any:
        self.asked.append((model, group))
        raise DataError("asked live")

    def ask(self, **changes: object) -> dict[str, Any]:
        asked = {"image": self.first[0], **ASKED} | changes
        return self.answers.answer(Query.of(asked))


@pytest.fixture
def objects(tmp_path: Path) -> Iterator[Idle]:
    made = Idle(tmp_path)
    yield made
    made.close()


def test_the_first_answer_comes_from_the_record(objects: Idle) -> None:
    start = objects.start()
    assert start["chosen"] == list(CHOSEN) and start["fill"] == FILL and start["taken"] == TAKEN
    photo = objects.images.get(start["first"])
    assert photo.scene is not None and photo.scene.image_id == OPENING
    reply = objects.ask()
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert reply["recorded"] is True and not objects.asked and objects.encoding() == []
    assert reply["models"] == record["models"] and reply["words"] == record["words"]
    assert reply["removed"] == [TAKEN] and objects.fills.png(reply["filled"])
    for model in reply["models"]:
        assert len(model["original"]) == len(model["removed"]) == K and model["partial"] is None
        for one in (*model["original"], *model["removed"]):
            assert "".join(part["text"] for part in one["parts"]) == one["text"]


@pytest.mark.long
def test_the_record_is_what_the_models_say() -> None:
    made, kept = recorded_answer.record(), json.loads(RECORD.read_text(encoding="utf-8"))
    assert set(kept["notes"]) <= set(made["notes"])
    for live, old in zip(made["models"], kept["models"], strict=True):
        for side in ("original", "removed"):
            near = [one.pop("similarity") for one in old[side]]
            assert [one.pop("similarity") for one in live[side]] == pytest.approx(near, abs=2e-4)
    assert (made["models"], made["words"]) == (kept["models"], kept["words"]), "make the record anew"


def test_the_readme_says_what_the_first_answer_shows() -> None:
    """The object that is gone when the tab opens, the model, and how many of its captions name it; the other names it
    in none, so that the pair shows an effect."""
    said = re.search(r"the (\w+) is gone, yet (.+) names it in (\d) of its (\d) captions", README.read_text("utf-8"))
    assert said is not None
    first, second = json.loads(RECORD.read_text(encoding="utf-8"))["models"]
    wrong = [sum(caption["verdict"] == "names removed" for caption in model["removed"]) for model in (first, second)]
    assert said.groups() == (TAKEN, first["title"], str(wrong[0]), str(len(first["removed"])))
    assert wrong[0] > len(first["removed"]) / 2 and wrong[1] == 0


@pytest.mark.parametrize(
    "other",
    [
        {"remove": {"classes": ["traffic light"]}},
        {"remove": {"class": TAKEN, "boxes": [[0.1, 0.1, 0.4, 0.4]]}},
        {"fill": "mean"},
        {"models": [CHOSEN[0]]},
        {"models": [*CHOSEN[::-1]]},
        {"k": K + 1},
        {"image": "drawn_scenes.0", "remove": {"classes": ["umbrella"]}},
    ],
    ids=repr,
)
def test_any_other_question_is_asked(objects: Idle, other: dict[str, Any]) -> None:
    if other.get("image"):
        allowed = [one["class"] for one in judged(objects.images.get(other["image"])) if one["allowed"]]
        other = {**other, "remove": {"classes": allowed[:1]}}
    with pytest.raises(DataError, match="asked live"):
        objects.ask(**other)
    assert objects.asked


def changed(**values: object) -> str:
    return json.dumps(json.loads(RECORD.read_text(encoding="utf-8")) | values)


@pytest.mark.parametrize(
    "content",
    [
        *(None, "", "{", "[" * 100_000, "[]", '{"made_of": 1}'),
        *(changed(made_of="0" * 32), changed(pixels="0" * 32), changed(pixels=["0"])),
        *(changed(notes=5), changed(models={"name": float("nan")}), changed(words=[[[]]]), changed(digest=None)),
        RECORD.read_text(encoding="utf-8").replace("car", "cat", 1),
    ],
    ids=[
        *("absent", "empty", "cut", "deep", "list", "bare", "made of others", "other pixels", "pixels of another type"),
        *("notes of another type", "no number", "words of another type", "no digest", "other letters"),
    ],
)
def test_a_record_that_does_not_fit_is_passed_over(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "record.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    objects = Idle(tmp_path, path)
    with pytest.raises(DataError, match="asked live"):
        objects.ask()
    objects.close()


def test_other_weights_words_or_scenes_are_other_ingredients(
    objects: Idle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = ingredients(objects.models)
    made_of = json.loads(RECORD.read_text(encoding="utf-8"))["made_of"]
    assert usual == made_of, "make the record anew, as its module says"
    words = tmp_path / "words.json"
    words.write_text("{}")
    for name, value in (("TABLE", words), ("ADDED", words), ("code_digest", lambda: "other")):
        with monkeypatch.context() as patch:
            patch.setattr(recorded, name, value)
            assert ingredients(objects.models) not in (usual, None)
    weights = tmp_path / "weights"
    weights.write_bytes(b"other")
    for file, found in ((weights, "other"), (None, None), (tmp_path / "absent", None)):
        menu = {**MODELS, CHOSEN[1]: dataclasses.replace(MODELS[CHOSEN[1]], shipped=file)}
        objects.models.menu = menu
        digest = ingredients(objects.models)
        assert digest is None if found is None else digest not in (usual, None)


def test_one_grey_level_is_another_picture(objects: Idle) -> None:
    query = Query.of({"image": objects.first[0], **ASKED})
    filled = objects.fills.remove(objects.images.get(query.image), query.remove, query.fill)

    def told(filled: FilledImage) -> object:
        return Recorded(objects.models).answer("drawn_scenes", filled, CHOSEN, K)

    assert told(filled) is not None
    for name in ("original", "pixels"):
        other = np.array(getattr(filled, name))
        other[3, 4, 1] ^= 1
        touched = dataclasses.replace(filled, **{name: other})
        assert pixels_digest(touched) != pixels_digest(filled) and told(touched) is None


def test_sentences_are_read_when_asked_for(tab: Tab) -> None:
    tab.json("start")
    assert tab.json("encoding")["encoding"] == []
    names = ["tiny_clip", "tiny_clip_mended"]
    assert {one["model"] for one in tab.json("encode", {"models": names})["encoding"]} <= set(names)
    for name in names:
        assert tab.objects.index.ask(name, "drawn_scenes").done.wait(60)
    assert tab.objects.index.has(names, "drawn_scenes") and tab.json("encode", {"models": names})["encoding"] == []
    assert not tab.objects.index.has([*names, "large"], "drawn_scenes")
    for wrong in ({"models": ["none"]}, {"models": names, "dataset": "closed"}, {"models": "tiny_clip"}, {}):
        reply = tab.post("encode", wrong)
        assert 400 <= reply.status_code < 500 and reply.json()["error"]


VISIT = """
import sys, tempfile
from pathlib import Path
from explorer.explorer import Explorer
from explorer.settings import Settings
from explorer.tabs.object_removal.bodies import Query
from explorer.tabs.object_removal.choosing import PAGE
made = Explorer(Settings(runs=Path(tempfile.mkdtemp())))
objects = made.services["object"].objects
start = objects.start()
first = int(start["first"].rpartition(".")[2]) // PAGE * PAGE
shown = [objects.images.get(f"{start['dataset']}.{at}") for at in range(first, first + PAGE)]
assert all(objects.images.shown(image, 64).pixels.size for image in shown)
asked = {"image": start["first"], "remove": {"classes": [start["taken"]]}, "models": start["chosen"]}
reply = objects.answers.answer(Query.of(asked))
objects.fills.png(reply["filled"])
known = sum(len(part._known) for part in objects.datasets.drawn().data.splits.values())
print(reply["recorded"], known, *(name in sys.modules for name in ("open_clip", "torchvision", "transformers")))
"""


def test_a_first_visit_imports_no_model_and_thinks_out_few_scenes() -> None:
    """What would take seconds of a processor: two libraries, and the 7,500 scenes of the drawn world."""
    said = subprocess.run([sys.executable, "-c", VISIT], capture_output=True, text=True, timeout=240, check=True).stdout
    first, known, *imported = said.split()[-5:]
    assert (first, imported) == ("True", ["False"] * 3)
    assert 12 <= int(known) <= 200
